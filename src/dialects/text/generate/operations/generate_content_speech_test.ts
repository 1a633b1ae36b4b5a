import assert from "@std/assert";
import { refused } from "../../../../../tests/support/image_ask.ts";
import { speechAsk } from "../../../../../tests/support/speech_ask.ts";
import { generateSpeechCodec } from "./generate_content_speech.ts";

const model = "gemini-2.5-flash-preview-tts";

Deno.test("voice, language and how to say it go where the vendor reads them", () => {
  const { path, body, format } = generateSpeechCodec.encode(speechAsk(model, {
    voice: "puck",
    language: "de-CH",
    instructions: "Say cheerfully",
  }));
  assert.equal(path, `/models/${model}:generateContent`);
  assert.equal(format, "wav");
  assert.deepEqual(body, {
    contents: [{ role: "user", parts: [{ text: "Say cheerfully: Good morning." }] }],
    generationConfig: {
      responseModalities: ["AUDIO"],
      speechConfig: {
        voiceConfig: { prebuiltVoiceConfig: { voiceName: "Puck" } },
        languageCode: "de-CH",
      },
    },
  });
});

Deno.test("two speakers are a dialogue", () => {
  const speakers = [{ speaker: "Ada", voice: "Kore" }, { speaker: "Grace", voice: "Puck" }];
  const { body } = generateSpeechCodec.encode(speechAsk(model, { speakers }));
  const config = body.generationConfig as { speechConfig: Record<string, unknown> };
  assert.deepEqual(config.speechConfig, {
    multiSpeakerVoiceConfig: {
      speakerVoiceConfigs: speakers.map(({ speaker, voice }) => ({
        speaker,
        voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } },
      })),
    },
  });
  refused(
    () => generateSpeechCodec.encode(speechAsk(model, { speakers, instructions: "Whisper" })),
    "instructions",
  );
  refused(
    () =>
      generateSpeechCodec.encode(
        speechAsk(model, { speakers: [{ speaker: "Ada", voice: "alloy" }] }),
      ),
    "speakers[0].voice",
    "Kore",
  );
});

Deno.test("of an option in two spellings none is chosen", () => {
  const encode = (options: Record<string, unknown>) => () =>
    generateSpeechCodec.encode(speechAsk(model, { options }));
  const config = { temperature: 1 };
  refused(
    encode({ generationConfig: config, generation_config: config }),
    "provider_options.generation_config",
    "duplicate field",
  );
  refused(
    encode({ generation_config: { topK: 1, top_k: 2 } }),
    "provider_options.generation_config.top_k",
    "duplicate field",
  );
  const { generationConfig } = encode({ generation_config: { top_k: 2 } })().body;
  assert.equal((generationConfig as { topK?: number }).topK, 2);
});

Deno.test("what the model doesn't have is refused with what it has", () => {
  const encode = (more: Parameters<typeof speechAsk>[1]) => () =>
    generateSpeechCodec.encode(speechAsk(model, more));
  refused(encode({ voice: "alloy" }), "voice", "Kore", "Sulafat");
  refused(encode({ format: "mp3" }), "response_format", "wav, pcm");
  refused(encode({ sampleRate: 48_000 }), "sample_rate", "24000");
  refused(encode({ text: "x".repeat(32_001) }), "input", "32000");
  assert.deepEqual(generateSpeechCodec.encode(speechAsk(model, { speed: 2 })).losses, [
    { path: "speed", weight: "meaning" },
  ]);
  assert.deepEqual(generateSpeechCodec.encode(speechAsk(model, { sampleRate: 24_000 })).losses, []);
});

Deno.test("an answer's samples, type and usage are read, of several parts in a row", () => {
  const part = (data: string) => ({
    inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data },
  });
  const piece = generateSpeechCodec.read({
    candidates: [{ content: { parts: [part("AAA="), part("/w==")] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 50 },
  });
  assert.equal(piece.data, btoa("\u0000\u0000\u00ff"));
  assert.equal(piece.mimeType, "audio/L16;codec=pcm;rate=24000");
  assert.equal(piece.usage?.output, 50);
  assert.equal(piece.isLast, true);
});

Deno.test("a blocked text is a refusal, silence is nothing, an error is one", () => {
  assert(
    generateSpeechCodec.read({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }).refusal,
  );
  assert.equal(
    generateSpeechCodec.read({ candidates: [{ finishReason: "SAFETY" }] }).refusal,
    "SAFETY",
  );
  const silence = generateSpeechCodec.read({ candidates: [{ finishReason: "OTHER" }] });
  assert.deepEqual([silence.refusal, silence.data], [undefined, undefined]);
  assert(generateSpeechCodec.read({ error: { code: 503 } }).error);
});
