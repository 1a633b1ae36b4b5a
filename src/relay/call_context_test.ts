import assert from "@std/assert";
import { heldBytes } from "../../tests/support/held_bytes.ts";
import { FakeClock } from "../base/clock.ts";
import { heavyUnits } from "../base/heavy_json.ts";
import { createHeavyWork } from "../base/heavy_work.ts";
import { CallTimes, clientOf, jobCaller, stepFor } from "./call_context.ts";

Deno.test("a client's name is the first product of its user agent, and holds none of the rest", () => {
  const client = (userAgent?: string) => clientOf({ header: () => userAgent });
  assert.equal(client("OpenAI/JS 6.0.0"), "OpenAI/JS");
  assert.equal(client("x".repeat(150)), "x".repeat(100));
  assert.equal(client(), undefined);
  const held = heldBytes(() =>
    Array.from({ length: 1000 }, (_, n) => client(`claude-cli/2.1.${n} ${"x".repeat(9000)}`))
  );
  assert.ok(held < 2_000_000, `${held} bytes`);
});

Deno.test("a call's time is its upload, requests to vendors however they overlap, and overhead", () => {
  let nowMs = 1000;
  const times = new CallTimes(() => nowMs);
  const after = (ms: number) => nowMs += ms;
  times.uploadBegins();
  after(30);
  times.uploadEnds();
  after(5);
  const one = times.vendorBegins();
  after(10);
  const other = times.vendorBegins();
  after(20);
  one.end();
  one.end();
  after(40);
  assert.deepEqual(times.timing(1000, undefined), { totalMs: 105, vendorMs: 70, overheadMs: 5 });
  other.end();
  after(3);
  times.vendorBegins().end();
  const timing = { totalMs: 108, vendorMs: 70, overheadMs: 8, firstTokenMs: 60 };
  assert.deepEqual(times.timing(1000, 1060), timing);
});

Deno.test("of vendor requests that overlap, each one's trace ends with its own answer", () => {
  let nowMs = 0;
  const times = new CallTimes(() => nowMs);
  const [one, other] = [times.vendorBegins(), times.vendorBegins()];
  const request = { vendor: "vendor-x", model: "m", baseUrl: "", httpStatus: 200 };
  nowMs = 10;
  one.noteTry({ ...request, httpStatus: 503, errorCode: "upstream_overloaded" }, 10);
  nowMs = 20;
  one.noteTry({ ...request, errorCode: null }, 10);
  other.noteTry({ ...request, errorCode: null }, 20);
  nowMs = 30;
  one.end();
  nowMs = 40;
  other.end();
  const spans = times.requests.map(({ startMs, endMs }) => [startMs, endMs]);
  assert.deepEqual(spans, [[0, 10], [10, 30], [0, 40]]);
});

Deno.test("work on a large answer of a job takes turns with that of other accounts", async () => {
  const work = createHeavyWork({
    tooLate: () => new Error("too late"),
    setTimer: (_ms, run) => {
      queueMicrotask(run);
      return () => {};
    },
  });
  const caller = jobCaller({ clock: new FakeClock(), heavy: { work } }, {
    principal: { account: { id: 1 }, key: {} } as never,
    ...{ endpoint: "/evals", requestId: "id", sessionId: null, userId: null },
    signal: new AbortController().signal,
  });
  const done: string[] = [];
  const step = stepFor(heavyUnits + 1, caller);
  await Promise.all([
    step(() => done.push("the job's")),
    step(() => done.push("the job's")),
    work.run({ key: "2", hasNoTimeout: true }, () => done.push("another's")),
  ]);
  assert.deepEqual(done, ["the job's", "another's", "the job's"]);
});
