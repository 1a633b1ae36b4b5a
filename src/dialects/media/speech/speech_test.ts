import assert from "@std/assert";
import { refused } from "../../../../tests/support/image_ask.ts";
import { speechAsk } from "../../../../tests/support/speech_ask.ts";
import { aggregatedSpeech } from "./aggregated_speech.ts";
import { audioSpeech } from "./audio_speech.ts";
import { codedSpeech } from "./coded_speech.ts";

Deno.test("models paid by the token stream events, since only those tell usage", () => {
  const { body } = audioSpeech.encode(speechAsk("gpt-4o-mini-tts", { instructions: "Softly" }));
  assert.deepEqual(body, {
    model: "gpt-4o-mini-tts",
    input: "Good morning.",
    voice: "alloy",
    response_format: "mp3",
    instructions: "Softly",
    stream_format: "sse",
  });
  assert(!("stream_format" in audioSpeech.encode(speechAsk("tts-1")).body));
});

Deno.test("voices, formats and lengths are checked against the model", () => {
  const encode = (model: string, more: Parameters<typeof speechAsk>[1]) => () =>
    audioSpeech.encode(speechAsk(model, more));
  refused(encode("gpt-4o-mini-tts", { voice: "Kore" }), "voice", "alloy", "verse", "marin");
  refused(encode("tts-1", { voice: "verse" }), "voice", "alloy");
  refused(encode("tts-1", { text: "x".repeat(4097) }), "input", "4096");
  assert.doesNotThrow(encode("tts-1", { text: "🎙".repeat(4096) }));
  assert.doesNotThrow(encode("gpt-4o-mini-tts", { voice: { id: "voice_1234" } }));
  refused(
    encode("tts-1", { speakers: [{ speaker: "Ada", voice: "alloy" }] }),
    "speakers",
    "vendor-d",
  );
  for (const format of ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const) {
    assert.equal(audioSpeech.encode(speechAsk("tts-1", { format })).body.response_format, format);
  }
});

Deno.test("what changes the meaning and can't be carried is a loss of that weight", () => {
  const losses = (model: string, more: Parameters<typeof speechAsk>[1]) =>
    audioSpeech.encode(speechAsk(model, more)).losses.map(({ path }) => path);
  assert.deepEqual(losses("tts-1", { instructions: "Softly" }), ["instructions"]);
  assert.deepEqual(losses("gpt-4o-mini-tts", { instructions: "Softly", speed: 2 }), []);
  assert.deepEqual(losses("tts-1", { language: "de", user: "u" }), ["language", "user"]);
  assert.deepEqual(losses("tts-1", { sampleRate: 24_000 }), []);
  assert.deepEqual(losses("tts-1", { sampleRate: 48_000 }), ["sample_rate"]);
});

Deno.test("events bring sound and, last, usage that is all sound", () => {
  assert.deepEqual(audioSpeech.read({ type: "speech.audio.delta", audio: "AAA=" }), {
    data: "AAA=",
  });
  const usage = { input_tokens: 4, output_tokens: 21, total_tokens: 25 };
  const last = audioSpeech.read({ type: "speech.audio.done", usage });
  assert.equal(last.isLast, true);
  assert.equal(last.usage?.audioOutput, 21);
  assert(audioSpeech.read({ error: { message: "no" } }).error);
});

Deno.test("a codec, a rate and a language go in the vendor's words", () => {
  const { path, body, sampleRate } = codedSpeech.encode(speechAsk("tts", {
    format: "pcm",
    sampleRate: 16_000,
    language: "de",
    speed: 1.2,
  }));
  assert.equal(path, "/tts");
  assert.equal(sampleRate, 16_000);
  assert.deepEqual(body, {
    text: "Good morning.",
    voice_id: "eve",
    language: "de",
    output_format: { codec: "pcm", sample_rate: 16_000 },
    speed: 1.2,
  });
  refused(
    () => codedSpeech.encode(speechAsk("tts", { format: "flac" })),
    "response_format",
    "mp3, wav, pcm",
  );
  refused(
    () => codedSpeech.encode(speechAsk("tts", { text: "x".repeat(15_001) })),
    "input",
    "15000",
  );
});

Deno.test("the aggregator speaks in two formats and any voice", () => {
  const { body } = aggregatedSpeech.encode(speechAsk("openai/gpt-4o-mini-tts", { voice: "any" }));
  assert.deepEqual(body, {
    model: "openai/gpt-4o-mini-tts",
    input: "Good morning.",
    voice: "any",
    response_format: "mp3",
  });
  refused(
    () => aggregatedSpeech.encode(speechAsk("a/b", { format: "wav" })),
    "response_format",
    "mp3, pcm",
  );
});
