import type { FlushRecords } from "../../../records/flush_records.ts";
import type { FullestCaps } from "../../../credit/spend_cap.ts";
import type { Credit } from "../../../credit/ledger.ts";
import {
  addUsage,
  noUsage,
  type UsagePart,
  type UsageQuery,
  type UsageStep,
  type UsageStore,
  type UsageSums,
  type UsageValue,
} from "../../../usage/usage_sums.ts";
import { type UsageLabel, usageLabels } from "../../../usage/label_step.ts";
import type { LabelUsage } from "../../../usage/label_usage.ts";
import { type RefusalDeps, retainedSpan } from "../interactions/refused_page.tsx";
import { type Range, type Step, stepOf, stepsOf } from "./range.ts";
import { dayMs, startOfDay, startOfMonth } from "../../../shared/time_span.ts";

/** Dependencies of the overview. */
export interface OverviewDeps {
  usage: UsageStore;
  labels: LabelUsage;
  refusals: Pick<RefusalDeps, "refusalRecorder" | "refusalStore">;
  /** Resolves when all calls that have ended are in the sums; throws while the store is away. */
  flushRecords: FlushRecords;
  credit: (accountId: number) => Promise<Credit>;
  /** Returns the number of whole tokens in the account's rate bucket. */
  tokensLeft: (accountId: number) => Promise<number>;
  fullestCaps: FullestCaps;
}

export interface Overview {
  total: RequestSums;
  /** Sums of the previous period of the same length. */
  previous: RequestSums;
  /** When the first refused requests were that are still counted. */
  refusedSince: Date;
  /** One for each hour, day or week, including those without calls. */
  steps: (Step & RequestSums)[];
  erased: { calls: number; costNanos: bigint; chargedNanos: bigint };
  part: BreakdownPart;
  values: UsageValue[];
  /** The end users with the highest cost; calls without a user are left out. */
  topUsers: UsageValue[];
  /** How many more values there are, and their sums. */
  others: { count: number; sums: Pick<UsageSums, "calls" | "costNanos"> } | undefined;
  /** Cost of the values with the highest cost, by step in the order of `steps`. */
  layers: { value: string; nanos: bigint[] }[];
  credit: Credit;
  /** The average charge per day over the last seven days; undefined without charges. */
  dailyNanos: bigint | undefined;
  tokensLeft: number;
  caps: Awaited<ReturnType<FullestCaps>>;
}

/** Sums of calls, with the number of requests that were refused before a call began. */
export interface RequestSums extends UsageSums {
  refused: number;
}

/** Returns how many of a step's requests were refused; undefined if these counts were deleted. */
export function refusedIn(
  { refusedSince }: Pick<Overview, "refusedSince">,
  { to, refused }: Overview["steps"][number],
): number | undefined {
  return to <= refusedSince ? undefined : refused;
}

/** What the overview can be broken down by. */
export type BreakdownPart = UsagePart | UsageLabel;

/** Whether erased calls belong to no value of the part, and so are shown separately. */
export function losesErased(part: BreakdownPart): boolean {
  return part === "app" || isLabel(part);
}

/** Whether the part is a label; sums by a label have no latencies. */
export function isLabel(part: BreakdownPart): part is UsageLabel {
  return usageLabels.some((label) => label === part);
}

const shownValues = 10;
const shownUsers = 3;
const shownLayers = 5;
/** The most caps shown. */
const shownCaps = 6;

export async function loadOverview(
  deps: OverviewDeps,
  accountId: number,
  { range, part, now }: { range: Range; part: BreakdownPart; now: Date },
): Promise<Overview> {
  const { refusalRecorder, refusalStore } = deps.refusals;
  await Promise.all([
    deps.flushRecords({ accountId }).catch(() => {}),
    refusalRecorder.flush().catch(() => {}),
  ]);
  const query = queryOf(accountId, range);
  const dearest = readValues(deps, query, part, shownValues);
  // The previous period is read as one step, since only its sums are shown.
  const starts = [range.before, ...stepsOf(range).map(({ from }) => from)];
  const both = deps.usage.steps({ ...query, from: range.before }, starts);
  const [
    ...[allSteps, refusals, erased, { values, all }, users, credit, dailyNanos, tokensLeft, caps]
  ] = await Promise.all([
    both,
    refusalStore.steps({ accountId, from: range.before, to: range.to }, starts),
    deps.usage.erased(query),
    dearest,
    part === "user" ? dearest : readValues(deps, query, "user", shownValues),
    deps.credit(accountId),
    dailyCharge(deps.usage, accountId, { range, steps: both, now }),
    deps.tokensLeft(accountId),
    deps.fullestCaps({
      ...{ accountId, limit: shownCaps, since: startOfMonth(now), day: startOfDay(now) },
    }),
  ]);
  const { steps, previous, total } = sumsOf(range, allSteps, refusals);
  const apart = losesErased(part) ? erased : undefined;
  return {
    total,
    previous,
    refusedSince: retainedSpan(now).from,
    steps,
    erased,
    part,
    values,
    topUsers: users.values.filter(({ value }) => value !== "").slice(0, shownUsers),
    others: all > values.length
      ? { count: all - values.length, sums: subtract(total, values, apart) }
      : undefined,
    layers: values.slice(0, shownLayers).map(({ value, costs }) => {
      const nanos = steps.map(() => 0n);
      for (const [atMs, cost] of costs) nanos[stepOf(range, atMs)]! += cost;
      return { value, nanos };
    }),
    ...{ credit, dailyNanos, tokensLeft, caps },
  };
}

/** Sums up the calls and refusals of each step, of all steps, and of the previous period. */
function sumsOf(
  range: Range,
  usage: readonly UsageStep[],
  refusals: readonly { at: Date; refused: number }[],
) {
  const steps = stepsOf(range).map((step) => ({ ...step, ...noUsage, refused: 0 }));
  const previous: RequestSums = { ...noUsage, refused: 0 };
  const sumsAt = (at: Date) => at < range.from ? previous : steps[stepOf(range, at.getTime())]!;
  for (const { at, ...sums } of usage) Object.assign(sumsAt(at), sums);
  for (const { at, refused } of refusals) sumsAt(at).refused = refused;
  const total: RequestSums = {
    ...steps.reduce<UsageSums>(addUsage, noUsage),
    refused: steps.reduce((sum, { refused }) => sum + refused, 0),
  };
  return { steps, previous, total };
}

function queryOf(accountId: number, { span, from, to }: Range): UsageQuery {
  return { accountId, span, from, to };
}

/** Reads the values of a part with the highest cost; `all` is how many values there are. */
export async function readValues(
  { usage, labels }: Pick<OverviewDeps, "usage" | "labels">,
  query: UsageQuery,
  part: BreakdownPart,
  limit: number,
): Promise<{ values: UsageValue[]; all: number }> {
  return isLabel(part)
    ? await labels.values(query, part, limit)
    : await usage.values({ ...query, storedOnly: losesErased(part) }, part, limit);
}

function subtract(
  total: UsageSums,
  values: readonly UsageValue[],
  erased: Overview["erased"] | undefined,
) {
  const { calls, costNanos } = erased ?? { calls: 0, costNanos: 0n };
  return {
    calls: values.reduce((rest, one) => rest - one.calls, total.calls - calls),
    costNanos: values.reduce((rest, one) => rest - one.costNanos, total.costNanos - costNanos),
  };
}

/**
 * Returns the average charge per day, over the last seven days or since the first of them with
 * charges. Takes the days from the range's steps if these are days and cover all seven.
 */
async function dailyCharge(
  usage: UsageStore,
  accountId: number,
  { range, steps, now }: { range: Range; steps: Promise<UsageStep[]>; now: Date },
): Promise<bigint | undefined> {
  const today = startOfDay(now).getTime();
  const from = new Date(today - 6 * dayMs);
  const to = new Date(today + dayMs);
  const isAsked = range.step === "day" && range.from <= from && range.to >= to;
  const days = isAsked
    ? (await steps).filter(({ at }) => at >= from && at < to)
    : await usage.steps({ accountId, span: "day", from, to });
  const charged = days.filter(({ chargedNanos }) => chargedNanos > 0n);
  if (charged.length === 0) return undefined;
  const sum = charged.reduce((nanos, { chargedNanos }) => nanos + chargedNanos, 0n);
  const ms = Math.max(dayMs, now.getTime() - charged[0]!.at.getTime());
  return sum * BigInt(dayMs) / BigInt(ms);
}
