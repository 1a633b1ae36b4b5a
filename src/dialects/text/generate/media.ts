import type { MediaField } from "../../kernel/media_field.ts";

/** Inline media in parts, of requests and answers, in both spellings that the vendor takes. */
export const generateMediaFields: readonly MediaField[] = [
  { parent: "inlineData", key: "data", mimeType: "mimeType" },
  { parent: "inline_data", key: "data", mimeType: "mime_type" },
];
