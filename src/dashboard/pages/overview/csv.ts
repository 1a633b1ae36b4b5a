import {
  noUsage,
  usageBy,
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
  refusedIn,
} from "./load.ts";
import { dayText, type Range } from "./range.ts";

/** The most lines in one download. */
const maxLines = 100_000;

/**
 * Answers with every value of a breakdown and its sums as CSV, the highest cost first. Calls that
 * belong to no listed value get lines of their own, so that the lines add up to the ledger's
 * charges.
 */
export async function breakdownCsv(
  deps: Pick<OverviewDeps, "usage" | "labels" | "flushRecords">,
  accountId: number,
  { range, by, namesOf }: {
    range: Range;
    by: { name: string; part: BreakdownPart };
    /** Returns the display names of values that have one. */
    namesOf: (values: readonly UsageValue[]) => Promise<ReadonlyMap<string, string>>;
  },
): Promise<Response> {
  await deps.flushRecords({ accountId });
  const query = { accountId, span: range.span, from: range.from, to: range.to };
  const { values, rest } = await readAtOnce(deps, query, by.part);
  const names = await namesOf(values);
  return csvFile<BreakdownRow>(`usage-by-${by.name}-${daysText(range)}`, {
    [by.name]: ({ value }) => value,
    ...(by.part === "api_key"
      ? { name: ({ value }: BreakdownRow) => names.get(value) ?? value }
      : {}),
    ...callColumns,
    ...(isLabel(by.part) ? {} : latencyColumns),
    ...costColumns,
    // Last, so that those who read the other columns by position still find them.
    ...(losesErased(by.part) ? { line: ({ line }: BreakdownRow) => line ?? "value" } : {}),
  }, [...values, ...rest]);
}

/**
 * Returns the lines for calls without a listed value: those that were erased, and those of values
 * beyond the most of a day or a file. Erased calls have no tokens of their own in the sums, so they
 * get what is left of the total, unless there are others.
 */
export function restLines(
  total: UsageSums,
  values: readonly UsageSums[],
  erased: ErasedSums,
): BreakdownRow[] {
  const left = leftOf(total, values);
  if (left.calls <= erased.calls) {
    return erased.calls === 0 ? [] : [{ ...left, ...erased, ...erasedLine }];
  }
  const line = { ...noUsage, ...erased, ...erasedLine };
  const others = { ...leftOf(total, [...values, line]), ...othersLine };
  return erased.calls === 0 ? [others] : [others, line];
}

/** Returns the total without these; no sum below zero, as calls may have come in since its read. */
function leftOf(total: UsageSums, listed: readonly UsageSums[]): UsageSums {
  return usageBy(
    (name) => Math.max(0, listed.reduce((rest, one) => rest - one[name], total[name])),
    (name) => {
      const rest = listed.reduce((nanos, one) => nanos - one[name], total[name]);
      return rest < 0n ? 0n : rest;
    },
    noUsage.latency,
  );
}

/** Answers with the charts' hours, days or weeks as CSV, with refused calls beside them. */
export function stepsCsv(overview: Overview, { step, from, to }: Range): Response {
  return csvFile(`usage-by-${step}-${daysText({ from, to })}`, {
    [step]: ({ from }: Overview["steps"][number]) => from,
    ...callColumns,
    refused: (one) => refusedIn(overview, one) ?? null,
    ...latencyColumns,
    ...costColumns,
  }, overview.steps);
}

function daysText({ from, to }: Pick<Range, "from" | "to">): string {
  return `${dayText(from)}-to-${dayText(new Date(to.getTime() - 1))}`;
}

interface BreakdownRow extends UsageSums {
  value: string;
  /** Set where the line is about no value: an app or a user may well be named "(erased)". */
  line?: "erased" | "others";
}

const erasedLine = { value: "(erased)", line: "erased" } as const;
const othersLine = { value: "(others)", line: "others" } as const;

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

/**
 * Reads the values together with the rest. Reads again if calls were erased meanwhile: they could
 * be missing from both.
 */
async function readAtOnce(
  deps: Pick<OverviewDeps, "usage" | "labels">,
  query: UsageQuery,
  part: BreakdownPart,
): Promise<{ values: UsageValue[]; rest: BreakdownRow[] }> {
  if (!losesErased(part)) {
    return { values: (await readValues(deps, query, part, maxLines)).values, rest: [] };
  }
  let erased = await deps.usage.erased(query);
  for (let tries = 1;; tries++) {
    const [total = noUsage] = await deps.usage.steps(query, [query.from]);
    const { values } = await readValues(deps, query, part, maxLines);
    const after = await deps.usage.erased(query);
    if (after.calls === erased.calls || tries === maxTries) {
      return { values, rest: restLines(total, values, after) };
    }
    erased = after;
  }
}

/** Limits the reads during ongoing erasures; the file may then be off by one batch of them. */
const maxTries = 5;

type ErasedSums = Awaited<ReturnType<OverviewDeps["usage"]["erased"]>>;
