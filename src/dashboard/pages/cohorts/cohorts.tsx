import type { CohortLine } from "../../../cohorts/cohort.ts";
import { count, usd } from "../../amounts.ts";
import type { PageContext, PageRequest, Routes } from "../../bind.tsx";
import { Empty, LinkLine, numberColumn, Snippet, Table, Time } from "../../components.tsx";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { cohortAddress, cohortPage } from "./cohort.tsx";
import { cohortCsv } from "./cohort_csv.ts";
import { dayMs } from "../../../shared/time_span.ts";

const address = "/dashboard/cohorts";
const pageRows = 20;
/** How many a file reads at once: to plan what a page reads takes longer than to read it. */
const fileRows = 500;
/** How many calls of each listed cohort are read at most, so that the page loads at once. */
const maxCalls = 200;

/** Pages about cohorts: what groups of calls cost, and what came of them. */
export function cohortRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  app.get(`${address}/csv`, "viewer", async (request) => {
    await ctx.flushRecords();
    return csvFile("cohorts", columns, allLines(ctx, request));
  });
  app.get(`${address}/show`, "viewer", (request) => cohortPage(ctx, request));
  app.get(`${address}/show/csv`, "viewer", (request) => cohortCsv(ctx, request));
}

async function readLines(
  ctx: PageContext,
  request: PageRequest,
  { from, limit }: { from: string; limit: number },
) {
  return await ctx.cohorts.list(request.accountId, {
    ...{ from, limit },
    since: new Date(request.now.getTime() - 30 * dayMs),
    most: maxCalls,
  });
}

/** Yields the cohorts from the name in the query on, page by page. */
async function* allLines(ctx: PageContext, request: PageRequest) {
  let from = request.query("from");
  do {
    const { lines, next } = await readLines(ctx, request, { from: from ?? "", limit: fileRows });
    yield lines;
    from = next;
  } while (from !== undefined);
}

const columns: CsvColumns<CohortLine> = {
  cohort_id: ({ cohortId }) => cohortId,
  last_call_at: ({ lastCallAt }) => lastCallAt,
  calls: ({ calls }) => calls.counted,
  cost_usd: ({ calls }) => calls.priced === 0 ? null : { nanos: calls.costNanos },
  cost_per_call_usd: (line) => {
    const nanos = costPerCall(line);
    return nanos === undefined ? null : { nanos };
  },
  conversions: ({ outcomes }) => Number(outcomes.conversionNanos) / 1e9,
  revenue_usd: ({ outcomes: { revenueNanos } }) =>
    revenueNanos === null ? null : { nanos: revenueNanos },
  is_cut: ({ calls, outcomes }) => calls.isCut || outcomes.isCut,
};

function costPerCall({ calls }: CohortLine): bigint | undefined {
  return calls.priced === 0 ? undefined : calls.costNanos / BigInt(calls.priced);
}

async function listPage(ctx: PageContext, request: PageRequest) {
  const from = request.query("from") ?? "";
  await ctx.flushRecords();
  const { lines, next } = await readLines(ctx, request, { from, limit: pageRows });
  return {
    title: "Cohorts",
    section: "cohorts" as const,
    lead: "Groups of calls, named in your prompts, with their cost and outcomes.",
    body: lines.length === 0 && from === "" ? <NoCohorts ctx={ctx} /> : (
      <>
        <form method="get" action={address} class="toolbar" role="search" autocomplete="off">
          <label for="from">Start at name</label>
          <input id="from" name="from" type="text" dir="auto" value={from} autocomplete="off" />
          <button type="submit" class="button">Show</button>
          {from === "" ? null : <a class="button" href={address}>All</a>}
        </form>
        {lines.length === 0
          ? <p class="muted">No name comes after this one.</p>
          : (
            <form method="get" action={`${address}/show`} class="compare-list">
              <Table
                label="Cohorts"
                head={head}
                csv={from === ""
                  ? `${address}/csv`
                  : `${address}/csv?${new URLSearchParams({ from })}`}
              >
                {lines.map((line) => <CohortRow line={line} now={request.now} />)}
              </Table>
              {lines.length > 1
                ? <button type="submit" class="button">Compare selected</button>
                : null}
            </form>
          )}
        <p class="hint">
          {`Calls of the last 30 days; of each cohort at most its latest ${maxCalls} calls and outcomes are counted here. Open one for more.`}
        </p>
        {next === undefined
          ? null
          : <LinkLine href={`${address}?from=${encodeURIComponent(next)}`}>Next</LinkLine>}
      </>
    ),
  };
}

function NoCohorts({ ctx: { baseUrl, exampleModels } }: { ctx: PageContext }) {
  const model = exampleModels.anyModel() ?? "openai/gpt-5-mini";
  const content = "/// COHORT checkout-a\nSay hello.";
  return (
    <>
      <Empty title="No cohorts yet">
        <p>
          Name a cohort in the first line of a prompt, and post what came of its calls.{" "}
          <code>KEY</code> is one of your API keys.
        </p>
      </Empty>
      <Snippet
        title="A call of a cohort"
        text={command(`${baseUrl}/v1/chat/completions`, {
          model: exampleModels.shown(model),
          messages: [{ role: "user", content }],
        })}
      />
      <Snippet
        title="Its outcome"
        text={command(`${baseUrl}/api/v1/cohort/outcome`, {
          cohort_id: "checkout-a",
          conversions: [{ type: "signups", value: 1 }],
        })}
      />
    </>
  );
}

function command(address: string, body: unknown): string {
  return [
    `curl ${address} \\`,
    `  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join("\n");
}

const head = [
  "Cohort",
  "Last call",
  numberColumn("Calls"),
  numberColumn("Cost"),
  numberColumn("Cost per call"),
  numberColumn("Conversions"),
  numberColumn("Revenue"),
];

function CohortRow({ line, now }: { line: CohortLine; now: Date }) {
  const { cohortId, lastCallAt, calls, outcomes } = line;
  const more = (isCut: boolean) => isCut ? "+" : "";
  const perCall = costPerCall(line);
  return (
    <tr>
      <td class="name">
        <label class="check">
          <input type="checkbox" name="id" value={cohortId} />
          <span class="visually-hidden">{`Compare ${cohortId}`}</span>
        </label>
        <a href={cohortAddress(cohortId)}>{cohortId}</a>
      </td>
      <td class="nowrap">
        {lastCallAt
          ? <Time at={lastCallAt} now={now} />
          : <span class="muted">None on record</span>}
      </td>
      <td class="number">{count(calls.counted) + more(calls.isCut)}</td>
      <td class="number">
        {perCall === undefined ? none : usd(calls.costNanos) + more(calls.isCut)}
      </td>
      <td class="number">{perCall === undefined ? none : usd(perCall)}</td>
      <td class="number">
        {count(Number(outcomes.conversionNanos) / 1e9) + more(outcomes.isCut)}
      </td>
      <td class="number">
        {outcomes.revenueNanos === null ? none : usd(outcomes.revenueNanos) + more(outcomes.isCut)}
      </td>
    </tr>
  );
}

const none = "–";
