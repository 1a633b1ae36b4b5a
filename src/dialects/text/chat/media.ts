import type { MediaField } from "../../kernel/media_field.ts";

/** Inline media in requests, and in answers of models that draw or speak. */
export const chatMediaFields: readonly MediaField[] = [
  { parent: "image_url", key: "url", address: true },
  { key: "image_url", address: true },
  { parent: "video_url", key: "url", address: true },
  { parent: "input_audio", key: "data", audioFormat: "format" },
  { parent: "audio", key: "data", audioFormat: "format" },
  { parent: "file", key: "file_data", address: true },
];
