import type { Child } from "hono/jsx";
import type { InteractionDetail } from "../../../records/interaction_repository.ts";
import type { InteractionSummary } from "../../../shared/interaction.ts";
import type { CostLine } from "../../../pricing/pricing.ts";
import { millionNames } from "../../../pricing/usage_parts.ts";
import type { CostLines } from "../../../repricing/cost_lines.ts";
import { CopyButton, Time } from "../../components.tsx";
import { count, duration, usd } from "./figures.ts";
import { type FilterName, listPath } from "./view.ts";

type Detail = { detail: InteractionDetail };

/** Who called what, with what it is grouped by; each leads to the others like it. */
export function LabelPanel(
  { detail: { summary }, names, now }: Detail & {
    names: ReadonlyMap<string, string>;
    now: Date;
  },
) {
  return (
    <section class="facts">
      <h2>Call</h2>
      <dl>
        <Fact name="Time">
          <Time at={summary.createdAt} now={now} />
        </Fact>
        <Linked name="Vendor" filter="vendor" value={summary.vendor} />
        <Linked name="Model" filter="model" value={summary.model} />
        {summary.requestedModel === summary.model
          ? null
          : <Fact name="Asked for">{summary.requestedModel}</Fact>}
        <Fact name="Endpoint">
          <code>{summary.endpoint}</code>
        </Fact>
        <Fact name="Dialect">{`${summary.dialect}${summary.stream ? ", streamed" : ""}`}</Fact>
        <Fact name="Vendor key">{modes[summary.mode]}</Fact>
        <Linked
          name="API key"
          filter="key"
          value={summary.apiKeyId}
          text={names.get(summary.apiKeyId)}
        />
        <Linked name="App" filter="app" value={summary.app} />
        <Linked name="Flow" filter="flow" value={summary.flow} />
        <Linked name="Cohort" filter="cohort" value={summary.cohortId} />
        <Linked name="User" filter="user" value={summary.userId} />
        <Linked name="Session" filter="session" value={summary.sessionId} />
        <Id name="Transaction" value={summary.transactionId} />
        <Id name="Request ID" value={summary.requestId} />
      </dl>
    </section>
  );
}

const modes = {
  managed: "The service's own",
  stored_key: "Stored by this account",
  dual_key: "Sent with the call",
} as const;

/** The record knows three moments: arrival, first token, end. */
export function TimingPanel({ detail: { summary } }: Detail) {
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

/** Of a streamed answer. */
function speed({ latencyMs, timeToFirstTokenMs, outputTokens }: InteractionSummary) {
  const ms = latencyMs - (timeToFirstTokenMs ?? latencyMs);
  // Of an answer that came at once it would say nothing.
  if (ms < 50 || outputTokens === null || outputTokens < 2) return null;
  return (
    <p class="muted">{`${(outputTokens / ms * 1000).toFixed(1)} tokens a second once begun`}</p>
  );
}

export function TokenPanel({ detail: { summary } }: Detail) {
  const rows: readonly (readonly [string, number | null, boolean])[] = [
    ["Input", summary.inputTokens, false],
    ["read from cache", summary.cacheReadTokens, true],
    ["written to cache", summary.cacheWriteTokens, true],
    ["Output", summary.outputTokens, false],
    ["reasoning", summary.reasoningTokens, true],
    ["Total", summary.totalTokens, false],
  ];
  const shownRows = rows.filter(([, value, isPart]) => value !== null && (!isPart || value > 0));
  return (
    <section class="facts">
      <h2>Tokens</h2>
      {shownRows.length === 0 ? <p class="muted">None were counted.</p> : (
        <dl class="figures">
          {shownRows.map(([name, value, isPart]) => (
            <div class={isPart ? "figure-part" : ""}>
              <dt>{isPart ? `of which ${name}` : name}</dt>
              <dd>{count(value!)}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="muted">{bases[summary.billingBasis]}</p>
    </section>
  );
}

const bases = {
  reported: "As the vendor reported them.",
  vendor_cost: "As the vendor reported them, with its own cost.",
  disputed: "As the vendor reported them, which can't be true: it is charged what was set aside.",
  estimated: "Estimated from the text: the vendor told none.",
  none: "The call had no usage to bill.",
} as const;

/** Which prices made the cost. */
export function CostPanel({ detail: { summary }, cost }: Detail & { cost: CostLines | undefined }) {
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
        <div>
          <dt>Cost</dt>
          <dd>{summary.costNanos === null ? "No price known" : usd(summary.costNanos)}</dd>
        </div>
        <div>
          <dt>Charged to the balance</dt>
          <dd>{usd(summary.chargedNanos)}</dd>
        </div>
      </dl>
      <PriceSource summary={summary} cost={cost} />
    </section>
  );
}

function PriceSource(
  { summary, cost }: { summary: InteractionSummary; cost: CostLines | undefined },
) {
  if (summary.billingBasis === "vendor_cost") {
    return <p class="muted">The vendor told what it charged.</p>;
  }
  if (summary.billingBasis === "disputed") {
    return (
      <p class="muted">
        The vendor reported more than ten times what was set aside. That isn't believed: the cost is
        what was set aside.
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
      Price row <code>{row.version}</code> of {row.label} {row.model}, from {row.source}
    </p>
  );
}

function lineText({ dimension, count: units, ratePico }: CostLine): string {
  const [scale, unit] = dimension in millionNames ? [1_000_000n, "/ 1M"] : [1n, "each"];
  const rate = usd(ratePico * scale / 1000n);
  return `${count(units)} ${dimensions[dimension]} at ${rate} ${unit}`;
}

/** What people call a dimension. */
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

function Fact({ name, children }: { name: string; children?: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Linked(
  { name, filter, value, text }: {
    name: string;
    filter: FilterName;
    value: string | null;
    text?: string | undefined;
  },
) {
  if (value === null) return null;
  const query = new URLSearchParams({ [filter]: value });
  return (
    <Fact name={name}>
      <a href={`${listPath}?${query}`} title={`All calls with this ${name.toLowerCase()}`}>
        {text ?? value}
      </a>
    </Fact>
  );
}

function Id({ name, value }: { name: string; value: string }) {
  return (
    <Fact name={name}>
      <span class="id">
        <code title={value}>{value}</code>
        <CopyButton text={value} what={name} />
      </span>
    </Fact>
  );
}
