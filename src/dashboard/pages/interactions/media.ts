import { Buffer } from "node:buffer";
import type { ShownPart, Transcript } from "../../../records/transcript.ts";

export type MediaPart = Extract<ShownPart, { type: "media" }>;

/** Where a page finds a medium: an address of our own, as the content policy wants it. */
export type MediaAddresses = ReadonlyMap<MediaPart, string>;

/** Addresses of all media that we hold; others are at vendors or elsewhere. */
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

/** Bytes of the medium that stands in the payload itself. */
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

/** Types that hold nothing a browser would run; the bytes come from anybody. */
export function isShowable(mimeType: string | undefined): boolean {
  return /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(mimeType ?? "");
}

export function isAudible(mimeType: string | undefined): boolean {
  return /^audio\/[\w.+-]+$/.test(mimeType ?? "");
}

/** In the order in which they were said. */
function mediaOf({ request, answers }: Transcript): MediaPart[] {
  const parts = [...request?.turns ?? [], ...answers ?? []].flatMap((one) => one.parts);
  return parts.flatMap((part) => part.type === "tool-result" ? part.parts : [part])
    .filter((part) => part.type === "media");
}
