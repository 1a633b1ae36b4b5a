import type { OperationExamples } from "./example.ts";

/** One red pixel as a PNG: short in the document, but still a valid picture. */
export const smallPicture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mM4oKAAAAKkAQHdsXSBAAAAAElFTkSuQmCC";

export const smallPictureUrl = `data:image/png;base64,${smallPicture}`;

/** Examples of pictures and speech, with shortened files. */
export const mediaExamples: Readonly<Record<string, OperationExamples>> = {
  generateImage: {
    requests: {
      drawn: {
        provider: "vendor-b",
        model: "gpt-image-2",
        prompt: "A lighthouse at dusk, in watercolour",
        size: "1536x1024",
        quality: "medium",
        response_format: "url",
      },
      changed: {
        provider: "vendor-d",
        prompt: "The same by night",
        aspect_ratio: "16:9",
        images: [smallPictureUrl],
      },
      streamed: {
        model: "vendor-b/gpt-image-2",
        prompt: "A lighthouse at dusk",
        stream: true,
        partial_images: 2,
      },
    },
    answers: {
      address: {
        created: 1795251600,
        provider: "vendor-b",
        model: "gpt-image-2",
        data: [{
          url:
            "http://127.0.0.1:8787/api/v1/media/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08?expires=1795255200&signature=1.3q2-7w",
          mime_type: "image/png",
          width: 1536,
          height: 1024,
          index: 0,
        }],
        filtered_count: 0,
        usage: {
          images: 1,
          input_tokens: 14,
          output_tokens: 1568,
          total_tokens: 1582,
        },
        cost_usd: "0.047110000",
      },
    },
    events: {
      partial: {
        type: "image_generation.partial_image",
        partial_image_index: 0,
        b64_json: smallPicture,
      },
      end: {
        type: "image_generation.completed",
        b64_json: smallPicture,
        usage: { input_tokens: 14, output_tokens: 1568, total_tokens: 1582 },
      },
    },
  },
  generateSpeech: {
    requests: {
      spoken: { provider: "vendor-b", input: "Good morning.", voice: "alloy" },
      dialogue: {
        provider: "vendor-d",
        input: "Ada: Did it run?\nGrace: At the first try.",
        speakers: [{ speaker: "Ada", voice: "Kore" }, { speaker: "Grace", voice: "Puck" }],
        response_format: "wav",
      },
      streamed: { model: "vendor-g/tts", input: "Good morning.", stream: true },
    },
    answers: {
      spoken: {
        provider: "vendor-b",
        model: "gpt-4o-mini-tts",
        audio: { data: "//PExAAAAAAA", format: "mp3", mime_type: "audio/mpeg", sample_rate: 24000 },
        usage: { characters: 13, input_tokens: 4, output_tokens: 21 },
        cost_usd: "0.000254400",
      },
    },
    texts: Object.fromEntries(
      ["audio/mpeg", "audio/ogg", "audio/aac", "audio/flac", "audio/wav", "audio/L16"]
        .map((type) => [type, "(the file)"]),
    ),
  },
};
