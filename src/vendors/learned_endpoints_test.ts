import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createLearnedEndpoints, type RefusedCalls } from "./learned_endpoints.ts";

const minuteMs = 60_000;
const calls: RefusedCalls = {
  ...{ label: "house", model: "m-1", dialect: "responses", accountId: 1, mode: "managed" },
};

Deno.test("each refused addition is left out for ten minutes of its own, for calls like that one", () => {
  const clock = new FakeClock();
  const learned = createLearnedEndpoints({ clock });
  learned.learnRefusedAddition(calls, "a");
  clock.advance(6 * minuteMs);
  learned.learnRefusedAddition(calls, "b");
  assert.deepEqual(learned.refusedAdditions(calls), ["a", "b"]);
  for (const other of [{ model: "m-2" }, { accountId: 2 }, { mode: "dual_key" as const }]) {
    assert.deepEqual(learned.refusedAdditions({ ...calls, ...other }), []);
  }
  clock.advance(4 * minuteMs);
  assert.deepEqual(learned.refusedAdditions(calls), ["b"]);
  learned.learnRefusedAddition(calls, "a");
  clock.advance(6 * minuteMs);
  assert.deepEqual(learned.refusedAdditions(calls), ["a"]);
});

Deno.test("of what a vendor refuses of calls only the last eight causes are remembered", () => {
  const learned = createLearnedEndpoints({ clock: new FakeClock() });
  for (let cause = 1; cause <= 9; cause++) learned.learnRefusedAddition(calls, `${cause}`);
  assert.deepEqual(learned.refusedAdditions(calls), [..."23456789"]);
});
