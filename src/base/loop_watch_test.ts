import assert from "@std/assert";
import { FakeClock } from "./clock.ts";
import { createLoopWatch } from "./loop_watch.ts";

function watching() {
  const clock = new FakeClock();
  const lags: number[] = [];
  const blocks: [number, string | undefined][] = [];
  let look = () => {};
  let isCancelled = false;
  const watch = createLoopWatch<string>({
    clock,
    lag: (ms) => lags.push(ms),
    blocked: (ms, work) => blocks.push([ms, work]),
    setTimer: (_ms, run) => {
      look = run;
      return () => isCancelled = true;
    },
  });
  return {
    watch,
    clock,
    lags,
    blocks,
    look: () => look(),
    run(work: string, ms: number) {
      watch.begin(work);
      clock.advance(ms);
    },
    isCancelled: () => isCancelled,
  };
}

Deno.test("what ran longest is named when the loop was blocked", () => {
  const { run, look, blocks, clock, lags } = watching();
  clock.advance(20);
  run("before", 5);
  run("culprit", 900);
  run("after", 30);
  look();
  assert.deepEqual(blocks, [[905, "culprit"]]);
  assert.deepEqual(lags, [905]);
});

Deno.test("a loop that turns says nothing, and many short pieces name nobody", () => {
  const { run, look, blocks } = watching();
  for (let turn = 0; turn < 3; turn++) {
    run("short", 45);
    look();
  }
  assert.deepEqual(blocks, []);
  for (let piece = 0; piece < 3000; piece++) run("many", 1);
  look();
  assert.deepEqual(blocks, [[2950, undefined]]);
});

Deno.test("work of an earlier turn is not taken for what blocks later", () => {
  const { run, look, blocks, clock, watch, isCancelled } = watching();
  run("innocent", 40);
  look();
  clock.advance(800);
  look();
  assert.deepEqual(blocks, [[750, undefined]]);
  watch.stop();
  assert.equal(isCancelled(), true);
});
