import { optionalField } from "../../kernel/fields.ts";
import { isRecord } from "../../kernel/json.ts";
import { chooseFormat, refuseSpeakers, speechLosses } from "../../kernel/speech_checks.ts";
import type { EncodedSpeech, SpeechAsk, SpeechCodec } from "../../kernel/speech_codec.ts";
import { withOptions } from "../../kernel/vendor_options.ts";

/** `/audio/speech` of OpenRouter: the voices depend on the model. */
export const aggregatedSpeech: SpeechCodec = {
  hasModel: () => true,
  encode,
  read: (json) => isRecord(json) && isRecord(json.error) ? { error: json } : {},
  givesSamples: false,
};

const decided = ["model", "input", "voice", "response_format", "speed"];

function encode(ask: SpeechAsk): EncodedSpeech {
  refuseSpeakers(ask);
  const format = chooseFormat(ask.format, ["mp3", "pcm"]);
  const voice = typeof ask.voice === "object" ? ask.voice.id : ask.voice;
  const body = withOptions(
    {
      model: ask.model,
      input: ask.text,
      ...optionalField("voice", voice),
      response_format: format,
      ...optionalField("speed", ask.speed),
    },
    ask.options,
    decided,
  );
  return {
    path: "/audio/speech",
    body,
    losses: speechLosses(ask, ["speed"]),
    format,
    sampleRate: format === "pcm" ? 24_000 : undefined,
  };
}
