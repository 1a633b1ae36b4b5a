import type { MediaField } from "../../kernel/media_field.ts";

/** Inline pictures and documents; a document's source may be plain text too. */
export const mediaFields: readonly MediaField[] = [
  { parent: "source", key: "data", mimeType: "media_type", where: ["type", "base64"] },
];
