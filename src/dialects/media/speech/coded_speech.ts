import { optionalField } from "../../kernel/fields.ts";
import { asString, isRecord } from "../../kernel/json.ts";
import {
  checkLength,
  chooseFormat,
  refuseSpeakers,
  speechLosses,
} from "../../kernel/speech_checks.ts";
import type { EncodedSpeech, SpeechAsk, SpeechCodec } from "../../kernel/speech_codec.ts";
import { withOptions } from "../../kernel/vendor_options.ts";

/** `/tts` with a codec instead of a format, and no models to choose from. */
export const codedSpeech: SpeechCodec = {
  hasModel: (model) => model === "tts",
  encode,
  read: (json) =>
    !isRecord(json)
      ? {}
      : isRecord(json.error)
      ? { error: json }
      : optionalField("data", asString(json.audio)),
  givesSamples: false,
};

const formats = ["mp3", "wav", "pcm"] as const;
const maxChars = 15_000;
const usualRate = 24_000;

const decided = ["text", "voice_id", "output_format", "speed", "with_timestamps", "replace"];

function encode(ask: SpeechAsk): EncodedSpeech {
  checkLength(ask, maxChars);
  refuseSpeakers(ask);
  const format = chooseFormat(ask.format, formats);
  const voice = typeof ask.voice === "object" ? ask.voice.id : ask.voice ?? "eve";
  const body = withOptions(
    {
      text: ask.text,
      voice_id: voice,
      language: ask.language ?? "auto",
      output_format: { codec: format, ...optionalField("sample_rate", ask.sampleRate) },
      ...optionalField("speed", ask.speed),
    },
    ask.options,
    decided,
  );
  return {
    path: "/tts",
    body,
    losses: speechLosses(ask, ["speed", "language", "sampleRate"]),
    format,
    sampleRate: ask.sampleRate ?? usualRate,
  };
}
