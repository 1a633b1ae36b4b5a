import { generateImageCodec } from "../dialects/text/generate/operations/image_codec.ts";
import { generateSpeechCodec } from "../dialects/text/generate/operations/generate_content_speech.ts";
import type { ImageCodec } from "../dialects/kernel/image_codec.ts";
import { aggregated } from "../dialects/media/images/aggregated.ts";
import { generations } from "../dialects/media/images/generations.ts";
import { hosted } from "../dialects/media/images/hosted.ts";
import { ratioGenerations } from "../dialects/media/images/ratio_generations.ts";
import { aggregatedSpeech } from "../dialects/media/speech/aggregated_speech.ts";
import { audioSpeech } from "../dialects/media/speech/audio_speech.ts";
import { codedSpeech } from "../dialects/media/speech/coded_speech.ts";
import type { SpeechCodec } from "../dialects/kernel/speech_codec.ts";

/** A vendor's codec for images or speech, and its models for them. */
export interface MediaRoute<Codec> {
  readonly codec: Codec;
  /** For error messages; the first is the default for requests that name none. */
  readonly models: readonly string[];
}

interface MediaRoutes {
  readonly hasNestedNames: boolean;
  readonly images: MediaRoute<ImageCodec> | undefined;
  readonly speech: MediaRoute<SpeechCodec> | undefined;
}

/** For vendors with neither images nor speech. */
export const noMedia: MediaRoutes = { hasNestedNames: false, images: undefined, speech: undefined };

/** For chat-style vendors that an operator adds, whatever models they host. */
export const hostMedia: MediaRoutes = {
  hasNestedNames: true,
  images: { codec: hosted, models: [] },
  speech: { codec: aggregatedSpeech, models: [] },
};

/** Those of the seven vendors that have images or speech (docs/images-and-speech.md). */
export const mediaRouteTable = {
  "vendor-a": {
    hasNestedNames: true,
    images: {
      codec: hosted,
      models: ["black-forest-labs/FLUX.1-schnell", "black-forest-labs/FLUX.1-dev"],
    },
    speech: undefined,
  },
  "vendor-b": {
    hasNestedNames: false,
    images: {
      codec: generations,
      models: ["gpt-image-2", "gpt-image-1.5", "dall-e-3", "dall-e-2"],
    },
    speech: { codec: audioSpeech, models: ["gpt-4o-mini-tts", "tts-1", "tts-1-hd"] },
  },
  "vendor-d": {
    hasNestedNames: false,
    images: {
      codec: generateImageCodec,
      models: [
        "gemini-2.5-flash-image",
        "gemini-3-pro-image-preview",
        "imagen-4.0-generate-001",
        "imagen-4.0-fast-generate-001",
        "imagen-4.0-ultra-generate-001",
      ],
    },
    speech: {
      codec: generateSpeechCodec,
      models: ["gemini-2.5-flash-preview-tts", "gemini-2.5-pro-preview-tts"],
    },
  },
  "vendor-f": {
    hasNestedNames: true,
    images: {
      codec: aggregated,
      models: ["google/gemini-2.5-flash-image", "openai/gpt-5-image-mini"],
    },
    speech: { codec: aggregatedSpeech, models: ["openai/gpt-4o-mini-tts"] },
  },
  "vendor-g": {
    hasNestedNames: false,
    images: {
      codec: ratioGenerations,
      models: ["grok-imagine-image", "grok-imagine-image-quality"],
    },
    speech: { codec: codedSpeech, models: ["tts"] },
  },
} satisfies Record<string, MediaRoutes>;
