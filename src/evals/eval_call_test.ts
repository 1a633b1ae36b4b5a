import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createHeavyWork } from "../base/heavy_work.ts";
import { askModel } from "./eval_call.ts";

Deno.test("a large answer is parsed in turns with others' work", async () => {
  const clock = new FakeClock();
  let turns = 0;
  const work = createHeavyWork({
    tooLate: () => new Error("too late"),
    // Every step fills its turn.
    clock: { monotonicMs: () => (clock.advance(10), clock.monotonicMs()) },
    setTimer(_, act) {
      turns++;
      queueMicrotask(act);
      return () => {};
    },
  });
  const answer = { choices: [{ message: { content: "word ".repeat(400_000) } }] };
  const body = JSON.stringify(answer);
  const result = await askModel({
    ...{ clock, heavy: { work }, onLowRate() {} },
    relay: { send: () => Promise.resolve({ status: 200, headers: {}, body }) },
    rateLimiter: { take: () => Promise.resolve({ admitted: true, limit: 1, remaining: 1 }) },
  } as never, {
    principal: { account: { id: 1 }, key: {} },
    signal: new AbortController().signal,
  } as never);
  assert.deepEqual(result, {
    kind: "answer",
    json: answer,
    spent: { transactionId: null, costNanos: 0n, unpricedCalls: 0 },
  });
  assert.ok(turns > 5, `${turns} turns`);
});
