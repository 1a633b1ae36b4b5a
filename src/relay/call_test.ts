import { encodeInSteps } from "../dialects/kernel/read_arguments.ts";
import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createHeavyWork, runInTurns, type Step } from "../base/heavy_work.ts";
import { unquoteJson } from "../base/quoted_json.ts";
import { finish } from "../base/steps.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { Call, nothingHeld } from "./call.ts";
import { jobCaller } from "./call_context.ts";
import { retainerOf } from "./conversation/conversation.ts";
import { Meter } from "./meter.ts";
import { OpenStreams } from "./open_streams.ts";
import { SettlingSteps } from "./settling_steps.ts";

const said = 'a"\n\u{1f600}'.repeat(300_000);
const log = { info() {}, warn() {}, error() {} };

/** A call that has streamed a large answer, and what of it was made so far. */
async function streamed() {
  const clock = new FakeClock();
  const made = { encoded: 0, retained: 0 };
  const records: SettledCall[] = [];
  const caller = jobCaller({ clock, heavy: {} as never }, {
    principal: { account: { id: 1 }, key: { id: "a-key" } } as never,
    ...{ endpoint: "/responses", requestId: "a-request", sessionId: null, userId: null },
    signal: new AbortController().signal,
  });
  const retain = retainerOf(responses, { body: { input: "Hi." }, sources: [] }, "[]")!;
  const meter = new Meter(10_000_000, () => clock.monotonicMs());
  const deps = {
    ...{ clock, log, settling: new SettlingSteps({ log }) },
    ...{ payloadMaxBytes: 1_000, mediaInlineBytes: 1_000 },
    prices: { find: () => undefined } as never,
    recorder: { record: (row: SettledCall) => void records.push(row) } as never,
    journal: { begin() {}, end: () => Promise.resolve() },
    storedResponses: { remember() {} } as never,
    streams: new OpenStreams({ perAccount: 1, unreadMs: 1 }),
  };
  const call = await new Call(deps, {
    vendorCall: { caller, transactionId: "a-call", target: { vendor: {}, model: "m" } } as never,
    recorded: {
      ...{ dialect: responses, bodyText: "{}" },
      facts: { model: "m", stream: true, tags: {} } as never,
      plan: {
        losses: [],
        encodeFolded: (answer) => (made.encoded++, encodeInSteps(responses, answer)),
      },
      retain: (text) => (made.retained++, retain(text)),
    },
    ...{ meter, boundNanos: null },
  }, { authorization: nothingHeld, task: undefined }).begin();
  meter.listen([
    { type: "start", id: "resp_1", model: "m", created: 1 },
    { type: "block-start", choice: 0, block: 0, content: { kind: "text" } },
    { type: "block-delta", choice: 0, block: 0, text: said },
    { type: "finish", choice: 0, reason: "stop", raw: "stop" },
  ]);
  return { call, made, records };
}

/** Runs heavy work at once, and counts the turns that it takes. */
function countingStep() {
  let nowMs = 0;
  const counted = { turns: 0 };
  const work = createHeavyWork({
    tooLate: () => new Error("too late"),
    // Every step fills its turn.
    clock: { monotonicMs: () => nowMs += 10 },
    setTimer(_, act) {
      counted.turns++;
      queueMicrotask(act);
      return () => {};
    },
  });
  const step: Step = runInTurns(work, { key: "1", hasNoTimeout: true });
  return { counted, step };
}

const completed = { status: "completed", httpStatus: 200 } as const;

Deno.test("a streamed answer that was prepared is recorded as if it were not, and not made again", async () => {
  const atOnce = await streamed();
  await atOnce.call.settle(completed);
  const prepared = await streamed();
  const { counted, step } = countingStep();
  await prepared.call.prepareEnd(completed, step);
  // Folded, encoded, written, parsed and quoted, a few hundred thousand characters at a time.
  assert.ok(counted.turns > 30, `${counted.turns} turns`);
  assert.deepEqual(prepared.made, { encoded: 1, retained: 1 });
  await prepared.call.settle(completed);
  assert.deepEqual(prepared.made, { encoded: 1, retained: 1 });
  assert.equal(prepared.records.length, 1);
  assert.deepEqual(prepared.records, atOnce.records);
  const { answerText } = prepared.records[0]!.retained!.response!;
  assert.ok(finish(unquoteJson(answerText as Uint8Array)).includes(JSON.stringify(said)));
});

Deno.test("of an answer that was cut off nothing is prepared for later turns", async () => {
  const cut = await streamed();
  const ending = { ...completed, status: "cancelled" } as const;
  await cut.call.prepareEnd(ending, countingStep().step);
  await cut.call.settle(ending);
  assert.deepEqual(cut.made, { encoded: 1, retained: 0 });
  assert.equal(cut.records[0]!.retained, undefined);
});

Deno.test("the files of an answer are recorded, even if preparing it failed", async () => {
  const { call, records } = await streamed();
  const text = JSON.stringify({ image: { sha256: "a-hash" } });
  const media = [{ sha256: "a-hash", mimeType: "image/png", content: new Uint8Array(4) }];
  const failing = { inSteps: () => Promise.reject(new Error("not today")) } as unknown as Step;
  await call.prepare(text, failing, { isCut: false });
  await call.settle({ ...completed, responseText: text, responseMedia: media });
  assert.deepEqual([records[0]!.responseText, records[0]!.media], [text, media]);
});
