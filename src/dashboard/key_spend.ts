import type { ApiKey } from "../keys/api_key.ts";
import type { SpendStore } from "../credit/spend_cap.ts";
import { startOfDay, startOfMonth } from "../shared/time_span.ts";

/** What a key was charged in the current day and month (UTC), in nano-dollars. */
export interface KeySpend {
  dayNanos: bigint;
  monthNanos: bigint;
}

export type SpendByKey = ReadonlyMap<string, KeySpend>;

export type CapName = "day" | "month";

export function capsOf(
  { capDayNanos, capMonthNanos }: Pick<ApiKey, "capDayNanos" | "capMonthNanos">,
): { name: CapName; limitNanos: bigint }[] {
  return [
    ...(capDayNanos === null ? [] : [{ name: "day" as const, limitNanos: capDayNanos }]),
    ...(capMonthNanos === null ? [] : [{ name: "month" as const, limitNanos: capMonthNanos }]),
  ];
}

/** Returns what the keys with caps have spent; keys without caps are left out. */
export async function keySpend(
  store: SpendStore,
  keys: readonly Pick<ApiKey, "id" | "capDayNanos" | "capMonthNanos">[],
  now: Date,
): Promise<SpendByKey> {
  const keyIds = keys.filter((key) => capsOf(key).length > 0).map(({ id }) => id);
  if (keyIds.length === 0) return new Map();
  const { spent } = await store.read({
    keyIds,
    since: startOfMonth(now),
    day: startOfDay(now),
    transactionIds: [],
  });
  return new Map(keyIds.map((id) => {
    const { dayNanos, beforeNanos } = spent.get(id) ?? { dayNanos: 0n, beforeNanos: 0n };
    return [id, { dayNanos, monthNanos: dayNanos + beforeNanos }];
  }));
}
