import type { SpeechAsk } from "../../src/dialects/kernel/speech_codec.ts";

/** A request with a text and nothing else. */
export function speechAsk(model: string, more: Partial<SpeechAsk> = {}): SpeechAsk {
  return {
    model,
    text: "Good morning.",
    voice: undefined,
    instructions: undefined,
    format: undefined,
    speed: undefined,
    language: undefined,
    sampleRate: undefined,
    speakers: [],
    user: undefined,
    stream: false,
    options: {},
    ...more,
  };
}
