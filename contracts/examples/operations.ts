import type { OperationExamples } from "./example.ts";

/** Models that the examples name, by family and then by operation. */
const models: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "vendor-a": {
    image: "black-forest-labs/FLUX.2-dev",
    embedding: "Qwen/Qwen3-Embedding-8B",
  },
  "vendor-f": {
    image: "openai/gpt-5-image",
    speech: "openai/gpt-4o-mini-tts",
    embedding: "openai/text-embedding-3-small",
  },
  "vendor-e": { embedding: "gemini-embedding-001" },
  "vendor-g": { image: "grok-2-image" },
  "chat": { embedding: "vendor-b/text-embedding-3-small" },
};

/** Examples of calls for pictures, sound and vectors, by the operation's name without its family. */
export function operationExamples(prefix: string): Readonly<Record<string, OperationExamples>> {
  const model = (kind: string, usual: string) => models[prefix]?.[kind] ?? usual;
  return {
    ...imageExamples(model("image", "gpt-image-2")),
    ...audioExamples(model("speech", "gpt-4o-mini-tts")),
    createEmbedding: embeddingExamples(model("embedding", "text-embedding-3-small")),
  };
}

const usage = {
  input_tokens: 12,
  input_tokens_details: { text_tokens: 12, image_tokens: 0 },
  output_tokens: 1056,
  total_tokens: 1068,
};

function imageExamples(model: string): Readonly<Record<string, OperationExamples>> {
  const picture = "iVBORw0KGgo=";
  const answers = {
    whole: { created: 1795251600, data: [{ b64_json: picture }], usage },
  };
  const events = (kind: string) => ({
    partial: { type: `${kind}.partial_image`, partial_image_index: 0, b64_json: picture },
    end: { type: `${kind}.completed`, b64_json: picture, usage },
  });
  const edit = { model, prompt: "Paint the door green.", size: "1024x1024" };
  return {
    createImage: {
      requests: {
        whole: { model, prompt: "A red door.", size: "1024x1024", quality: "medium" },
        streamed: { model, prompt: "A red door.", stream: true, partial_images: 2, user: "u-42" },
      },
      answers,
      events: events("image_generation"),
    },
    createImageEdit: {
      requests: {
        whole: { ...edit, image: { type: "image_url", url: "https://example.com/door.png" } },
      },
      forms: { whole: { ...edit, image: "door.png" } },
      answers,
      events: events("image_edit"),
    },
  };
}

function audioExamples(model: string): Readonly<Record<string, OperationExamples>> {
  return {
    createSpeech: {
      requests: {
        whole: { model, input: "Good morning.", voice: "coral", response_format: "mp3" },
        events: { model, input: "Good morning.", voice: "coral", stream_format: "sse" },
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
