/** Events are decoded the same whether they resemble those before them or are parsed one by one. */
import assert from "@std/assert";
import { type SseEvent, SseSplitter } from "../../src/base/sse.ts";
import type { StreamDecoder } from "../../src/dialects/kernel/dialect.ts";
import { Meter } from "../../src/relay/meter.ts";
import { Random } from "./random.ts";
import { answersOf, framesOf, recordingsIn } from "./recordings.ts";
import { syntheticStream } from "./synthetic.ts";
import { dialects, type Name, names } from "./translated.ts";

const folders = [
  new URL("../../../shared/recorded/", import.meta.url),
  new URL("../fixtures/answers/", import.meta.url),
];

for (const name of names) {
  Deno.test(`recorded ${name} streams, whole, cut anywhere and damaged`, () => {
    const random = new Random(7);
    let streams = 0;
    for (const folder of folders) {
      for (const recording of recordingsIn(folder, name, ".chunks.txt")) {
        for (const payloads of answersOf(recording.text)) {
          streams++;
          const bytes = joined(framesOf(name, payloads));
          checkAlike(name, recording.name, bytes, random);
        }
      }
    }
    assert.ok(streams > 0);
  });

  Deno.test(`made-up ${name} streams, whole, cut anywhere and damaged`, () => {
    for (let seed = 1; seed <= 60; seed++) {
      const bytes = joined(syntheticStream(name, seed).frames);
      checkAlike(name, `seed ${seed}`, bytes, new Random(seed));
    }
  });
}

function checkAlike(name: Name, what: string, bytes: Uint8Array, random: Random): void {
  checkSame(name, what, [bytes]);
  for (let round = 0; round < 3; round++) {
    checkSame(name, `${what} in pieces`, cutAnywhere(bytes, random));
    const cut = random.below(bytes.length);
    checkSame(name, `${what} up to ${cut}`, [bytes.subarray(0, cut)]);
    const damaged = bytes.slice();
    const at = random.below(bytes.length);
    damaged[at] = random.below(256);
    checkSame(name, `${what} damaged at ${at}`, [damaged]);
  }
}

/** Everything that a decoder says, and what meter and record make of it. */
function checkSame(name: Name, what: string, pieces: readonly Uint8Array[]): void {
  const splitter = new SseSplitter({ maxEventBytes: 1e9 });
  const events = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
  assert.deepEqual(joined(events.map(({ bytes }) => bytes)), joined(pieces));
  const [fast, plain] = [
    decoded(dialects[name].createStreamDecoder({}, 1), events),
    // Without its bytes an event resembles no other one.
    decoded(dialects[name].createStreamDecoder({}, 1), events.map(withoutBytes)),
  ];
  assert.deepEqual(fast, plain, what);
}

const nothing = new Uint8Array();

function withoutBytes({ event, data, terminated }: SseEvent): SseEvent {
  return { event, data, terminated, bytes: nothing };
}

function decoded(decoder: StreamDecoder, events: readonly SseEvent[]) {
  const meter = new Meter(1_000_000, () => 1);
  const all: unknown[] = [];
  const listen = <T extends { events: Parameters<Meter["listen"]>[0] }>(one: T) => {
    meter.listen(one.events);
    all.push(one);
  };
  for (const event of events) {
    try {
      listen(decoder.decode(event));
    } catch (thrown) {
      all.push(String(thrown));
      break;
    }
  }
  listen(decoder.end());
  const terms = {
    ...{ status: "completed", mode: "managed", boundNanos: null, price: undefined } as const,
    ...{ priceOf: () => undefined, vendorCostBelieved: false, promptUsage: () => ({ input: 5 }) },
  };
  return { all, answer: meter.answer(), finish: meter.finishReason, bill: meter.bill(terms) };
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

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
