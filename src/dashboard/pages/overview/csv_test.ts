import assert from "@std/assert";
import { noUsage } from "../../../usage/usage_sums.ts";
import { readCsv } from "../../../../tests/support/csv.ts";
import { restLines, stepsCsv } from "./csv.ts";
import type { Overview } from "./load.ts";
import { readRange, stepsOf } from "./range.ts";

Deno.test("the lines of a breakdown's file add up to the total, whichever values it has no line for", () => {
  const sums = (calls: number, failed: number, inputTokens: bigint, nanos: bigint) => ({
    ...noUsage,
    ...{ calls, failed, inputTokens, costNanos: nanos, chargedNanos: nanos },
  });
  const total = sums(10, 3, 1000n, 500n);
  const values = [sums(4, 1, 400n, 200n), sums(2, 1, 100n, 100n)];
  const none = { calls: 0, costNanos: 0n, chargedNanos: 0n };
  const lines = (erased: typeof none, listed = values) =>
    restLines(total, listed, erased).map(
      ({ value, line, calls, failed, inputTokens, chargedNanos }) => {
        assert.equal(value, `(${line})`);
        return [value, calls, failed, inputTokens, chargedNanos];
      },
    );
  assert.deepEqual(lines({ calls: 4, costNanos: 200n, chargedNanos: 200n }), [
    ["(erased)", 4, 1, 500n, 200n],
  ]);
  assert.deepEqual(lines(none), [["(others)", 4, 1, 500n, 200n]]);
  assert.deepEqual(lines({ calls: 1, costNanos: 50n, chargedNanos: 50n }), [
    ["(others)", 3, 1, 500n, 150n],
    ["(erased)", 1, 0, 0n, 50n],
  ]);
  assert.deepEqual(lines(none, [total]), []);
  assert.deepEqual(lines(none, [sums(11, 3, 1100n, 550n)]), [], "a call came in meanwhile");
  const dear = [sums(7, 3, 900n, 490n)];
  const noLess = [["(others)", 2, 0, 100n, 0n], ["(erased)", 1, 0, 0n, 50n]];
  assert.deepEqual(lines({ calls: 1, costNanos: 50n, chargedNanos: 50n }, dear), noLess);
});

Deno.test("a file of days doesn't count zero refused calls where their counts were deleted", async () => {
  const range = readRange(
    (name) => name === "range" ? "90d" : undefined,
    new Date("2026-11-21T12:00:00Z"),
  );
  const steps = stepsOf(range).map((step) => ({ ...step, ...noUsage, refused: 0 }));
  const refusedSince = new Date("2026-10-22T13:00:00Z");
  const file = stepsCsv({ steps, refusedSince } as unknown as Overview, range);
  const refused = new Map(readCsv(await file.text()).map((line) => [line.day, line.refused]));
  assert.equal(refused.get("2026-10-21T00:00:00.000Z"), "");
  assert.equal(refused.get("2026-10-22T00:00:00.000Z"), "0", "counted from noon on");
});
