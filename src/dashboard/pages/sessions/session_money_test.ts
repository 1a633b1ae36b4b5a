import assert from "@std/assert";
import type { InteractionSummary } from "../../../shared/interaction.ts";
import { cacheSavedNanos, runningSums } from "./session_money.ts";

const call = (fields: Partial<InteractionSummary>) =>
  ({
    ...{ inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
    ...{ costNanos: 0n, priceVersion: "p1" },
    ...fields,
  }) as InteractionSummary;

Deno.test("sums run from call to call, and name calls without a price", () => {
  const sums = runningSums([
    call({ inputTokens: 100, cacheReadTokens: 60, outputTokens: 5, costNanos: 7n }),
    call({ inputTokens: null, costNanos: null }),
    call({ inputTokens: 10, costNanos: 3n }),
  ]);
  assert.deepEqual(sums.map(({ costNanos }) => costNanos), [7n, 7n, 10n]);
  assert.deepEqual(
    [sums[2]!.calls, sums[2]!.inputTokens, sums[2]!.cacheReadTokens, sums[2]!.unpriced],
    [3, 110, 60, 1],
  );
});

Deno.test("saved is what reads cost less and writes cost more than plain input", () => {
  // Pico-dollars a token: 3, 0.30 and 3.75 USD per million.
  const rates = { input: 3_000_000n, cacheRead: 300_000n, cacheWrite: 3_750_000n };
  const rowOf = (version: string) => version === "p1" ? { rates } : undefined;
  const written = call({ inputTokens: 2_000, cacheWriteTokens: 1_000 });
  const read = call({ inputTokens: 2_000, cacheReadTokens: 1_000 });
  assert.equal(cacheSavedNanos([written], rowOf), -750_000n);
  assert.equal(cacheSavedNanos([written, read], rowOf), 1_950_000n);
  assert.equal(cacheSavedNanos([call({ ...read, priceVersion: "other" })], rowOf), 0n);
  assert.equal(cacheSavedNanos([call({ ...read, priceVersion: null })], rowOf), 0n);
});
