import type { OperationExamples } from "./example.ts";
import { smallPicture, smallPictureUrl } from "./media.ts";

/** Models that the examples use, by family and then by operation. */
const models: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "vendor-a": {
    image: "black-forest-labs/FLUX.1-schnell",
    embedding: "Qwen/Qwen3-Embedding-8B",
  },
  "vendor-f": {
    image: "openai/gpt-5-image",
    speech: "openai/gpt-4o-mini-tts",
    embedding: "qwen/qwen3-embedding-8b",
  },
  "vendor-e": { embedding: "gemini-embedding-001" },
  "vendor-g": { image: "grok-imagine-image" },
  "chat": { embedding: "vendor-b/text-embedding-3-small" },
};

/** Returns examples for pictures, sound and vectors, by the operation's name without its family. */
export function operationExamples(prefix: string): Readonly<Record<string, OperationExamples>> {
  const model = (kind: string, usualModel: string) => models[prefix]?.[kind] ?? usualModel;
  return {
    ...imageExamples(prefix, model("image", "gpt-image-2")),
    ...audioExamples(prefix, model("speech", "gpt-4o-mini-tts")),
    createEmbedding: embeddingExamples(model("embedding", "text-embedding-3-small")),
    ...methodExamples(prefix === "chat" ? "vendor-d/" : ""),
  };
}

const usage = {
  input_tokens: 12,
  input_tokens_details: { text_tokens: 12, image_tokens: 0 },
  output_tokens: 1056,
  total_tokens: 1068,
};

function imageExamples(prefix: string, model: string): Readonly<Record<string, OperationExamples>> {
  const { imageFields, changed } = pictureRequests[prefix] ?? pictureRequests["vendor-b"]!;
  const answers = {
    whole: { created: 1795251600, data: [{ b64_json: smallPicture }], usage },
  };
  const events = (kind: string) => ({
    partial: { type: `${kind}.partial_image`, partial_image_index: 0, b64_json: smallPicture },
    end: { type: `${kind}.completed`, b64_json: smallPicture, usage },
  });
  const prompt = "Paint the door green.";
  return {
    createImage: {
      requests: Object.fromEntries(
        Object.entries(imageFields).map(([name, fields]) => [
          name,
          { model, prompt: "A red door.", ...fields },
        ]),
      ),
      answers,
      events: events("image_generation"),
    },
    createImageEdit: {
      requests: { whole: { model, prompt, ...changed } },
      forms: { whole: { model, prompt, size: "1024x1024", image: "door.png" } },
      answers,
      events: events("image_edit"),
    },
  };
}

/** The vendors' own fields besides model and prompt, such as those for sizes and input pictures. */
const pictureRequests: Readonly<
  Record<string, { imageFields: Readonly<Record<string, object>>; changed?: object }>
> = {
  "vendor-a": { imageFields: { whole: { width: 1024, height: 768, seed: 7 } } },
  "vendor-b": {
    imageFields: {
      whole: { size: "1024x1024", quality: "medium" },
      streamed: { stream: true, partial_images: 2, user: "u-42" },
    },
    changed: { images: [{ image_url: smallPictureUrl }], size: "1024x1024" },
  },
  "vendor-f": { imageFields: { whole: { aspect_ratio: "16:9", resolution: "1K" } } },
  "vendor-g": {
    imageFields: { whole: { aspect_ratio: "16:9", resolution: "1k", user: "u-42" } },
    changed: { image: { type: "image_url", url: smallPictureUrl } },
  },
};

const streamsSpeech: ReadonlySet<string> = new Set(["vendor-b"]);

function audioExamples(prefix: string, model: string): Readonly<Record<string, OperationExamples>> {
  const speech = { model, input: "Good morning.", voice: "coral" };
  return {
    createSpeech: {
      requests: {
        whole: { ...speech, response_format: "mp3" },
        ...(streamsSpeech.has(prefix) ? { events: { ...speech, stream_format: "sse" } } : {}),
      },
      events: {
        delta: { type: "speech.audio.delta", audio: "//uQxAAA" },
        end: {
          type: "speech.audio.done",
          usage: { input_tokens: 3, output_tokens: 25, total_tokens: 28 },
        },
      },
    },
    createTranscription: {
      forms: {
        whole: { model: "gpt-4o-transcribe", file: "words.mp3", language: "en" },
        streamed: { model: "gpt-4o-transcribe", file: "words.mp3", stream: "true" },
      },
      answers: {
        whole: {
          text: "Good morning.",
          usage: { type: "tokens", input_tokens: 14, output_tokens: 4, total_tokens: 18 },
        },
        timed: { text: "Good morning.", usage: { type: "duration", seconds: 2 } },
      },
      events: {
        delta: { type: "transcript.text.delta", delta: "Good " },
        end: { type: "transcript.text.done", text: "Good morning." },
      },
      texts: { "text/plain": "Good morning.\n" },
    },
    createTranslation: {
      forms: { whole: { model: "whisper-1", file: "words.mp3", response_format: "json" } },
      answers: { whole: { text: "Good morning." } },
      texts: { "text/plain": "Good morning.\n" },
    },
  };
}

function embeddingExamples(model: string): OperationExamples {
  const used = model.replace(/^vendor-b\//, "");
  const answer = (embedding: unknown) => ({
    object: "list",
    data: [{ object: "embedding", index: 0, embedding }],
    model: used,
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
  return {
    requests: {
      one: { model, input: "a red door" },
      several: { model, input: ["a red door", "a green door"], encoding_format: "base64" },
    },
    answers: { numbers: answer([0.0123, -0.0456]), packed: answer("tjNJPMG5Or0=") },
  };
}

const redDoor = { content: { parts: [{ text: "a red door" }] }, outputDimensionality: 768 };
const inPath = { model: "models/gemini-embedding-001" };

/** Returns examples of the generate dialect's methods, which have the model in the path. */
function methodExamples(provider: string): Readonly<Record<string, OperationExamples>> {
  const params = { model: `${provider}gemini-embedding-001` };
  return {
    predict: {
      params: { model: `${provider}imagen-4.0-generate-001` },
      requests: {
        whole: {
          instances: [{ prompt: "A red door." }],
          parameters: { sampleCount: 1, aspectRatio: "4:3" },
        },
      },
      answers: {
        whole: { predictions: [{ mimeType: "image/png", bytesBase64Encoded: smallPicture }] },
      },
    },
    embedContent: {
      params,
      requests: { one: redDoor },
      answers: { numbers: { embedding: { values: [0.0123, -0.0456] } } },
    },
    batchEmbedContents: {
      params,
      requests: { several: { requests: [{ ...inPath, ...redDoor }] } },
      answers: { numbers: { embeddings: [{ values: [0.0123, -0.0456] }] } },
    },
  };
}
