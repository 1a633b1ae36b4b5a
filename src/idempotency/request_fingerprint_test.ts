import assert from "@std/assert";
import { never, request, seen, setUpIdempotency, wholeRun } from "../../tests/support/repeats.ts";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { Steps } from "../base/steps.ts";

Deno.test("the fingerprint of a heavy body is made in its turn, and is the same", async () => {
  const { one } = setUpIdempotency();
  const first = request();
  await seen(await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1"))));
  let turns = 0;
  const step: Step = Object.assign(runAtOnce.bind(undefined), {
    inSteps<T>(job: () => Steps<T>) {
      turns++;
      return runAtOnce.inSteps(job);
    },
    isHeavy: true,
  });
  const { replay } = await seen(await one.idempotent({ ...request(), step }, never));
  assert.deepEqual({ replay, turns }, { replay: "true", turns: 1 });
});
