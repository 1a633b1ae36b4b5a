import type { MediaPart } from "../../kernel/canonical_request.ts";
import type { MediaField } from "../../kernel/media_field.ts";

/**
 * The fields with inline media: of requests, and of answers from models that produce images or
 * audio.
 */
export const mediaFields: readonly MediaField[] = [
  { parent: "image_url", key: "url", address: true },
  { key: "image_url", address: true },
  { parent: "video_url", key: "url", address: true },
  { parent: "input_audio", key: "data", audioFormat: "format" },
  { parent: "audio", key: "data", audioFormat: "format" },
  { parent: "file", key: "file_data", address: true },
];

/** Images and videos may be addresses; documents and audio must be data. */
export function mustInline({ kind }: MediaPart): boolean {
  return kind === "file" || kind === "audio";
}
