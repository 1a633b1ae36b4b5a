import {
  noUsage,
  type UsageQuery,
  type UsageSums,
  type UsageValue,
} from "../../../usage/usage_sums.ts";
import { type CsvColumns, csvFile } from "../../csv.ts";
import {
  type BreakdownPart,
  isLabel,
  losesErased,
  type Overview,
  type OverviewDeps,
  readValues,
} from "./load.ts";
import { dayText, type Range } from "./range.ts";

/** Lines of one download. */
const maxLines = 100_000;

/**
 * Every value of a breakdown with its sums, the dearest first. Erased calls that are in none of them
 * are a line of their own, so that the lines add up to the ledger's charges.
 */
export async function breakdownCsv(
  deps: Pick<OverviewDeps, "usage" | "labels" | "flushRecords">,
  accountId: number,
  { range, by, nameOf }: {
    range: Range;
    by: { name: string; part: BreakdownPart };
    /** What people call a value, where that is not the value itself. */
    nameOf: (value: string) => string;
  },
): Promise<Response> {
  await deps.flushRecords({ timeoutMs: Infinity });
  const query = { accountId, span: range.span, from: range.from, to: range.to };
  const { values, erased } = await readAtOnce(deps, query, by.part);
  const rows: readonly BreakdownRow[] = [
    ...values,
    ...(erased && erased.calls > 0 ? [{ ...noUsage, ...erased, value: "(erased)" }] : []),
  ];
  return csvFile(`usage-by-${by.name}-${daysText(range)}`, {
    [by.name]: ({ value }) => value,
    ...(by.part === "api_key" ? { name: ({ value }: BreakdownRow) => nameOf(value) } : {}),
    ...callColumns,
    ...(isLabel(by.part) ? {} : latencyColumns),
    ...costColumns,
  }, rows);
}

/** The hours, days or weeks that charts show, and refused calls beside them. */
export function stepsCsv({ steps }: Overview, { step, from, to }: Range): Response {
  return csvFile(`usage-by-${step}-${daysText({ from, to })}`, {
    [step]: ({ from }: Overview["steps"][number]) => from,
    ...callColumns,
    refused: ({ refused }) => refused,
    ...latencyColumns,
    ...costColumns,
  }, steps);
}

function daysText({ from, to }: Pick<Range, "from" | "to">): string {
  return `${dayText(from)}-to-${dayText(new Date(to.getTime() - 1))}`;
}

type BreakdownRow = UsageSums & { value: string };

const callColumns = {
  requests: ({ calls }) => calls,
  failed: ({ failed }) => failed,
  truncated: ({ truncated }) => truncated,
  cancelled: ({ cancelled }) => cancelled,
  interrupted: ({ interrupted }) => interrupted,
  input_tokens: ({ inputTokens }) => inputTokens,
  cached_input_tokens: ({ cacheReadTokens }) => cacheReadTokens,
  output_tokens: ({ outputTokens }) => outputTokens,
  reasoning_tokens: ({ reasoningTokens }) => reasoningTokens,
} satisfies CsvColumns<UsageSums>;

const latencyColumns = {
  latency_p50_ms: ({ latency }) => latency.percentile(0.5) ?? null,
  latency_p95_ms: ({ latency }) => latency.percentile(0.95) ?? null,
  latency_p99_ms: ({ latency }) => latency.percentile(0.99) ?? null,
} satisfies CsvColumns<UsageSums>;

const costColumns = {
  cost_usd: ({ costNanos }) => ({ nanos: costNanos }),
  charged_usd: ({ chargedNanos }) => ({ nanos: chargedNanos }),
} satisfies CsvColumns<UsageSums>;

/** Values with what stands beside them; an erasure between the two reads would be in neither. */
async function readAtOnce(
  deps: Pick<OverviewDeps, "usage" | "labels">,
  query: UsageQuery,
  part: BreakdownPart,
): Promise<{ values: UsageValue[]; erased: ErasedSums | undefined }> {
  if (!losesErased(part)) {
    return { values: (await readValues(deps, query, part, maxLines)).values, erased: undefined };
  }
  let erased = await deps.usage.erased(query);
  for (let tries = 1;; tries++) {
    const { values } = await readValues(deps, query, part, maxLines);
    const after = await deps.usage.erased(query);
    if (after.calls === erased.calls || tries === maxTries) return { values, erased: after };
    erased = after;
  }
}

/** Erasures come in batches; a file that is asked for amid them may be off by one. */
const maxTries = 5;

type ErasedSums = Awaited<ReturnType<OverviewDeps["usage"]["erased"]>>;
