import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { codedSpeech } from "../dialects/media/speech/coded_speech.ts";
import { generateSpeechCodec } from "../dialects/text/generate/operations/generate_content_speech.ts";
import { speechAsk } from "../../tests/support/speech_ask.ts";
import type { SpeechCodec } from "../dialects/kernel/speech_codec.ts";
import type { Usage } from "../shared/usage.ts";
import { AudioReader } from "./audio.ts";

/** Returns a reader of answers of this type; nothing is billed, since the call has no price. */
function readerOf(
  codec: SpeechCodec,
  contentType: string,
  ask = speechAsk("m"),
  report: (...args: unknown[]) => void = () => {},
): AudioReader {
  const vendorCall = { target: { vendor: { label: "vendor-x" }, model: "m" }, caller: {} };
  const meter = { report, bill: () => ({ costNanos: null }) };
  const speechCall = { codec, ask, encoded: codec.encode(ask) };
  return new AudioReader({ vendorCall, meter } as never, speechCall as never, contentType);
}

Deno.test("a whole file larger than a stream's record reaches the caller and the record whole", async () => {
  const reader = readerOf(codedSpeech, "audio/wav", speechAsk("m", { format: "wav" }));
  const sound = new Uint8Array(32 * 1024 * 1024 + 1).fill(7);
  await reader.readWhole(sound, false);
  const { file, json } = reader.finish();
  assert.equal(Buffer.compare(file, sound), 0);
  assert.ok(json.length > sound.length);
});

Deno.test("audio in a stream's last event reaches the caller, though no blank line ends it", () => {
  const ask = speechAsk("m-tts", { format: "wav", stream: true });
  const reader = readerOf(generateSpeechCodec, "text/event-stream", ask);
  const inlineData = { data: new Uint8Array([1, 2, 3, 4]).toBase64() };
  const candidates = [{ content: { parts: [{ inlineData }] }, finishReason: "STOP" }];
  const event = new TextEncoder().encode(`data: ${JSON.stringify({ candidates })}\n`);
  assert.equal(reader.readPiece(event).bytes, undefined);
  const sound = reader.end();
  assert.deepEqual([sound?.length, sound?.at(-1)], [44 + 4, 4], "a header, and the samples");
});

Deno.test("events without the last one are truncated, and their usage so far isn't the call's", () => {
  const reports: unknown[] = [];
  const ask = speechAsk("m-tts", { format: "pcm", stream: true });
  const reader = readerOf(
    generateSpeechCodec,
    "text/event-stream",
    ask,
    (usage, ...args) => reports.push([(usage as Usage).output, ...args]),
  );
  const inlineData = { data: new Uint8Array(96_000).toBase64() };
  const usageMetadata = { promptTokenCount: 4, candidatesTokenCount: 1 };
  const candidates = [{ content: { parts: [{ inlineData }] } }];
  const event = JSON.stringify({ candidates, usageMetadata });
  reader.readPiece(new TextEncoder().encode(`data: ${event}\n\ndata: {"cand`));
  assert.throws(() => reader.end(), { code: "upstream_stream_truncated" });
  reader.settle(false);
  // Two seconds, at 25 tokens a second.
  assert.deepEqual(reports, [[50, "estimated", undefined]]);
});

Deno.test("a refusal is told without the secrets in it", async () => {
  const reader = readerOf(generateSpeechCodec, "application/json");
  const blockReasonMessage = "Blocked for sk-proj-abcdefghijklmnopqrstuvwxyz0123456789.";
  const answer = { promptFeedback: { blockReason: "SAFETY", blockReasonMessage } };
  await assert.rejects(
    () => reader.readWhole(new TextEncoder().encode(JSON.stringify(answer)), true),
    (thrown: Error) => {
      assert.match(thrown.message, /withheld the speech: Blocked for /);
      assert.doesNotMatch(thrown.message, /abcdef/);
      return true;
    },
  );
});

Deno.test("an event of speech with more values than any has ends the answer", () => {
  const ask = speechAsk("m-tts", { format: "pcm", stream: true });
  const reader = readerOf(generateSpeechCodec, "text/event-stream", ask);
  const events = (count: number) =>
    new TextEncoder().encode(`data: {"candidates":[],"a":[${Array(count).fill("{}").join()}]}\n\n`);
  assert.equal(reader.readPiece(events(199_000)).failure, undefined);
  assert.equal(reader.readPiece(events(200_000)).failure?.code, "upstream_invalid_response");
});

Deno.test("the answer shows the tokens that are charged where a vendor reports half of them", async () => {
  const inlineData = { data: new Uint8Array(96_000).toBase64() };
  const candidates = [{ content: { parts: [{ inlineData }] }, finishReason: "STOP" }];
  const shownOf = async (usageMetadata: object | undefined) => {
    let billed: Usage | undefined;
    const reader = readerOf(
      generateSpeechCodec,
      "application/json",
      speechAsk("m-tts", { format: "pcm" }),
      (usage) => billed = usage as Usage,
    );
    const answer = JSON.stringify({ candidates, usageMetadata });
    await reader.readWhole(new TextEncoder().encode(answer), true);
    const { usage } = JSON.parse(reader.finish().json) as { usage: Record<string, number> };
    return { shown: [usage.input_tokens, usage.output_tokens], billed: billed! };
  };
  for (const half of [{ promptTokenCount: 4 }, { candidatesTokenCount: 60 }]) {
    const { shown, billed } = await shownOf(half);
    assert.ok(billed.input > 0 && billed.output > 0);
    assert.deepEqual(shown, [billed.input, billed.output]);
  }
  assert.deepEqual((await shownOf(undefined)).shown, [undefined, undefined]);
});
