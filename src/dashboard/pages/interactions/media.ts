import { Buffer } from "node:buffer";
import type { ShownPart, Transcript } from "../../../records/transcript.ts";

export type MediaPart = Extract<ShownPart, { type: "media" }>;

/** Addresses of media for a page: all at our own origin, as the content policy requires. */
export type MediaAddresses = ReadonlyMap<MediaPart, string>;

/** Returns the addresses of all media that we store; others are at vendors or elsewhere. */
export function mediaAddresses(
  transcript: Transcript,
  address: { sign: (sha256: string) => string; inline: (index: number) => string },
): MediaAddresses {
  const addresses = new Map<MediaPart, string>();
  for (const [index, part] of mediaOf(transcript).entries()) {
    const { source } = part;
    if (source.type === "stored") addresses.set(part, address.sign(source.sha256));
    if (source.type === "inline") addresses.set(part, address.inline(index));
  }
  return addresses;
}

/** Returns a medium that is inline in the payload; undefined if there is none at the index. */
export function inlineMedia(
  transcript: Transcript,
  index: string,
): { bytes: Uint8Array<ArrayBuffer>; type: string; isShown: boolean } | undefined {
  if (!/^\d{1,6}$/.test(index)) return undefined;
  const part = mediaOf(transcript)[Number(index)];
  if (part?.source.type !== "inline") return undefined;
  const isShown = isShowable(part.mimeType) || isAudible(part.mimeType);
  return {
    bytes: new Uint8Array(Buffer.from(part.source.data, "base64")),
    type: isShown ? part.mimeType! : "application/octet-stream",
    isShown,
  };
}

/** Whether a browser may show the type: images without scripts, since the bytes aren't trusted. */
export function isShowable(mimeType: string | undefined): boolean {
  return /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(mimeType ?? "");
}

export function isAudible(mimeType: string | undefined): boolean {
  return /^audio\/[\w.+-]+$/.test(mimeType ?? "");
}

/** Returns all media in the order of the conversation. */
function mediaOf({ request, answers }: Transcript): MediaPart[] {
  const parts = [...request?.turns ?? [], ...answers ?? []].flatMap((one) => one.parts);
  return parts.flatMap((part) => part.type === "tool-result" ? part.parts : [part])
    .filter((part) => part.type === "media");
}
