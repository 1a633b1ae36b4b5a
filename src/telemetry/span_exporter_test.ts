import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { contentMaxUnits, type Span } from "./call_spans.ts";
import { type PostToCollector, sendToCollector, type Sent } from "./collector.ts";
import { SpanExporter } from "./span_exporter.ts";

function setUp(answer: () => Promise<Sent> = () => Promise.resolve("taken")) {
  const timers = new FakeTimers();
  const collector = { answer, batches: [] as number[] };
  const logged: string[] = [];
  const log = {
    warn: (text: string) => logged.push(text),
    info: (text: string) => logged.push(text),
  };
  const exporter = new SpanExporter({
    send: (spans) => {
      collector.batches.push(spans.length);
      return collector.answer();
    },
    ...{ log, setTimer: timers.later },
  });
  /** Lets time pass; returns the sizes of the requests that were sent in it. */
  const pass = async (ms: number) => {
    timers.advance(ms);
    await new Promise((resolve) => setTimeout(resolve, 0));
    return collector.batches.splice(0);
  };
  return { timers, collector, logged, exporter, pass };
}

function spans(count: number, content?: string): Span[] {
  const one: Span = {
    ...{ traceId: "t", spanId: "s", parentSpanId: undefined, isParentRemote: false, name: "chat" },
    ...{ startMs: 0, endMs: 1, isError: false, attributes: {} },
    kind: "server",
  };
  const call = { transactionId: "a", accountId: 1, createdAt: new Date(0) };
  const captured = {
    ...{ dialect: "chat", request: content?.slice(1) ?? null, response: content?.[0] ?? null },
    ...{ call: { ...call, sessionId: null, userId: null }, status: "completed" as const },
  };
  const span: Span = content === undefined ? one : { ...one, content: captured };
  return Array<Span>(count).fill(span);
}

/** As much as a call may have in its span. */
const longest = "x".repeat(contentMaxUnits);

Deno.test("spans wait a second for others; a full request goes at once", async () => {
  const { timers, exporter, pass } = setUp();
  exporter.add(spans(1));
  assert.deepEqual(await pass(999), []);
  exporter.add(spans(2));
  assert.deepEqual(await pass(1), [3]);
  assert.equal(timers.pending, 0);
  exporter.add(spans(255));
  assert.deepEqual(await pass(500), []);
  exporter.add(spans(1));
  assert.deepEqual(await pass(100), [256]);
  exporter.add(spans(1));
  assert.deepEqual(await pass(999), []);
  assert.deepEqual(await pass(1), [1]);
  exporter.add(spans(600));
  assert.deepEqual(await pass(0), [256, 256]);
  assert.equal(exporter.waiting, 88);
  assert.deepEqual(await pass(1000), [88]);
  assert.deepEqual([exporter.waiting, exporter.dropped], [0, 0]);
});

Deno.test("what comes while a request is under way goes with the next one", async () => {
  const { collector, exporter, pass } = setUp();
  const slow = Promise.withResolvers<Sent>();
  collector.answer = () => slow.promise;
  exporter.add(spans(2));
  assert.deepEqual(await pass(1000), [2]);
  exporter.add(spans(256));
  assert.deepEqual(await pass(1000), [], "one request at a time");
  slow.resolve("taken");
  assert.deepEqual(await pass(0), [256]);
  assert.equal(exporter.waiting, 0);
});

Deno.test("while the collector is away spans wait, for longer and longer, and none is lost", async () => {
  const { collector, logged, exporter, pass } = setUp(() => Promise.resolve("away"));
  exporter.add(spans(2));
  assert.deepEqual(await pass(1000), [2]);
  exporter.add(spans(300));
  for (const seconds of [2, 4, 8, 16, 30, 30]) {
    assert.deepEqual(await pass(seconds * 1000 - 1), []);
    assert.deepEqual(await pass(1), [256]);
  }
  assert.deepEqual(logged, ["the collector of traces can't be reached: spans are queued"]);
  collector.answer = () => Promise.resolve("taken");
  assert.deepEqual(await pass(30_000), [256]);
  assert.deepEqual(await pass(1000), [46]);
  assert.deepEqual(logged.slice(1), ["the collector of traces accepts spans again"]);
  exporter.add(spans(256));
  assert.deepEqual(await pass(0), [256], "as before");
  assert.equal(exporter.dropped, 0);
});

Deno.test("a call's spans that are too many, or whose content is, are dropped together and counted", async () => {
  const { exporter, pass } = setUp(() => Promise.resolve("away"));
  exporter.add(spans(2047));
  exporter.add(spans(2));
  assert.deepEqual([exporter.waiting, exporter.dropped], [2047, 2]);
  exporter.add(spans(1));
  assert.deepEqual([exporter.waiting, exporter.dropped], [2048, 2]);
  const full = setUp();
  full.exporter.add(spans(1));
  full.exporter.add(spans(64, longest));
  full.exporter.add(spans(1, "x"));
  full.exporter.add(spans(1));
  assert.deepEqual([full.exporter.waiting, full.exporter.dropped], [66, 1]);
  await full.pass(1000);
  full.exporter.add(spans(1, "x"));
  assert.equal(full.exporter.dropped, 1, "there is room again");
  assert.deepEqual(await pass(1000), [256]);
});

Deno.test("a request has no more content than collectors accept", async () => {
  const { exporter, pass } = setUp();
  exporter.add(spans(9, longest));
  assert.deepEqual(await pass(1000), [4, 4]);
  assert.deepEqual(await pass(1000), [1]);
});

Deno.test("refused spans are dropped and counted, and not sent again", async () => {
  const { logged, exporter, pass } = setUp(() => Promise.resolve("refused"));
  exporter.add(spans(3));
  assert.deepEqual(await pass(1000), [3]);
  assert.deepEqual([exporter.waiting, exporter.dropped], [0, 3]);
  assert.deepEqual(logged, ["the collector of traces refused spans"]);
});

Deno.test("a stop sends what waits once more, for two seconds, and takes nothing more", async () => {
  const { timers, collector, exporter } = setUp();
  exporter.add(spans(300));
  await exporter.close();
  assert.deepEqual(collector.batches, [256, 44]);
  exporter.add(spans(1));
  assert.deepEqual([exporter.waiting, exporter.dropped, timers.pending], [0, 1, 0]);
  const busy = setUp();
  const slow = Promise.withResolvers<Sent>();
  busy.collector.answer = () => slow.promise;
  busy.exporter.add(spans(2));
  assert.deepEqual(await busy.pass(1000), [2]);
  busy.exporter.add(spans(1));
  const ending = busy.exporter.close();
  assert.deepEqual(await busy.pass(0), [], "nothing is sent twice");
  slow.resolve("taken");
  await ending;
  assert.deepEqual([busy.collector.batches, busy.exporter.dropped], [[1], 0]);
  const away = setUp(() => Promise.resolve("away"));
  away.exporter.add(spans(300));
  await away.exporter.close();
  assert.deepEqual(away.collector.batches, [256]);
  assert.deepEqual([away.exporter.waiting, away.exporter.dropped], [0, 300]);
  const hung = setUp(() => new Promise(() => {}));
  hung.exporter.add(spans(2));
  await hung.pass(1000);
  let isClosed = false;
  const closing = hung.exporter.close().then(() => isClosed = true);
  await hung.pass(1999);
  assert.equal(isClosed, false);
  await hung.pass(1);
  await closing;
  assert.equal(hung.exporter.dropped, 2);
});

Deno.test("what a collector answers says whether the same request may be sent again", async () => {
  const settings = { protocol: "http/json", headers: {}, timeoutMs: 20, resource: {} } as const;
  const request = { body: new Uint8Array(), contentType: "application/json" };
  const sent = (post: PostToCollector) => sendToCollector("http://c", request, settings, post);
  const answers = [200, 202, 400, 401, 429, 500, 502, 503, 504];
  const results = await Promise.all(answers.map((status) => sent(() => Promise.resolve(status))));
  assert.deepEqual(results, [
    ...["taken", "taken", "refused", "refused"],
    ...["away", "refused", "away", "away", "away"],
  ]);
  assert.equal(await sent(() => Promise.reject(new Error("no route"))), "away");
  const hanging = ({ signal }: { signal: AbortSignal }) =>
    new Promise<number>((_, reject) => signal.addEventListener("abort", reject));
  assert.equal(await sent(hanging), "away");
});
