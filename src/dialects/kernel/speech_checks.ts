import { characters } from "../../base/characters.ts";
import { Fault, invalidValue } from "../../shared/fault.ts";
import type { Loss, LossWeight } from "./canonical_request.ts";
import { unsupportedLosses } from "./image_losses.ts";
import { notAllowed } from "./picture_shape.ts";
import type { SoundFormat, SpeechAsk } from "./speech_codec.ts";

/** Throws `invalid_value` for a text with more code points than the model accepts. */
export function checkLength({ text, model }: SpeechAsk, most: number): void {
  if (text.length <= most || characters(text) <= most) return;
  throw invalidValue(
    "input",
    `at most ${most} characters for ${model}; split the text into several requests`,
  );
}

/** The requested format, by default the first. Throws `invalid_value` with the allowed ones. */
export function chooseFormat(
  asked: SoundFormat | undefined,
  formats: readonly [SoundFormat, ...SoundFormat[]],
): SoundFormat {
  if (asked === undefined) return formats[0];
  if (formats.includes(asked)) return asked;
  throw notAllowed("response_format", "this model supports", formats);
}

/**
 * The voice in the vendor's spelling, ignoring case. Throws `invalid_value` with the allowed ones.
 */
export function chooseVoice(asked: string, voices: readonly string[], field = "voice"): string {
  const voice = voices.find((one) => one.toLowerCase() === asked.toLowerCase());
  if (voice !== undefined) return voice;
  throw notAllowed(field, "this model has the voices", voices);
}

const fields = {
  instructions: ["instructions", "meaning"],
  speed: ["speed", "meaning"],
  language: ["language", "meaning"],
  sampleRate: ["sample_rate", "meaning"],
  user: ["user", "hint"],
} as const satisfies Partial<Record<keyof SpeechAsk, readonly [string, LossWeight]>>;

/** The fields of the request that this vendor can't carry. */
export function speechLosses(ask: SpeechAsk, carried: readonly (keyof typeof fields)[]): Loss[] {
  return unsupportedLosses(ask, fields, carried);
}

/** Refuses several speakers, for a vendor with one voice per call. */
export function refuseSpeakers({ speakers, model }: SpeechAsk): void {
  if (speakers.length === 0) return;
  throw new Fault("unsupported_parameter", {
    param: "speakers",
    message: `speakers: ${model} supports one speaker; gemini models of vendor-d support two.`,
  });
}
