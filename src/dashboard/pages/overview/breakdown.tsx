import { errorsOf, type UsageSums } from "../../../usage/usage_sums.ts";
import { type Column, DownloadMenu, numberColumn, Table, Tabs } from "../../components.tsx";
import { compact, count, counted, duration, exactUsd, percent, usd } from "../../amounts.ts";
import { callsAddress, filtersOf, overviewAddress } from "./links.ts";
import { type BreakdownPart, isLabel, losesErased, type Overview } from "./load.ts";
import { Meter } from "./meter.tsx";
import type { Range } from "./range.ts";

/** The ways to break down calls; `name` is the value in the address. */
export const breakdowns = [
  { name: "model", part: "model", title: "Model" },
  { name: "vendor", part: "vendor", title: "Vendor" },
  { name: "key", part: "api_key", title: "API key" },
  { name: "app", part: "app", title: "App" },
  { name: "user", part: "user", title: "User" },
  { name: "flow", part: "flow", title: "Flow" },
  { name: "cohort", part: "cohort", title: "Cohort" },
] as const satisfies readonly {
  name: string;
  part: BreakdownPart;
  title: string;
}[];

interface BreakdownProps {
  overview: Overview;
  range: Range;
  nameOf: (value: string) => string;
}

const whyErased = "Their records, and these names with them, were erased";

/** Lists the models (or vendors, keys, …) with the highest cost, each with a link to its calls. */
export function Breakdown({ overview, range, nameOf }: BreakdownProps) {
  const shown = breakdowns.find(({ part }) => part === overview.part)!;
  const { values, others, total, erased } = overview;
  const columns = columnsOf(shown.part);
  const tabs = breakdowns.map(({ name, title }) => ({
    name,
    title: `By ${title === "API key" ? title : title.toLowerCase()}`,
    href: `${overviewAddress(range, { by: name })}#breakdown`,
  }));
  // Rows for the calls of all values without a row of their own.
  const isErasedApart = losesErased(shown.part) && erased.calls > 0;
  const rest = [
    ...(others ? [{ name: counted(others.count, `more ${shown.name}`), sums: others.sums }] : []),
    ...(isErasedApart ? [{ name: "Erased calls", title: whyErased, sums: erased }] : []),
  ];
  return (
    <section class="breakdown" id="breakdown" aria-label="Breakdown">
      <div class="breakdown-head">
        <Tabs label="Break down by" tabs={tabs} current={shown.name} />
        <DownloadMenu
          title="Download CSV"
          files={tabs.map(({ name, title }) => ({
            text: title,
            href: overviewAddress(range, { by: name }, "/csv"),
          }))}
        />
      </div>
      <Table label={`Usage by ${shown.title}`} head={[{ title: shown.title }, ...columns]}>
        {values.map((one) => (
          <tr>
            <td class="name" title={nameOf(one.value)}>
              {linked(range, overview.part, one.value, nameOf(one.value))}
            </td>
            <SumCells sums={one} total={total} hasLatency={columns.length === head.length} />
          </tr>
        ))}
        {rest.map(({ name, sums, ...more }) => (
          <tr>
            <td class="muted" {...more}>{name}</td>
            <td class="number">{usd(sums.costNanos)}</td>
            <td class="share">{share(sums.costNanos, total.costNanos)}</td>
            <td class="number">{count(sums.calls)}</td>
            {columns.slice(3).map((column) => <td class={`${column.class} muted`}>–</td>)}
          </tr>
        ))}
      </Table>
    </section>
  );
}

function columnsOf(part: BreakdownPart) {
  return isLabel(part) ? head.filter(({ title }) => !/^p\d/.test(title)) : head;
}

const head: readonly Column[] = [
  numberColumn("Spend"),
  { title: "Share" },
  numberColumn("Requests"),
  numberColumn("Errors"),
  { title: "p50", class: "number fold-first" },
  numberColumn("p95"),
  { title: "p99", class: "number fold-first" },
  numberColumn("Input"),
  { title: "Cached", class: "number fold-next" },
  numberColumn("Output"),
  { title: "Reasoning", class: "number fold-next" },
];

function SumCells(
  { sums, total, hasLatency }: { sums: UsageSums; total: UsageSums; hasLatency: boolean },
) {
  const { latency } = sums;
  const errors = errorsOf(sums);
  return (
    <>
      <td class="number" title={exactUsd(sums.costNanos)}>{usd(sums.costNanos)}</td>
      <td class="share">{share(sums.costNanos, total.costNanos)}</td>
      <td class="number">{count(sums.calls)}</td>
      <td class="number" title={counted(errors, "call")}>{percent(errors, sums.calls)}</td>
      {hasLatency
        ? [0.5, 0.95, 0.99].map((one) => (
          <td class={one === 0.95 ? "number" : "number fold-first"}>
            {duration(latency.percentile(one))}
          </td>
        ))
        : null}
      <Tokens tokens={sums.inputTokens} />
      <Tokens tokens={sums.cacheReadTokens} class="fold-next" />
      <Tokens tokens={sums.outputTokens} />
      <Tokens tokens={sums.reasoningTokens} class="fold-next" />
    </>
  );
}

function Tokens({ tokens, class: className = "" }: { tokens: bigint; class?: string }) {
  return <td class={`number ${className}`} title={count(tokens)}>{compact(tokens)}</td>;
}

function share(nanos: bigint, total: bigint) {
  const part = total === 0n ? 0 : Number(nanos) / Number(total);
  return (
    <div class="share-bar">
      <Meter share={part} />
      <span class="number">{percent(Number(nanos), Number(total))}</span>
    </div>
  );
}

function linked(range: Range, part: BreakdownPart, value: string, name: string) {
  const filters = filtersOf(part, value);
  if (!filters) return <span class="muted">{name}</span>;
  return <a href={callsAddress(range, filters)} dir="auto">{name}</a>;
}
