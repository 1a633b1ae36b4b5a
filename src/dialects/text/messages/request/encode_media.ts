import { Buffer } from "node:buffer";
import type { Loss, MediaPart } from "../../../kernel/canonical_request.ts";
import { leftOutNote, loseMediaFields } from "../../../kernel/media_source.ts";

type Block = Record<string, unknown>;

/**
 * Writes media as a block. Media that the dialect has no block for is a loss; a note takes its
 * place, so that a lenient call still makes sense to the model.
 */
export function writeMedia(part: MediaPart, losses: Loss[]): Block {
  // Only documents have a title.
  loseMediaFields(part, { name: part.kind === "file", detail: false }, losses);
  const block = part.source.type === "base64"
    ? writeData(part, part.source)
    : part.source.type === "url"
    ? writeAddress(part, part.source)
    : undefined;
  return block ?? leaveOut(part, losses);
}

/**
 * Reports media as a loss and returns a note in its place. Used for media in an assistant turn too,
 * where the dialect allows none.
 */
export function leaveOut(part: MediaPart, losses: Loss[]): Block {
  losses.push({ path: part.path, weight: "meaning" });
  return { type: "text", text: leftOutNote(part) };
}

const imageTypes: ReadonlySet<string> = new Set([
  "image/jpeg",
  "image/png",
  "image/gif",
  "image/webp",
]);

function writeData(part: MediaPart, source: { mimeType: string; data: string }): Block | undefined {
  const { mimeType, data } = source;
  if (imageTypes.has(mimeType)) {
    return { type: "image", source: { type: "base64", media_type: mimeType, data } };
  }
  if (mimeType === "application/pdf") {
    return document(part, { type: "base64", media_type: mimeType, data });
  }
  if (isText(mimeType) && part.kind === "file") {
    const text = Buffer.from(data, "base64").toString();
    return document(part, { type: "text", media_type: "text/plain", data: text });
  }
  return undefined;
}

function writeAddress(
  part: MediaPart,
  source: { url: string; mimeType: string | undefined },
): Block | undefined {
  const { url, mimeType } = source;
  if (!/^https?:\/\//i.test(url)) return undefined;
  const isImage = mimeType === undefined ? part.kind === "image" : mimeType.startsWith("image/");
  if (isImage) return { type: "image", source: { type: "url", url } };
  const isPdf = mimeType === undefined ? part.kind === "file" : mimeType === "application/pdf";
  if (isPdf) return document(part, { type: "url", url });
  // An image part without a specific type is still an image.
  return part.kind === "image" && mimeType === "application/octet-stream"
    ? { type: "image", source: { type: "url", url } }
    : undefined;
}

function document(part: MediaPart, source: Block): Block {
  return { type: "document", source, ...(part.name === undefined ? {} : { title: part.name }) };
}

function isText(mimeType: string): boolean {
  return /^text\/|^application\/(json|xml|yaml|x-yaml|javascript|csv|toml|sql|x-ndjson)$|\+(json|xml)$/
    .test(mimeType);
}
