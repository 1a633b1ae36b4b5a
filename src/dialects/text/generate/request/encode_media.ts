import { shortKey } from "../../../../base/hash.ts";
import type { Loss, MediaPart } from "../../../kernel/canonical_request.ts";
import { loseMediaFields } from "../../../kernel/media_source.ts";
import { isOwnFile, staysAddress } from "../media.ts";

/**
 * Writes media as a part. Only files stored at the vendor and videos may be addresses; the gateway
 * fetches all others beforehand. An address that remains, or another vendor's file, is a loss that
 * changes the meaning, and has no part. `takesLevel`: whether an image may have a resolution.
 */
export function mediaPart(
  part: MediaPart,
  takesLevel: boolean,
  losses: Loss[],
): Record<string, unknown> | undefined {
  const data = mediaData(part);
  if (data === undefined) {
    losses.push({ path: part.path, weight: "meaning" });
    return undefined;
  }
  const hasLevel = part.kind === "image" && takesLevel;
  const level = hasLevel ? resolutions.get(shortKey(part.detail ?? "")) : undefined;
  loseMediaFields(part, { name: false, detail: level !== undefined }, losses);
  return { ...data, ...(level === undefined ? {} : { mediaResolution: { level } }) };
}

const resolutions: ReadonlyMap<string, string> = new Map([
  ["low", "MEDIA_RESOLUTION_LOW"],
  ["high", "MEDIA_RESOLUTION_HIGH"],
  ["original", "MEDIA_RESOLUTION_HIGH"],
]);

function mediaData({ source }: MediaPart): Record<string, unknown> | undefined {
  switch (source.type) {
    case "base64":
      return { inlineData: { mimeType: source.mimeType, data: source.data } };
    case "url":
      return staysAddress(source.url) ? fileData(source.url, source.mimeType) : undefined;
    case "vendor-file":
      return isOwnFile(source.id) ? fileData(source.id, source.mimeType) : undefined;
  }
}

function fileData(fileUri: string, mimeType: string | undefined): Record<string, unknown> {
  return { fileData: { ...(mimeType === undefined ? {} : { mimeType }), fileUri } };
}
