import assert from "@std/assert";
import { sound } from "../../../../demo/simulator/samples/mod.ts";
import {
  boundOfRequest,
  eventOf,
  priceOf,
  readerOf,
} from "../../../../tests/support/operation_request.ts";
import { Fault } from "../../../shared/fault.ts";
import { readSpeechUsage, speech } from "./speech.ts";

const body = { model: "gpt-4o-mini-tts", voice: "alloy", input: "Good morning, 東京 🎙️" };
const whole = { isComplete: true, price: undefined };
const characters = [...body.input].length;

Deno.test("sound is recorded as it came, with the type that the vendor gave", () => {
  const reader = readerOf(speech, body);
  assert.equal(reader.outcome(whole), undefined);
  reader.bytes(Uint8Array.of(1, 2), "audio/ogg");
  reader.bytes(Uint8Array.of(3), "");
  assert.deepEqual(JSON.parse(reader.outcome(whole)!.recordText!), {
    ...{ content_type: "audio/ogg", bytes: 3, data: "AQID" },
  });
});

Deno.test("without a price by the character sound is paid by its length, which its file says", () => {
  for (const format of ["wav", "mp3", "opus", "aac", "flac", "pcm"] as const) {
    const reader = readerOf(speech, { ...body, response_format: format });
    reader.bytes(sound(format, 6, "a test"), "");
    const { usage, basis } = reader.outcome(whole)!;
    assert.equal(basis, "estimated");
    // 1,250 tokens a minute.
    assert.ok(Math.abs(usage.output - 125) <= 4, `${format}: ${usage.output}`);
    assert.equal(usage.audioOutput, usage.output);
    assert.equal(usage.characters, characters);
  }
});

Deno.test("sound of no known kind is as long as its text is read aloud, at its speed", () => {
  const tokens = (fields: Record<string, unknown>) => {
    const reader = readerOf(speech, { ...body, input: "a".repeat(840), ...fields });
    reader.bytes(new Uint8Array(100), "audio/x-unknown");
    return reader.outcome(whole)!.usage.output;
  };
  assert.equal(tokens({}), 1250);
  assert.equal(tokens({ speed: 2 }), 625);
  for (const speed of [0, -1, "fast", null]) assert.equal(tokens({ speed }), 1250);
});

Deno.test("by the character the whole text costs, however much of it was heard", () => {
  const reader = readerOf(speech, body);
  reader.bytes(new Uint8Array(10), "audio/mpeg");
  const price = priceOf({ perCharacter: 15_000_000n } as never);
  const { usage } = reader.outcome({ isComplete: false, price })!;
  assert.deepEqual(usage, { input: 0, output: 0, characters });
});

Deno.test("by the minute the sound's own length costs, also where tokens are reported", () => {
  const price = priceOf({ perMinute: 15_000_000_000n } as never);
  const pcm = { ...body, response_format: "pcm" };
  const file = readerOf(speech, pcm);
  file.bytes(new Uint8Array(48_000), "");
  const byFile = file.outcome({ isComplete: true, price })!;
  assert.deepEqual([byFile.usage.seconds, byFile.basis], [1, "estimated"]);
  const events = readerOf(speech, { ...pcm, stream_format: "sse" });
  const audio = new Uint8Array(48_000).toBase64();
  events.event(eventOf({ type: "speech.audio.delta", audio }));
  events.event(done({ input_tokens: 9, output_tokens: 20 }));
  const byEvents = events.outcome({ isComplete: true, price })!;
  assert.deepEqual([byEvents.usage.seconds, byEvents.basis], [1, "reported"]);
});

const done = (usage: unknown) => eventOf({ type: "speech.audio.done", usage });
const delta = eventOf({ type: "speech.audio.delta", audio: "AQID" });

Deno.test("events bring the sound, and the last one what it cost", () => {
  const reader = readerOf(speech, { ...body, stream_format: "sse" });
  assert.deepEqual(reader.event(delta), {});
  const usage = { input_tokens: 9, output_tokens: 90, total_tokens: 99 };
  assert.deepEqual(reader.event(done(usage)), { isLast: true });
  const outcome = reader.outcome(whole)!;
  assert.equal(outcome.basis, "reported");
  assert.deepEqual(outcome.usage, {
    ...{ input: 9, output: 90, audioOutput: 90, raw: usage, characters },
  });
  assert.deepEqual(JSON.parse(outcome.recordText!).data, "AQID");
});

for (const usage of [undefined, null, {}, { total_tokens: 3 }, "x"]) {
  Deno.test(`events whose last one has a usage of ${JSON.stringify(usage)} are estimated`, () => {
    const reader = readerOf(speech, body);
    reader.event(delta);
    assert.deepEqual(reader.event(done(usage)), { isLast: true });
    assert.equal(reader.outcome(whole)!.basis, "estimated");
    assert.equal(readSpeechUsage(usage), undefined);
  });
}

Deno.test("events that were cut are estimated, also after the usage came", () => {
  const reader = readerOf(speech, body);
  reader.event(delta);
  reader.event(done({ input_tokens: 9, output_tokens: 90 }));
  assert.equal(reader.outcome({ isComplete: false, price: undefined })!.basis, "estimated");
});

Deno.test("an end without audio costs nothing, and an error among events is reported", () => {
  const reader = readerOf(speech, body);
  reader.event(done({ input_tokens: 9, output_tokens: 0 }));
  assert.equal(reader.outcome(whole), undefined);
  const { error } = reader.event(eventOf({ error: { message: "Too loud.", code: 503 } }));
  assert.deepEqual([error!.message, error!.status], ["Too loud.", 503]);
  for (const data of ["", "{", "[]", '{"type":"ping"}', '{"audio":7}']) {
    assert.deepEqual(reader.event(eventOf(data)), {});
  }
});

Deno.test("text in the place of audio is not an answer", () => {
  assert.throws(
    () => readerOf(speech, body).whole('{"ok":true}', "application/json"),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "upstream_invalid_response",
  );
});

Deno.test("the bound covers slow speech, and counts code points", () => {
  const bound = (fields: Record<string, unknown>) => {
    const sent = { ...body, input: "🎈".repeat(100), ...fields };
    return boundOfRequest(speech, {
      ...{ sent: { body: sent, text: JSON.stringify(sent) }, fields: sent, files: [] },
      ...{ model: "m", stream: false, endUser: undefined, tags: {}, tagUnits: 0 },
    });
  };
  assert.equal(bound({}).characters, 100);
  assert.equal(bound({}).maxOutputTokens, 1200);
  assert.equal(bound({ speed: 0.25 }).maxOutputTokens, 3000);
  assert.deepEqual([bound({}).seconds, bound({ speed: 0.25 }).seconds], [35, 125]);
});

Deno.test("a report of no tokens for sound that came is an estimate, and not free", () => {
  const events = readerOf(speech, { ...body, response_format: "pcm", stream_format: "sse" });
  events.event(eventOf({ type: "speech.audio.delta", audio: new Uint8Array(48_000).toBase64() }));
  for (const cost of [{}, { cost: 0.01 }]) {
    events.event(done({ input_tokens: 0, output_tokens: 0, ...cost }));
    const { usage, basis } = events.outcome({ ...whole, ignoresCost: true })!;
    assert.equal(basis, "estimated");
    assert.ok(usage.output > 0);
  }
});

Deno.test("of a half report, the other half is estimated, and no cost is hidden behind it", () => {
  const billed = (usage: unknown) => {
    const reader = readerOf(speech, body);
    reader.event(
      eventOf({ type: "speech.audio.delta", audio: sound("mp3", 6, "a test").toBase64() }),
    );
    reader.event(eventOf({ type: "speech.audio.done", usage }));
    const { usage: { input, output, audioOutput }, basis } = reader.outcome(whole)!;
    assert.equal(audioOutput, output);
    return { input, output, basis };
  };
  const silent = billed(undefined);
  assert.deepEqual([silent.input > 0, silent.output > 100], [true, true]);
  for (const missing of [undefined, null]) {
    const noInput = { input_tokens: missing, output_tokens: 90 };
    assert.deepEqual(billed(noInput), { ...silent, output: 90 });
    const noOutput = { input_tokens: 70, output_tokens: missing };
    assert.deepEqual(billed(noOutput), { ...silent, input: 70 });
    assert.deepEqual(billed({ ...noOutput, total_tokens: 75 }), {
      ...{ input: 70, output: 5, basis: "reported" },
    });
  }
});
