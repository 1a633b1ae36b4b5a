import { asString, isRecord } from "../../kernel/json.ts";
import { optionalField } from "../../kernel/fields.ts";
import {
  checkLength,
  chooseFormat,
  chooseVoice,
  refuseSpeakers,
  speechLosses,
} from "../../kernel/speech_checks.ts";
import type {
  EncodedSpeech,
  SpeechAsk,
  SpeechCodec,
  SpeechPiece,
} from "../../kernel/speech_codec.ts";
import { withOptions } from "../../kernel/vendor_options.ts";
import { reportedTokens } from "../../kernel/reported_tokens.ts";

/** OpenAI's `/audio/speech`, which defines this format. */
export const audioSpeech: SpeechCodec = {
  hasModel: (model) => /^tts-1|tts\b/.test(model),
  encode,
  read: readSpeechEvent,
  givesSamples: false,
};

const formats = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
const olderVoices = ["alloy", "ash", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer"];
const voices = [...olderVoices, "ballad", "verse", "marin", "cedar"].sort();
const maxChars = 4096;
const samplesPerSecond = 24_000;

const decided = ["model", "input", "voice", "response_format", "stream_format", "speed"];

function encode(ask: SpeechAsk): EncodedSpeech {
  checkLength(ask, maxChars);
  refuseSpeakers(ask);
  const format = chooseFormat(ask.format, formats);
  const isOlder = ask.model.startsWith("tts-1");
  const voice = typeof ask.voice === "object"
    ? ask.voice
    : chooseVoice(ask.voice ?? "alloy", isOlder ? olderVoices : voices);
  const body = withOptions(
    {
      model: ask.model,
      input: ask.text,
      voice,
      response_format: format,
      ...(isOlder ? {} : optionalField("instructions", ask.instructions)),
      ...optionalField("speed", ask.speed),
      // Only events report tokens; models priced by the character don't stream events.
      ...(isOlder ? {} : { stream_format: "sse" }),
    },
    ask.options,
    decided,
  );
  const hasRate = ask.sampleRate === samplesPerSecond;
  return {
    path: "/audio/speech",
    body,
    losses: speechLosses(ask, [
      "speed",
      ...(isOlder ? [] : ["instructions"] as const),
      ...(hasRate ? ["sampleRate"] as const : []),
    ]),
    format,
    sampleRate: samplesPerSecond,
  };
}

/** `speech.audio.delta` has audio, `speech.audio.done` the usage. */
function readSpeechEvent(event: unknown): SpeechPiece {
  if (!isRecord(event)) return {};
  if (isRecord(event.error)) return { error: event };
  // All output is audio.
  const usage = reportedTokens(event.usage, "input_tokens", "output_tokens");
  return {
    ...optionalField("data", asString(event.audio)),
    ...(event.type === "speech.audio.done" ? { isLast: true } : {}),
    ...optionalField("usage", usage && { ...usage, audioOutput: usage.output }),
  };
}
