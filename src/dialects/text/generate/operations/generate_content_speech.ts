import { joinBytes } from "../../../../base/bytes.ts";
import { invalidValue, unreadableAnswer } from "../../../../shared/fault.ts";
import { optionalField } from "../../../kernel/fields.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { base64Bytes } from "../../../kernel/media_source.ts";
import { notAllowed } from "../../../kernel/picture_shape.ts";
import {
  checkLength,
  chooseFormat,
  chooseVoice,
  speechLosses,
} from "../../../kernel/speech_checks.ts";
import type {
  EncodedSpeech,
  SpeechAsk,
  SpeechCodec,
  SpeechPiece,
} from "../../../kernel/speech_codec.ts";
import { withOptions } from "../../../kernel/vendor_options.ts";
import { isBlocked, readFinishReason } from "../finish_reason.ts";
import { hostedWork } from "../hosted.ts";
import { upstreamPath } from "../models.ts";
import { camelNames } from "../request/fields.ts";
import { readUsage } from "../usage.ts";

export const generateSpeechCodec: SpeechCodec = {
  hasModel: (model) => /\btts\b/.test(model),
  hostedWork,
  encode,
  read,
  givesSamples: true,
  // 25 a second.
  tokensPerMinute: 1500,
};

const voices = ["Zephyr", "Puck", "Charon", "Kore", "Fenrir", "Leda", "Orus", "Aoede"]
  .concat(["Callirrhoe", "Autonoe", "Enceladus", "Iapetus", "Umbriel", "Algieba", "Despina"])
  .concat(["Erinome", "Algenib", "Rasalgethi", "Laomedeia", "Achernar", "Alnilam", "Schedar"])
  .concat(["Gacrux", "Pulcherrima", "Achird", "Zubenelgenubi", "Vindemiatrix", "Sadachbia"])
  .concat(["Sadaltager", "Sulafat"]);
/** The models' context is 32,000 tokens, and a character takes at most one. */
const maxChars = 32_000;
/** The vendor's sample rate, unless its answer names another. */
const samplesPerSecond = 24_000;

const decided = ["contents", "generationConfig.responseModalities"]
  .concat(["generationConfig.speechConfig", "generationConfig.candidateCount"]);

function encode(ask: SpeechAsk): EncodedSpeech {
  checkLength(ask, maxChars);
  if (ask.sampleRate !== undefined && ask.sampleRate !== samplesPerSecond) {
    throw notAllowed("sample_rate", "this model supports", [String(samplesPerSecond)]);
  }
  const format = chooseFormat(ask.format, ["wav", "pcm"]);
  const body = withOptions(
    {
      contents: [{ role: "user", parts: [{ text: textOf(ask) }] }],
      generationConfig: {
        responseModalities: ["AUDIO"],
        speechConfig: { ...voicesOf(ask), ...optionalField("languageCode", ask.language) },
      },
    },
    camelNames(ask.options),
    decided,
  );
  return {
    path: upstreamPath(ask.model, ask.stream),
    body,
    losses: speechLosses(ask, ["instructions", "language", "sampleRate"]),
    format,
    sampleRate: samplesPerSecond,
  };
}

/** Instructions precede the text in this dialect. */
function textOf({ text, instructions, speakers }: SpeechAsk): string {
  if (instructions === undefined) return text;
  if (speakers.length === 0) return `${instructions}: ${text}`;
  throw invalidValue(
    "instructions",
    "can't be combined with speakers; describe in the text how each one speaks",
  );
}

function voicesOf({ voice, speakers }: SpeechAsk): JsonRecord {
  if (speakers.length === 0) {
    if (typeof voice === "object") throw notAllowed("voice", "this model has the voices", voices);
    return { voiceConfig: prebuilt(chooseVoice(voice ?? "Kore", voices)) };
  }
  const speakerVoiceConfigs = speakers.map((one, index) => ({
    speaker: one.speaker,
    voiceConfig: prebuilt(chooseVoice(one.voice, voices, `speakers[${index}].voice`)),
  }));
  // The form for several speakers requires two.
  return speakers.length === 1
    ? { voiceConfig: speakerVoiceConfigs[0]!.voiceConfig }
    : { multiSpeakerVoiceConfig: { speakerVoiceConfigs } };
}

function prebuilt(voiceName: string): JsonRecord {
  return { prebuiltVoiceConfig: { voiceName } };
}

function read(json: unknown): SpeechPiece {
  if (!isRecord(json)) return {};
  if (isRecord(json.error)) return { error: json };
  const [candidate] = recordsIn(json.candidates);
  const parts = recordsIn(asRecord(candidate?.content).parts);
  const sounds = parts.flatMap((part) => isRecord(part.inlineData) ? [part.inlineData] : []);
  const feedback = asRecord(json.promptFeedback);
  const finish = asString(candidate?.finishReason);
  const refusal = isBlocked(feedback.blockReason)
    ? asString(feedback.blockReasonMessage) ?? `prompt: ${feedback.blockReason}`
    : finish !== undefined && readFinishReason(finish, false) === "content_filter"
    ? asString(candidate?.finishMessage) ?? finish
    : undefined;
  return {
    ...optionalField("data", joined(sounds.flatMap(({ data }) => asString(data) ?? []))),
    ...optionalField("mimeType", asString(sounds[0]?.mimeType)),
    ...optionalField("usage", readUsage(json.usageMetadata)),
    ...(finish === undefined ? {} : { isLast: true }),
    ...optionalField("refusal", sounds.length > 0 ? undefined : refusal),
  };
}

/** The pieces joined, as base64. */
function joined(pieces: readonly string[]): string | undefined {
  if (pieces.length <= 1) return pieces[0];
  return joinBytes(pieces.map(bytesOf)).toBase64();
}

function bytesOf(piece: string): Uint8Array {
  const bytes = base64Bytes(piece);
  if (bytes) return bytes;
  throw unreadableAnswer("audio that isn't base64");
}
