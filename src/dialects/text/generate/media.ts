import type { MediaPart } from "../../kernel/canonical_request.ts";
import type { MediaField } from "../../kernel/media_field.ts";

/** Inline media in parts of requests and answers, in both spellings that the vendor accepts. */
export const mediaFields: readonly MediaField[] = [
  { parent: "inlineData", key: "data", mimeType: "mimeType" },
  { parent: "inline_data", key: "data", mimeType: "mime_type" },
];

/** Only files stored at the vendor, and videos that it fetches itself, may be addresses. */
export function mustInline(_part: MediaPart, url: string): boolean {
  return !staysAddress(url);
}

export function staysAddress(url: string): boolean {
  return isOwnFile(url) || isVideoAddress(url);
}

export function isOwnFile(uri: string): boolean {
  return uri.startsWith("gs://") ||
    /^https:\/\/generativelanguage\.googleapis\.com\/(.*\/)?files\//.test(uri);
}

export function isVideoAddress(url: string): boolean {
  return /^https:\/\/(www\.|m\.)?(youtube\.com\/|youtu\.be\/)/.test(url);
}
