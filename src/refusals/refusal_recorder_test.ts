import assert from "@std/assert";
import v8 from "node:v8";
import vm from "node:vm";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import type { RefusedRequest } from "./refusal.ts";
import { RefusalRecorder } from "./refusal_recorder.ts";

const mebibyte = 1024 * 1024;
const log = { info() {}, warn() {}, error() {} };
const refused: RefusedRequest = {
  ...{
    accountId: 1,
    apiKeyId: "key",
    requestId: "id",
    at: new Date(0),
    isCall: true,
    param: undefined,
  },
  ...{ httpStatus: 404, code: "model_not_found", endpoint: "/chat", model: "m" },
};

Deno.test("a store that hangs at a count holds up the end of the process for five seconds at most", async () => {
  const timers = new FakeTimers();
  const recorder = new RefusalRecorder({
    ...{ clock: timers.clock, log, setTimer: timers.later },
    store: { add: () => new Promise(() => {}) },
  });
  recorder.note(refused);
  const closed = recorder.close();
  timers.advance(5_000);
  await closed;
});

Deno.test("refusals that wait for the database hold little of a model's name of megabytes", async () => {
  v8.setFlagsFromString("--expose-gc");
  const gc: () => void = vm.runInNewContext("gc");
  const recorder = new RefusalRecorder({
    store: { add: () => Promise.reject(new Error("the database is away")) },
    clock: { monotonicMs: () => 0 },
    log,
  });
  gc();
  const before = Deno.memoryUsage().heapUsed;
  for (let n = 0; n < 20; n++) {
    const long = JSON.parse(`"${n}${"m".repeat(5 * mebibyte)}"`) as string;
    recorder.note({ ...refused, requestId: `id ${n}`, model: long, param: long });
  }
  await assert.rejects(recorder.flush(), /away/);
  assert.equal(recorder.waiting, 40, "20 rows and 20 counts");
  gc();
  assert.ok(Deno.memoryUsage().heapUsed - before < 10 * mebibyte);
});
