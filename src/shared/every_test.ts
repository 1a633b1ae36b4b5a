import assert from "@std/assert";
import type { Log } from "../base/log.ts";
import { Fault } from "./fault.ts";
import { every } from "./every.ts";

function setup() {
  const lines: string[] = [];
  const log: Log = {
    info: () => {},
    warn: (message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`),
    error: () => {},
  };
  return { lines, log };
}

/** Runs a job of steps, one after the other; resolves when the last has begun, and stops it. */
async function runSteps(log: Log, steps: readonly (() => Promise<void>)[]): Promise<void> {
  let step = 0;
  let ended = () => {};
  const done = new Promise<void>((resolve) => ended = resolve);
  const stop = every(
    0,
    async () => {
      const next = steps[step++];
      if (next) return await next();
      ended();
    },
    log,
    "sweep",
  );
  await done;
  stop();
}

const good = () => Promise.resolve();
const bad = () => Promise.reject(new Fault("store_unavailable"));

Deno.test("a job runs again after its end, never two at once", async () => {
  const { log } = setup();
  let running = 0;
  let most = 0;
  let runs = 0;
  const slow = async () => {
    most = Math.max(most, ++running);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    running--;
    runs++;
  };
  await runSteps(log, [slow, slow, slow]);
  assert.deepEqual([runs, most], [3, 1]);
});

Deno.test("a failing job goes on; a row of failures is said once, the next row again", async () => {
  const { lines, log } = setup();
  await runSteps(log, [bad, bad, bad, good, bad, bad]);
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /^a background job fails .*"job":"sweep".*store/);
});

Deno.test("a job that throws before its first wait fails as any other", async () => {
  const { lines, log } = setup();
  await runSteps(log, [() => {
    throw new Error("at once");
  }, good]);
  assert.match(lines[0]!, /at once/);
});

Deno.test({
  name: "stopped before its time, during its run, or after it, a job leaves no timer behind",
  // Deno fails this test when a timer is still set at its end.
  sanitizeOps: true,
  sanitizeResources: true,
  async fn() {
    const { log } = setup();
    let runs = 0;
    every(60_000, () => Promise.resolve(void runs++), log, "early")();
    assert.equal(runs, 0);
    let stop = () => {};
    await new Promise<void>((resolve) => {
      stop = every(
        0,
        () => {
          runs++;
          stop();
          resolve();
          return good();
        },
        log,
        "during",
      );
    });
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(runs, 1);
    stop();
  },
});
