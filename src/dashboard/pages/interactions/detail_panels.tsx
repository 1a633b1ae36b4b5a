import type { Child } from "hono/jsx";
import type { InteractionDetail } from "../../../records/interaction_repository.ts";
import { fieldOfColumn } from "../../../records/columns.ts";
import type { InteractionSummary } from "../../../shared/interaction.ts";
import type { CostLine } from "../../../pricing/pricing.ts";
import { millionNames } from "../../../pricing/usage_parts.ts";
import type { CostLines } from "../../../repricing/cost_lines.ts";
import { BoxedFact, CopyButton, Time } from "../../components.tsx";
import { nameText } from "../../format.ts";
import { count, duration, usd } from "../../amounts.ts";
import { vendorName, type VendorNames, vendorWithLabel } from "../../vendor_names.ts";
import { type FilterName, listPath } from "./view.ts";

type Detail = { detail: InteractionDetail };

/** The data behind a call's facts. */
interface Facts {
  summary: InteractionSummary;
  /** Names of keys by their ids. */
  names: ReadonlyMap<string, string>;
  vendors: VendorNames;
  now: Date;
}

type Column = keyof typeof fieldOfColumn;
type Value<C extends Column> = NonNullable<InteractionSummary[(typeof fieldOfColumn)[C]]>;

/** How a column is shown as a line of a panel; null values get no line. */
interface Line<V> {
  panel: "call" | "tokens";
  name: string;
  /** Set for a figure that is part of the one above it. */
  isPart?: true;
  show: (value: V, facts: Facts) => Child | null;
}

/**
 * Where a call's page shows each column of the record, in the page's order: as a line of a panel,
 * or in the component that is named here. A new column doesn't compile until it has an entry.
 */
const columnViews: { readonly [C in Column]: Line<Value<C>> | string } = {
  created_at: fact("Time", (at, { now }) => <Time at={at} now={now} />),
  vendor: linked("Vendor", "vendor"),
  model: linked("Model", "model"),
  requested_model: fact("Requested", (name, { summary }) => name === summary.model ? null : name),
  endpoint: fact("Endpoint", (path) => <code>{path}</code>),
  dialect: fact("Dialect", (name, { summary }) => name + (summary.stream ? ", streamed" : "")),
  stream: "dialect",
  mode: fact("Vendor key", (mode) => modes[mode]),
  api_key_id: linked("API key", "key"),
  app: linked("App", "app"),
  flow: linked("Flow", "flow"),
  cohort_id: linked("Cohort", "cohort"),
  user_id: linked("User", "user"),
  session_id: fact("Session", (id: string) => (
    <>
      <a
        href={`${listPath}?${new URLSearchParams({ session: id })}`}
        title="All calls with this session"
      >
        {id}
      </a>{" "}
      <a href={`/dashboard/session?${new URLSearchParams({ id })}`}>View session</a>
    </>
  )),
  cache: fact("Response cache", (found) => found === "hit" ? "Answered from it" : "Not in it"),
  client: id("Client"),
  trace_id: id("Trace"),
  transaction_id: id("Transaction"),
  request_id: id("Request ID"),
  account_id: "the account that is looked at",

  input_tokens: tokens("Input"),
  cache_read_tokens: partTokens("read from cache"),
  cache_write_tokens: partTokens("written to cache"),
  output_tokens: tokens("Output"),
  reasoning_tokens: partTokens("reasoning"),
  total_tokens: tokens("Total"),
  billing_basis: "TokenPanel",

  latency_ms: "TimingPanel",
  time_to_first_token_ms: "TimingPanel",
  cost_usd: "CostPanel",
  charged_usd: "CostPanel",
  price_version: "CostPanel",
  attempts: "AttemptPanel",
  translation_loss: "LossPanel",
  status: "Headline",
  http_status: "Headline",
  error_code: "Failure",
  finish_reason: "Conversation",
  usage_raw: "RawPayloads",
  payload_truncated: "RawPayloads",
};

function linesOf(panel: Line<never>["panel"], facts: Facts) {
  return Object.entries<Line<never> | string>(columnViews).flatMap(([column, line]) => {
    if (typeof line === "string" || line.panel !== panel) return [];
    const value = facts.summary[fieldOfColumn[column as Column]] ?? null;
    const text = value === null ? null : line.show(value as never, facts);
    return text === null ? [] : [{ ...line, text }];
  });
}

function fact<V>(name: string, show: Line<V>["show"]): Line<V> {
  return { panel: "call", name, show };
}

/** A fact that links to all calls with the same value. */
function linked(name: string, filter: FilterName): Line<string> {
  const title = `All calls with this ${name.toLowerCase()}`;
  return fact(
    name,
    (value, facts) => (
      <a href={`${listPath}?${new URLSearchParams({ [filter]: value })}`} title={title}>
        {nameText(shownValue(filter, value, facts))}
      </a>
    ),
  );
}

function shownValue(filter: FilterName, value: string, { names, vendors }: Facts): string {
  if (filter === "vendor") return vendorWithLabel(vendors, value);
  return filter === "key" ? names.get(value) ?? value : value;
}

function id(name: string): Line<string> {
  return fact(name, (value) => (
    <span class="id">
      <code title={value}>{value}</code>
      <CopyButton text={value} what={name} />
    </span>
  ));
}

function tokens(name: string): Line<number> {
  return { panel: "tokens", name, show: count };
}

function partTokens(name: string): Line<number> {
  const show = (value: number) => value > 0 ? count(value) : null;
  return { panel: "tokens", name: `of which ${name}`, isPart: true, show };
}

/** Who called which model, and the call's labels; each links to the calls that share it. */
export function LabelPanel(facts: Facts) {
  return (
    <section class="facts">
      <h2>Call</h2>
      <dl>
        {linesOf("call", facts).map(({ name, text }) => <BoxedFact name={name}>{text}</BoxedFact>)}
      </dl>
    </section>
  );
}

const modes = {
  managed: "The service's own",
  stored_key: "Stored by this account",
  dual_key: "Sent with the call",
} as const;

/**
 * Shows the three times that the record has: arrival, first token and end. The record of an
 * interrupted call has no end.
 */
export function TimingPanel({ detail: { summary } }: Detail) {
  if (summary.status === "interrupted") return null;
  const { latencyMs, timeToFirstTokenMs } = summary;
  const first = Math.min(timeToFirstTokenMs ?? latencyMs, latencyMs);
  const bars = timeToFirstTokenMs === null || !summary.stream
    ? [{ name: "Whole call", from: 0, to: latencyMs }]
    : [
      { name: "To the first token", from: 0, to: first },
      { name: "Rest of the answer", from: first, to: latencyMs },
    ];
  return (
    <section class="facts">
      <h2>Timing</h2>
      <ol class="waterfall">
        {bars.map(({ name, from, to }, at) => (
          <li>
            <span>{name}</span>
            <span class="number">{duration(to - from)}</span>
            <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
              <rect class="waterfall-all" width="100" height="6" />
              <rect
                class={`waterfall-${at === 0 ? "first" : "rest"}`}
                x={share(from, latencyMs)}
                width={share(to - from, latencyMs, 0.8)}
                height="6"
              />
            </svg>
          </li>
        ))}
      </ol>
      {speed(summary)}
    </section>
  );
}

function share(part: number, whole: number, least = 0): string {
  return Math.max(least, whole === 0 ? 0 : 100 * part / whole).toFixed(2);
}

/** Shows the speed of a streamed answer. */
function speed({ latencyMs, timeToFirstTokenMs, outputTokens }: InteractionSummary) {
  const ms = latencyMs - (timeToFirstTokenMs ?? latencyMs);
  // For an answer that came at once the figure would mean nothing.
  if (ms < 50 || outputTokens === null || outputTokens < 2) return null;
  return (
    <p class="muted">{`${(outputTokens / ms * 1000).toFixed(1)} tokens a second once begun`}</p>
  );
}

export function TokenPanel(facts: Facts) {
  const lines = linesOf("tokens", facts);
  return (
    <section class="facts">
      <h2>Tokens</h2>
      {lines.length === 0 ? <p class="muted">None were counted.</p> : (
        <dl class="figures">
          {lines.map(({ name, text, isPart }) => (
            <div class={isPart ? "figure-part" : ""}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="muted">{bases[facts.summary.billingBasis]}</p>
    </section>
  );
}

/** Lists the requests to vendors of a call that took more than one. */
export function AttemptPanel(
  { detail: { summary }, vendors }: Detail & { vendors: VendorNames },
) {
  if (!summary.attempts) return null;
  return (
    <section class="facts">
      <h2>Attempts</h2>
      <dl class="figures">
        {summary.attempts.map(({ vendor, model, http_status: status, error_code: code, ms }) => (
          <div>
            <dt>
              {`${vendorName(vendors, vendor)}/${model}: ${
                status === null ? "no answer" : `HTTP ${status}`
              } `}
              {code === null ? null : <code>{code}</code>}
            </dt>
            <dd>{duration(ms)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const bases = {
  reported: "As the vendor reported them.",
  vendor_cost: "As the vendor reported them, with its own cost.",
  disputed: "As the vendor reported them, but implausible: the reserved amount is charged.",
  estimated: "Estimated from the text: the vendor reported none.",
  none: "The call had no usage to bill.",
} as const;

/** Shows the cost and the prices behind it. */
export function CostPanel({ detail: { summary }, ...source }: Detail & CostSource) {
  const { cost } = source;
  return (
    <section class="facts">
      <h2>Cost</h2>
      <dl class="figures">
        {(cost?.isExact && summary.billingBasis !== "disputed" ? cost.lines : []).map((line) => (
          <div class="figure-part">
            <dt>{lineText(line)}</dt>
            <dd>{usd(line.pico / 1000n)}</dd>
          </div>
        ))}
        <BoxedFact name="Cost">
          {summary.costNanos === null ? "No price known" : usd(summary.costNanos)}
        </BoxedFact>
        <BoxedFact name="Charged to the balance">{usd(summary.chargedNanos)}</BoxedFact>
      </dl>
      <PriceSource summary={summary} {...source} />
    </section>
  );
}

interface CostSource {
  cost: CostLines | undefined;
  vendors: VendorNames;
}

function PriceSource(
  { summary, cost, vendors }: CostSource & { summary: InteractionSummary },
) {
  if (summary.billingBasis === "vendor_cost") {
    return <p class="muted">The cost is what the vendor reported.</p>;
  }
  if (summary.billingBasis === "disputed") {
    return (
      <p class="muted">
        The vendor reported more than ten times the reserved amount. That is implausible: the cost
        is what was set aside.
      </p>
    );
  }
  if (!cost) {
    return summary.priceVersion === null ? null : (
      <p class="muted">
        Price row <code>{summary.priceVersion}</code>
      </p>
    );
  }
  const { row, isExact } = cost;
  return (
    <p class="muted">
      {isExact ? null : "Other models took part, or a price was corrected. "}
      Price row <code>{row.version}</code>{" "}
      {`of ${vendorName(vendors, row.label)}/${row.model}, from ${row.source}`}
    </p>
  );
}

function lineText({ dimension, count: units, ratePico }: CostLine): string {
  const [scale, unit] = dimension in millionNames ? [1_000_000n, "/ 1M"] : [1n, "each"];
  const rate = usd(ratePico * scale / 1000n);
  return `${units.toLocaleString("en-US")} ${dimensions[dimension]} at ${rate} ${unit}`;
}

/** Dimensions' display names. */
const dimensions: Readonly<Record<CostLine["dimension"], string>> = {
  input: "input",
  output: "output",
  cacheRead: "read from cache",
  cacheWrite: "written to cache",
  cacheWriteLong: "written to cache for long",
  reasoning: "reasoning",
  audioInput: "audio input",
  cachedAudioInput: "cached audio input",
  audioOutput: "audio output",
  imageInput: "image input",
  imageOutput: "image output",
  perRequest: "request",
  perCharacter: "characters",
  perMinute: "minutes",
  perWebSearch: "web searches",
  perXSearch: "X searches",
  perFileSearch: "file searches",
  perCodeSession: "code sessions",
  perMapsQuery: "maps queries",
  perImage: "images",
};
