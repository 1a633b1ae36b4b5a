import { nanosToUsd } from "../../../base/money.ts";
import {
  noUsage,
  type UsageQuery,
  type UsageSums,
  type UsageValue,
} from "../../../usage/usage_sums.ts";
import { csvAnswer, type CsvCell } from "../../csv.ts";
import { type BreakdownPart, losesErased, type OverviewDeps, readValues } from "./load.ts";
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
  const isNamed = by.part === "api_key";
  const line = (value: string, name: string, sums: UsageSums): CsvCell[] => [
    { text: value },
    ...(isNamed ? [{ text: name }] : []),
    ...[sums.calls, sums.failed, sums.truncated, sums.cancelled, sums.interrupted],
    ...[sums.inputTokens, sums.cacheReadTokens, sums.outputTokens, sums.reasoningTokens],
    ...[{ amount: nanosToUsd(sums.costNanos) }, { amount: nanosToUsd(sums.chargedNanos) }],
  ];
  const rows = values.map((one) => line(one.value, nameOf(one.value), one));
  if (erased && erased.calls > 0) rows.push(line("(erased)", "", { ...noUsage, ...erased }));
  const days = `${dayText(range.from)}-to-${dayText(new Date(range.to.getTime() - 1))}`;
  return csvAnswer(`usage-by-${by.name}-${days}`, [
    by.name,
    ...(isNamed ? ["name"] : []),
    ...["requests", "failed", "truncated", "cancelled", "interrupted"],
    ...["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens"],
    ...["cost_usd", "charged_usd"],
  ], rows);
}

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
