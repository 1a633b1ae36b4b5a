import assert from "@std/assert";
import { capColumns, type SpendingKey } from "./keys.tsx";

Deno.test("a key's file has what was spent of each cap, also of one that was set to 0 to stop it", () => {
  const { spent_day_usd: day, spent_month_usd: month } = capColumns;
  const key = (capNanos: bigint | null, spent: SpendingKey["spent"]) =>
    ({ capDayNanos: capNanos, capMonthNanos: capNanos, spent }) as SpendingKey;
  const spent = { dayNanos: 5n, monthNanos: 7n };
  assert.deepEqual([day!(key(9n, spent)), month!(key(9n, spent))], [{ nanos: 5n }, { nanos: 7n }]);
  assert.deepEqual([day!(key(0n, spent)), month!(key(0n, spent))], [{ nanos: 5n }, { nanos: 7n }]);
  assert.deepEqual([day!(key(null, undefined)), month!(key(null, undefined))], [null, null]);
});
