/** The generate vendor's speech models: raw samples, whole or in pieces. */
import { generateScript } from "./generate.ts";
import { answerStream, answerWhole } from "./answers.ts";
import { readBehaviours, withoutMagicWords } from "./behaviours.ts";
import { admit, bodyOf, type Exchange } from "./exchange.ts";
import { badRequest, readMessage } from "./generate_proto.ts";
import { asArray, asObject, asText, type JsonObject, objectsIn } from "./json.ts";
import { toBase64 } from "./media.ts";
import { SAMPLE_RATE, secondsToSay, sound } from "./samples/mod.ts";
import { countPromptTokens } from "./tokens.ts";

export const SPEAKING_MODELS = ["gemini-2.5-flash-preview-tts", "gemini-2.5-pro-preview-tts"];

const VOICES = ["Zephyr", "Puck", "Charon", "Kore", "Fenrir", "Leda", "Orus", "Aoede"];
const OTHER_VOICES = ["Callirrhoe", "Autonoe", "Enceladus", "Iapetus", "Umbriel", "Algieba"];
const TOKENS_PER_SECOND = 25;
const PIECE_BYTES = 24_000;

/** Returns an answer of a speech model; undefined if `name` is no such model. */
export async function speakContent(
  exchange: Exchange,
  name: string,
  isStream: boolean,
): Promise<Response | undefined> {
  if (!SPEAKING_MODELS.includes(name)) return undefined;
  const request = readMessage(bodyOf(exchange), "GenerateContentRequest", "");
  check(request);
  const prompt = objectsIn(request.contents).flatMap((content) => objectsIn(content.parts))
    .map((part) => asText(part.text)).join("\n");
  const behaviours = readBehaviours(prompt, exchange.state.label);
  await admit(exchange, behaviours, prompt);
  const input = countPromptTokens(request.contents);
  const said = withoutMagicWords(prompt);
  const seconds = secondsToSay(said);
  const output = Math.ceil(seconds * TOKENS_PER_SECOND);
  const usage = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: output }],
    totalTokenCount: input + output,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: input }],
  };
  const wrap = (candidate: JsonObject, more: JsonObject = {}) => ({
    candidates: [{ ...candidate, index: 0 }],
    modelVersion: name,
    ...more,
  });
  if (behaviours.refusal !== null) {
    return answerWhole(exchange, behaviours, {
      promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
      usageMetadata: { promptTokenCount: input, totalTokenCount: input },
    });
  }
  // The real vendor sometimes answers without any audio.
  if (prompt.includes("[silent]")) {
    return answerWhole(exchange, behaviours, wrap({ finishReason: "OTHER" }));
  }
  const samples = sound("pcm", seconds, said);
  const part = (from: number, to: number) => ({
    content: {
      role: "model",
      parts: [{
        inlineData: {
          mimeType: `audio/L16;codec=pcm;rate=${SAMPLE_RATE}`,
          data: toBase64(samples.subarray(from, to)),
        },
      }],
    },
  });
  if (!isStream) {
    const whole = wrap({ ...part(0, samples.length), finishReason: "STOP" }, {
      usageMetadata: usage,
    });
    return answerWhole(exchange, behaviours, whole);
  }
  const pieces = Array.from(
    { length: Math.ceil(samples.length / PIECE_BYTES) },
    (_, index) => wrap(part(index * PIECE_BYTES, (index + 1) * PIECE_BYTES)),
  );
  const elements = [...pieces, wrap({ finishReason: "STOP" }, { usageMetadata: usage })];
  return answerStream(exchange, behaviours, generateScript(elements, true));
}

function check(request: JsonObject): void {
  const config = asObject(request.generationConfig) ?? {};
  const speech = asObject(config.speechConfig) ?? {};
  if (request.systemInstruction || request.tools) {
    throw badRequest("Developer instruction and tools are not enabled for this model.");
  }
  if (asArray(config.responseModalities).join() !== "AUDIO") {
    throw badRequest("The requested combination of response modalities is not supported: AUDIO.");
  }
  const several = objectsIn(asObject(speech.multiSpeakerVoiceConfig)?.speakerVoiceConfigs);
  if (speech.multiSpeakerVoiceConfig && several.length !== 2) {
    throw badRequest("The number of enabled_voices must equal 2.");
  }
  for (const { voiceConfig } of [...several, speech]) {
    const prebuilt = asObject(asObject(voiceConfig)?.prebuiltVoiceConfig);
    if (!prebuilt) continue;
    const known = [...VOICES, ...OTHER_VOICES].map((voice) => voice.toLowerCase());
    if (!known.includes(asText(prebuilt.voiceName).toLowerCase())) {
      throw badRequest(`Voice name ${prebuilt.voiceName} is not supported.`);
    }
  }
}
