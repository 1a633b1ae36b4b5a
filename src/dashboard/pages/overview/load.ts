import type { FlushRecords } from "../../../records/flush_records.ts";
import type { SpendStore } from "../../../credit/spend_cap.ts";
import type { Credit } from "../../../credit/ledger.ts";
import type { KeyRow, KeyService } from "../../../keys/key_service.ts";
import {
  addUsage,
  noUsage,
  type UsagePart,
  type UsageStore,
  type UsageSums,
  type UsageValue,
} from "../../../usage/usage_sums.ts";
import { capsOf, keySpend } from "../../key_spend.ts";
import { type Range, type Step, stepOf, stepsOf } from "./range.ts";

/** What the overview is made of. */
export interface OverviewDeps {
  usage: UsageStore;
  /** Resolves when the calls that have ended are in the sums; throws while the store is away. */
  flushRecords: FlushRecords;
  credit: (accountId: number) => Promise<Credit>;
  /** Whole tokens in the account's rate bucket. */
  tokensLeft: (accountId: number) => Promise<number>;
  spent: SpendStore["read"];
  keys: Pick<KeyService, "list">;
}

export interface Overview {
  total: UsageSums;
  /** Of the time of the same length before. */
  previous: UsageSums;
  /** One for each hour, day or week, those without calls too. */
  steps: (Step & UsageSums)[];
  erased: { calls: number; costNanos: bigint };
  part: UsagePart;
  values: UsageValue[];
  /** How many values there are besides, and their sums. */
  others: { count: number; sums: Pick<UsageSums, "calls" | "costNanos"> } | undefined;
  /** Cost of the dearest values, in the order of `steps`. */
  layers: { value: string; nanos: bigint[] }[];
  credit: Credit;
  /** What the balance loses in a day, as the last seven days say; undefined without charges. */
  dailyNanos: bigint | undefined;
  tokensLeft: number;
  keys: KeyRow[];
  caps: CapUse[];
}

/** A cap of a key in use, the most used first. */
export interface CapUse {
  key: KeyRow;
  period: "day" | "month";
  spentNanos: bigint;
  capNanos: bigint;
}

const shownValues = 10;
const shownLayers = 5;
const dayMs = 86_400_000;

export async function loadOverview(
  deps: OverviewDeps,
  accountId: number,
  { range, part, now }: { range: Range; part: UsagePart; now: Date },
): Promise<Overview> {
  await deps.flushRecords({ timeoutMs: Infinity }).catch(() => {});
  const query = { accountId, span: range.span, from: range.from, to: range.to };
  const [both, erased, { values, all }, credit, dailyNanos, tokensLeft, keys] = await Promise.all([
    deps.usage.steps({ ...query, from: range.before }),
    deps.usage.erased(query),
    deps.usage.values(query, part, shownValues),
    deps.credit(accountId),
    dailyCharge(deps.usage, accountId, now),
    deps.tokensLeft(accountId),
    deps.keys.list(accountId),
  ]);
  const caps = await capUses(deps, keys, now);
  const shown = both.filter(({ at }) => at >= range.from);
  const steps = stepsOf(range).map((step) => ({ ...step, ...noUsage }));
  for (const one of shown) {
    const at = stepOf(range, one.at.getTime());
    steps[at] = { ...steps[at]!, ...addUsage(steps[at]!, one) };
  }
  const total = steps.reduce(addUsage, noUsage);
  return {
    total,
    previous: both.filter(({ at }) => at < range.from).reduce(addUsage, noUsage),
    steps,
    erased,
    part,
    values,
    others: all > values.length
      ? { count: all - values.length, sums: less(total, values) }
      : undefined,
    layers: values.slice(0, shownLayers).map(({ value, costs }) => {
      const nanos = steps.map(() => 0n);
      for (const [atMs, cost] of costs) nanos[stepOf(range, atMs)]! += cost;
      return { value, nanos };
    }),
    ...{ credit, dailyNanos, tokensLeft, keys, caps },
  };
}

function less(total: UsageSums, values: readonly UsageValue[]) {
  return {
    calls: values.reduce((rest, { calls }) => rest - calls, total.calls),
    costNanos: values.reduce((rest, { costNanos }) => rest - costNanos, total.costNanos),
  };
}

/** Of seven days, or of as many as there were since the first of them that had charges. */
async function dailyCharge(
  usage: UsageStore,
  accountId: number,
  now: Date,
): Promise<bigint | undefined> {
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  const from = new Date(today - 6 * dayMs);
  const to = new Date(today + dayMs);
  const days = await usage.steps({ accountId, span: "day", from, to });
  const charged = days.filter(({ chargedNanos }) => chargedNanos > 0n);
  if (charged.length === 0) return undefined;
  const sum = charged.reduce((nanos, { chargedNanos }) => nanos + chargedNanos, 0n);
  const ms = Math.max(dayMs, now.getTime() - charged[0]!.at.getTime());
  return sum * BigInt(dayMs) / BigInt(ms);
}

async function capUses(
  { spent }: OverviewDeps,
  keys: readonly KeyRow[],
  now: Date,
): Promise<CapUse[]> {
  const usable = keys.filter((key) =>
    key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now)
  );
  const sums = await keySpend({ read: spent }, usable, now);
  const uses = usable.flatMap((key) =>
    capsOf(key).map(({ name: period, limitNanos: capNanos }): CapUse => {
      const { dayNanos, monthNanos } = sums.get(key.id)!;
      return { key, period, capNanos, spentNanos: period === "day" ? dayNanos : monthNanos };
    })
  );
  return uses.sort((a, b) => shareUsed(b) - shareUsed(a));
}

/** 0 to 1, or more where calls cost more than was thought. */
export function shareUsed({ spentNanos, capNanos }: CapUse): number {
  return capNanos === 0n ? 1 : Number(spentNanos) / Number(capNanos);
}
