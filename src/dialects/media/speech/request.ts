import type { z } from "zod";
import type { speechRequest } from "../../../../contracts/media/speech.ts";
import { Fault, invalidValue } from "../../../shared/fault.ts";
import { cutPromptTags, type PromptTags } from "../../../shared/prompt_tags.ts";
import type { JsonRecord } from "../../kernel/json.ts";
import type { SpeechAsk } from "../../kernel/speech_codec.ts";

export type SpeechBody = z.output<typeof speechRequest>;

/**
 * Reads a request that has passed the contract, for this model; the options are for its vendor.
 * Throws a Fault for missing or contradicting fields.
 */
export function readSpeechRequest(
  body: SpeechBody,
  target: { model: string; options: JsonRecord },
): SpeechAsk & { readonly tags: PromptTags } {
  const text = body.input ?? body.text;
  if (text == null) {
    throw new Fault("missing_required_field", { param: "input", message: "input: required." });
  }
  if (body.text != null && body.text !== text) {
    throw invalidValue("text", "expected the same as input, or only one of them");
  }
  if (body.voice != null && body.speakers != null) {
    throw invalidValue("voice", "expected one voice, or speakers with a voice each, not both");
  }
  return {
    ...target,
    ...cutPromptTags(text, body.input == null ? "text" : "input"),
    voice: body.voice ?? undefined,
    instructions: body.instructions ?? undefined,
    format: body.response_format ?? undefined,
    speed: body.speed == null || body.speed === 1 ? undefined : body.speed,
    language: body.language ?? undefined,
    sampleRate: body.sample_rate ?? undefined,
    speakers: body.speakers ?? [],
    user: body.user ?? undefined,
    stream: body.stream === true,
  };
}
