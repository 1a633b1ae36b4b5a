import type { MediaField } from "../../kernel/media_field.ts";

/** Inline media in requests, in tool outputs, and in images that the model generated. */
export const mediaFields: readonly MediaField[] = [
  { key: "image_url", address: true },
  { parent: "image_url", key: "url", address: true },
  { key: "file_data", address: true },
  { parent: "input_audio", key: "data", audioFormat: "format" },
  { key: "result", where: ["type", "image_generation_call"] },
];
