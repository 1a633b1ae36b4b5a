/** A caller gets the same of a stream whether its events are taken in runs or one by one. */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { joinBytes } from "../../src/base/bytes.ts";
import { SseSplitter } from "../../src/base/sse.ts";
import type { StreamDecoder } from "../../src/dialects/kernel/dialect.ts";
import { Meter } from "../../src/relay/meter.ts";
import { passThrough } from "../../src/relay/plan/pass_through.ts";
import type { TextPlan } from "../../src/relay/plan/text_plan.ts";
import type { StreamOutput } from "../../src/relay/stream_forwarder.ts";
import { TextStreamListener } from "../../src/relay/text_stream.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { ResolvedModel } from "../../src/vendors/model_name.ts";
import { Random } from "./random.ts";
import { answersOf, framesOf, recordingsIn } from "./recordings.ts";
import { syntheticStream } from "./synthetic.ts";
import { dialects, type Name, names, planOf } from "./translated.ts";

const folders = [
  new URL("../../../shared/recorded/", import.meta.url),
  new URL("../fixtures/answers/", import.meta.url),
];

for (const vendor of names) {
  Deno.test(`recorded ${vendor} streams, for callers of every dialect`, () => {
    let runs = 0;
    for (const folder of folders) {
      for (const recording of recordingsIn(folder, vendor, ".chunks.txt")) {
        for (const payloads of answersOf(recording.text)) {
          runs += checkSame(vendor, recording.name, framesOf(vendor, payloads), new Random(7));
        }
      }
    }
    // Else it would show nothing. The generate dialect's events are parsed one by one.
    assert.equal(runs > 0, vendor !== "generate");
  });

  Deno.test(`made-up ${vendor} streams, for callers of every dialect`, () => {
    for (let seed = 1; seed <= 12; seed++) {
      checkSame(vendor, `seed ${seed}`, syntheticStream(vendor, seed).frames, new Random(seed));
    }
  });
}

Deno.test("of an event that fails in its second choice the first adds nothing to the run", () => {
  const event = (content: string, reason: string) => {
    const choices = [
      { index: 0, delta: { content }, finish_reason: null },
      { index: 1, delta: {}, finish_reason: reason },
    ];
    return new TextEncoder().encode(`data: ${JSON.stringify({ choices })}\n\n`);
  };
  const decoder = dialects.chat.createStreamDecoder({}, 2);
  const learned = [event("some ", "stop"), event("other ", "length")];
  for (const bytes of learned) {
    decoder.decode(new SseSplitter({ maxEventBytes: 4096 }).push(bytes)[0]!);
  }
  const first = event("words ", "stop");
  const run = decoder.decodeRun!(joinBytes([first, event("more ", "error")]));
  assert.equal(run.length, first.length);
  assert.deepEqual(
    run.events,
    [{ type: "block-delta", choice: 0, block: 0, text: "words " }],
  );
  assert.deepEqual(run.failure?.events.map(({ type }) => type), ["error"]);
});

/** Returns how many runs there were. */
function checkSame(vendor: Name, what: string, frames: Uint8Array[], random: Random): number {
  const whole = joinBytes(frames);
  const damaged = whole.slice();
  const damagedAt = random.below(whole.length);
  damaged[damagedAt] = random.below(256);
  const streams: [how: string, pieces: Uint8Array[]][] = [
    ["some events at once", eventsAtOnce(frames, random)],
    ["with CRLF", eventsAtOnce(frames, random).map(withCrLf)],
    ["cut anywhere", cutAnywhere(whole, random)],
    [`damaged at ${damagedAt}`, regrouped(damaged, eventsAtOnce(frames, random))],
    ["broken off", eventsAtOnce(frames.slice(0, random.below(frames.length)), random)],
  ];
  let runs = 0;
  for (const caller of names) {
    const plan = vendor === caller ? passing(vendor) : planOf({ vendor, caller });
    for (const [how, pieces] of streams) {
      const decoder = dialects[vendor].createStreamDecoder({}, 1);
      const inRuns = listened(plan, counted(decoder, () => runs++), pieces);
      const { decode, end } = dialects[vendor].createStreamDecoder({}, 1);
      const plain = dialects[vendor].createStreamDecoder({}, 1);
      const oneByOne = { decode: decode.bind(plain), end: end.bind(plain) };
      assert.deepEqual(inRuns, listened(plan, oneByOne, pieces), `${what}, ${how}, to ${caller}`);
    }
  }
  return runs;
}

function counted(decoder: StreamDecoder, count: () => void): StreamDecoder {
  return {
    decode: (event) => decoder.decode(event),
    end: () => decoder.end(),
    decodeRun(bytes) {
      const run = decoder.decodeRun?.(bytes) ?? { events: [], length: 0, failure: undefined };
      if (run.length > 0) count();
      return run;
    },
  };
}

/** All that a caller, the meter and the record get of a stream. */
function listened(plan: TextPlan, decoder: StreamDecoder, pieces: readonly Uint8Array[]) {
  const meter = new Meter(1_000_000, () => 1);
  const vendorCall = { fault: ({ code }: { code?: unknown }) => failure(String(code)) };
  const output = new Caller();
  const listener = new TextStreamListener({
    ...{ vendorCall, meter, plan: plan.stream(), decoder, awaitsContent: false },
  });
  let thrown: string | undefined;
  try {
    for (const piece of pieces) listener.take(piece.slice(), output);
    listener.takeLast(output);
    const last = listener.end(output);
    if (last) output.send(last);
  } catch (fault) {
    thrown = fault instanceof Fault ? `${fault.code} ${fault.note}` : String(fault);
  }
  listener.settle();
  const bill = meter.bill({
    ...{ status: "completed", mode: "managed", boundNanos: null, price: undefined } as const,
    ...{ priceOf: () => undefined, vendorCostBelieved: false, promptUsage: () => ({ input: 5 }) },
  });
  const { hasBegun, completeAt, text } = output;
  const { finishReason } = meter;
  return { thrown, hasBegun, completeAt, text, answer: meter.answer(), finishReason, bill };
}

function failure(note: string): Fault {
  return new Fault("upstream_error", { note });
}

class Caller implements StreamOutput {
  hasBegun = false;
  /** How many characters the caller had when the vendor's last event came. */
  completeAt: number | undefined;
  text = "";

  begin(): void {
    this.hasBegun = true;
  }

  mayEnd(): void {}

  complete(): void {
    this.completeAt ??= this.text.length;
  }

  send(bytes: Uint8Array): void {
    this.text += Buffer.from(bytes).toString("latin1");
  }
}

function passing(name: Name): TextPlan {
  const dialect = dialects[name];
  const body = { model: "m", stream: true, messages: [], input: [], contents: [], max_tokens: 9 };
  const steps = passThrough({
    dialect,
    body,
    bodyText: JSON.stringify(body),
    facts: dialect.readRequest(body),
    target: { vendor: { quirks: {} }, model: "m", id: "v/m" } as ResolvedModel,
    jsonArray: false,
    keepNothing: false,
  });
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

function eventsAtOnce(frames: readonly Uint8Array[], random: Random): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < frames.length;) {
    const end = at + 1 + random.below(12);
    pieces.push(joinBytes(frames.slice(at, end)));
    at = end;
  }
  return pieces;
}

/** The bytes, cut where these pieces are. */
function regrouped(bytes: Uint8Array, pieces: readonly Uint8Array[]): Uint8Array[] {
  let at = 0;
  return pieces.map(({ length }) => bytes.subarray(at, at += length));
}

function withCrLf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from([...bytes].flatMap((byte) => byte === 10 ? [13, 10] : [byte]));
}

function cutAnywhere(bytes: Uint8Array, random: Random): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + 1 + random.below(random.pick([3, 40, 400, 4000])));
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}
