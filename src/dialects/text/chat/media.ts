import type { MediaPart } from "../../kernel/canonical_request.ts";
import type { MediaField } from "../../kernel/media_field.ts";

/** Inline media in requests, and in answers of models that draw or speak. */
export const mediaFields: readonly MediaField[] = [
  { parent: "image_url", key: "url", address: true },
  { key: "image_url", address: true },
  { parent: "video_url", key: "url", address: true },
  { parent: "input_audio", key: "data", audioFormat: "format" },
  { parent: "audio", key: "data", audioFormat: "format" },
  { parent: "file", key: "file_data", address: true },
];

/** Pictures and videos go by address; documents and sound only as data. */
export function mustInline({ kind }: MediaPart): boolean {
  return kind === "file" || kind === "audio";
}
