import type { Loss, MediaPart } from "../../../kernel/canonical_request.ts";
import { mediaFieldPath } from "../../../kernel/media_source.ts";
import { isOwnFile, staysAddress } from "../media.ts";

/**
 * Media as a part. Only files stored at the vendor and videos may be addresses; the gateway fetches
 * all others beforehand. An address that remains, or another vendor's file, is a loss that changes
 * the meaning.
 */
export function mediaPart(
  part: MediaPart,
  generation: number,
  losses: Loss[],
): Record<string, unknown> | undefined {
  const data = mediaData(part);
  if (data === undefined) {
    losses.push({ path: part.path, weight: "meaning" });
    return undefined;
  }
  const resolution = part.kind === "image" ? resolutions.get(part.detail ?? "") : undefined;
  const isLost = part.detail !== undefined && part.detail !== "auto" &&
    (resolution === undefined || generation < 3);
  if (isLost) losses.push({ path: mediaFieldPath(part, "detail"), weight: "hint" });
  if (part.name !== undefined) losses.push({ path: mediaFieldPath(part, "name"), weight: "hint" });
  return {
    ...data,
    ...(resolution === undefined || generation < 3
      ? {}
      : { mediaResolution: { level: resolution } }),
  };
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
