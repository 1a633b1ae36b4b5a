import type { ApiKey } from "../keys/api_key.ts";
import type { ReadSpend, SpendByKey } from "../credit/spend_cap.ts";

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
  readSpend: ReadSpend,
  keys: readonly Pick<ApiKey, "id" | "capDayNanos" | "capMonthNanos">[],
  now: Date,
): Promise<SpendByKey> {
  const keyIds = keys.filter((key) => capsOf(key).length > 0).map(({ id }) => id);
  if (keyIds.length === 0) return new Map();
  const spent = await readSpend(keyIds, now);
  return new Map(keyIds.map((id) => [id, spent.get(id) ?? { dayNanos: 0n, monthNanos: 0n }]));
}
