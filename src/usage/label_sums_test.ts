import assert from "@std/assert";
import { createLabelSumsJob, packSums, unpackSums } from "./label_sums.ts";
import type { LabelStep } from "./label_usage.ts";

const at = new Date(Date.UTC(2026, 8, 1));

Deno.test("sums are read as they were packed, of any size", () => {
  const edges = [0, 1, 127, 128, 16_383, 16_384, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1];
  const step: LabelStep = {
    at,
    values: edges.map(String),
    sums: { calls: edges, failed: edges.map(() => 0), costNanos: edges.toReversed() },
  };
  const sums = unpackSums(packSums(step), edges.length);
  assert.deepEqual([...sums.calls ?? []], edges);
  assert.deepEqual([...sums.costNanos ?? []], edges.toReversed());
  assert.deepEqual(Object.keys(sums), ["calls", "costNanos"], "sums of zeros take one byte");
});

Deno.test("what is no sum of calls is not packed", () => {
  for (const one of [-1, 0.5, 2 ** 53, NaN]) {
    assert.throws(() => packSums({ at, values: ["a"], sums: { calls: [one] } }), /is no sum/);
  }
});

Deno.test("a round takes account after account, in as many runs as it needs, and an hour later the next", async () => {
  let ms = Date.UTC(2026, 8, 3, 1);
  const left = new Map([[1, [at, new Date(at.getTime() - 86_400_000)]], [7, [at]], [9, [at]]]);
  const kept: string[] = [];
  let rounds = 0;
  const run = createLabelSumsJob({
    now: () => new Date(ms),
    keeper: {
      accounts(after, limit) {
        if (after === 0) rounds++;
        return Promise.resolve([...left.keys()].filter((id) => id > after).slice(0, limit));
      },
      missing: (accountId) => Promise.resolve([...left.get(accountId)!]),
      keep(accountId, day) {
        kept.push(`${accountId} ${day.toISOString().slice(0, 10)}`);
        left.get(accountId)!.shift();
        ms += 2_500;
        return Promise.resolve();
      },
    },
  });
  await run();
  assert.deepEqual(kept, ["1 2026-09-01", "1 2026-08-31"], "a run ends when its time is up");
  await run();
  await run();
  assert.deepEqual(kept.slice(2), ["7 2026-09-01", "9 2026-09-01"]);
  const roundsBefore = rounds;
  left.get(7)!.push(at);
  await run();
  assert.equal(rounds, roundsBefore, "an hour has not passed");
  ms += 3_600_000;
  await run();
  assert.equal(kept.at(-1), "7 2026-09-01");
});
