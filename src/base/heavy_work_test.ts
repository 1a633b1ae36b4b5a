import assert from "@std/assert";
import { createHeavyWork } from "./heavy_work.ts";

/** Time that passes when the test advances it, and while jobs run. */
function world(maxWaitMs?: number) {
  let nowMs = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  const work = createHeavyWork({
    tooLate: () => new Error("too late"),
    ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
    clock: { monotonicMs: () => nowMs },
    setTimer(ms, run) {
      const timer = { at: nowMs + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  return {
    work,
    now: () => nowMs,
    /** Takes time, as a job does. */
    take: (ms: number) => nowMs += ms,
    async pass(ms: number) {
      for (const end = nowMs + ms;;) {
        const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.at);
        next.run();
        for (let tick = 0; tick < 10; tick++) await Promise.resolve();
      }
    },
    timers,
  };
}

Deno.test("keys take turns, and after each job there is as much time for others", async () => {
  const { work, take, now, pass } = world();
  const done: string[] = [];
  const job = (name: string) => () => {
    done.push(`${name} at ${now()}`);
    take(10);
  };
  const all = ["a1", "a2", "a3", "b1"].map((name) => work.run({ key: name[0]! }, job(name)));
  await pass(200);
  await Promise.all(all);
  assert.deepEqual(done, ["a1 at 0", "b1 at 20", "a2 at 40", "a3 at 60"]);
});

Deno.test("steps are taken together until they take long, and what they throw is thrown", async () => {
  const { work, take, pass } = world();
  let steps = 0;
  function* walk(): Generator<void, string, void> {
    for (; steps < 9; steps++) {
      take(2);
      yield;
    }
    return "there";
  }
  const walking = work.runSteps({ key: "a" }, walk());
  await pass(0);
  assert.equal(steps, 3, "of 2 ms each; the fourth has been begun");
  await pass(500);
  assert.equal(await walking, "there");
  const falling = work.run({ key: "a" }, () => {
    throw new Error("fallen");
  });
  const said = assert.rejects(falling, /fallen/);
  await pass(500);
  await said;
});

Deno.test("a caller that leaves or waits too long gets an error and holds up no other", async () => {
  const { work, take, pass, timers } = world(300);
  const leaving = new AbortController();
  const long = work.run({ key: "a" }, () => take(400));
  const gone = assert.rejects(
    work.run({ key: "b", signal: leaving.signal }, () => 1),
    /left/,
  );
  leaving.abort(new Error("left"));
  await gone;
  const late = assert.rejects(work.run({ key: "c" }, () => 2), /too late/);
  await pass(300);
  await long;
  await late;
  const last = work.run({ key: "d" }, () => 3);
  await pass(1000);
  assert.equal(await last, 3);
  assert.equal(timers.size, 0);
});
