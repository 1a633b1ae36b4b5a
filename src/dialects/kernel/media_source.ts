import type { Steps } from "../../base/steps.ts";
import { invalidValue, missingField } from "../../shared/fault.ts";
import type { Loss, MediaPart } from "./canonical_request.ts";
import { requiredText, textAt } from "./fields.ts";
import { isRecord } from "./json.ts";

/**
 * The source of a part's media: a `data:` address is split into its parts, any other address stays.
 * Mime types are lower case without parameters, and `image/jpg` becomes `image/jpeg`; if the type
 * is missing or `application/octet-stream`, the first bytes decide. Undefined for a `data:` address
 * that can't be read, and for what is no address, such as bare base64.
 */
export function mediaSource(
  address: string,
): Exclude<MediaPart["source"], { type: "vendor-file" }> | undefined {
  if (!address.startsWith("data:")) {
    return hasScheme.test(address) ? { type: "url", url: address, mimeType: undefined } : undefined;
  }
  const comma = address.indexOf(",");
  if (comma < 0) return undefined;
  const header = address.slice("data:".length, comma).split(";").map((one) => one.trim());
  const raw = address.slice(comma + 1);
  const isBase64 = header.slice(1).some((one) => one.toLowerCase() === "base64");
  const data = isBase64 ? standardBase64(raw) : encodePercent(raw);
  return data === undefined ? undefined : base64Source(data, header[0]);
}

const hasScheme = /^[a-z][a-z\d+.-]{0,30}:/i;

/** A data URL, or bare base64, which clients send as well. */
export function dataSource(data: string): MediaPart["source"] | undefined {
  if (data.startsWith("data:")) return mediaSource(data);
  const plain = standardBase64(data);
  return plain === undefined ? undefined : base64Source(plain, undefined);
}

/** A base64 source with a mime type that fits its bytes. */
export function base64Source(
  data: string,
  mimeType: string | undefined,
): { type: "base64"; mimeType: string; data: string } {
  const declared = mimeType === undefined || mimeType === "" ? undefined : plainMime(mimeType);
  const sniffed = sniffMime(data);
  const vague = declared === undefined || declared === "application/octet-stream";
  // Vendors refuse an image whose bytes contradict its type: the bytes win.
  const bothImages = sniffed?.startsWith("image/") === true &&
    declared?.startsWith("image/") === true;
  return {
    type: "base64",
    mimeType: vague || bothImages ? sniffed ?? declared ?? "application/octet-stream" : declared,
    data,
  };
}

/**
 * Reports a part's name and detail as losses if the target doesn't carry them. The detail `auto` is
 * the default, so that it is no loss.
 */
export function loseMediaFields(
  part: MediaPart,
  carried: { name: boolean; detail: boolean },
  losses: Loss[],
): void {
  for (const field of ["detail", "name"] as const) {
    const isSet = part[field] !== undefined && !(field === "detail" && part.detail === "auto");
    const path = part.fieldPaths?.[field] ?? `${part.path}.${field}`;
    if (isSet && !carried[field]) losses.push({ path, weight: "hint" });
  }
}

/** Some clients send documents as images; the bytes show what they are. */
export function imageOrFile(source: MediaPart["source"]): "image" | "file" {
  return source.type === "base64" && !source.mimeType.startsWith("image/") ? "file" : "image";
}

/** Reads the audio of a part, which chat and responses have in the member at `at`. */
export function readSound(audio: unknown, at: string, path: string): MediaPart {
  if (!isRecord(audio)) throw missingField(at);
  const data = standardBase64(requiredText(audio, "data", at));
  if (data === undefined) throw invalidValue(`${at}.data`, "expected base64");
  const mimeType = `audio/${textAt(audio, "format", at) ?? "wav"}`;
  return { type: "media", kind: "audio", source: { type: "base64", mimeType, data }, path };
}

/** A note in place of media that can't be sent, so that a lenient call still makes sense. */
export function leftOutNote(part: MediaPart): string {
  return `[${part.kind} left out]`;
}

export function dataUrl(mimeType: string, data: string): string {
  return `data:${mimeType};base64,${data}`;
}

/**
 * Lower case, without parameters, with the common misspelling corrected. No type has more than 255
 * characters, and looking up long texts is slow (see `maxNameUnits`).
 */
export function plainMime(mimeType: string): string {
  const plain = mimeType.split(";")[0]!.trim().slice(0, 255).toLowerCase();
  return plain === "image/jpg" ? "image/jpeg" : plain;
}

/**
 * Base64 as vendors accept it: no white space, standard alphabet, padded. Undefined if it isn't
 * base64.
 */
export function standardBase64(text: string): string | undefined {
  if (isStandard(text)) return text;
  const plain = /[\s%]/.test(text) ? decodePercent(text)?.replace(/\s+/g, "") : text;
  if (plain === undefined) return undefined;
  const standard = /[-_]/.test(plain) ? plain.replaceAll("-", "+").replaceAll("_", "/") : plain;
  const bare = withoutPadding(standard);
  if (bare.endsWith("=") || bare.length % 4 === 1) return undefined;
  const padded = bare + "=".repeat((4 - bare.length % 4) % 4);
  return isStandard(padded) ? padded : undefined;
}

/** UTF-16 units checked at a time; a multiple of four. */
const checkedUnits = 64 * 1024;
const checked = new Uint8Array(checkedUnits / 4 * 3);

/** Decodes the text to check it: a pattern takes 45 times as long, 90 ms for an image of 15 MB. */
function isStandard(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const padding = text.length - withoutPadding(text).length;
  for (let from = 0; from < text.length; from += checkedUnits) {
    const piece = text.slice(from, from + checkedUnits);
    const isLast = from + checkedUnits >= text.length;
    try {
      const { written } = checked.setFromBase64(piece);
      // White space is skipped, and padding within the text ends what is read.
      if (written !== piece.length / 4 * 3 - (isLast ? padding : 0)) return false;
    } catch {
      return false;
    }
  }
  return true;
}

/** More than two `=` aren't padding: they stay, and the text isn't base64. */
function withoutPadding(text: string): string {
  return text.slice(0, text.endsWith("==") ? -2 : text.endsWith("=") ? -1 : text.length);
}

/** Decodes base64 that `standardBase64` accepts; undefined if it isn't. */
export function base64Bytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  // Decoding megabytes takes less time than matching them against a pattern.
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    const standard = standardBase64(text);
    return standard === undefined ? undefined : Uint8Array.fromBase64(standard);
  }
}

/** `base64Bytes` in steps, if the text consists of whole quadruples, as most do. */
export function* base64BytesSteps(text: string): Steps<Uint8Array<ArrayBuffer> | undefined> {
  return (text.length > decodedUnits ? yield* plainBase64Steps(text) : undefined) ??
    base64Bytes(text);
}

/**
 * Decodes base64 in steps; undefined unless it is whole quadruples without white space. Of the text
 * only short pieces are needed at a time.
 */
export function* plainBase64Steps(
  text: { readonly length: number; slice(from: number, to: number): string },
): Steps<Uint8Array<ArrayBuffer> | undefined> {
  if (text.length === 0 || text.length % 4 !== 0) return undefined;
  const end = text.slice(text.length - 2, text.length);
  const padding = end === "==" ? 2 : end.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array(text.length / 4 * 3 - padding);
  let written = 0;
  for (let from = 0; from < text.length; from += decodedUnits) {
    if (from > 0) yield;
    const piece = text.slice(from, from + decodedUnits);
    const isLast = from + decodedUnits >= text.length;
    try {
      const done = bytes.subarray(written).setFromBase64(piece);
      // With padding or white space inside, its pieces can't be decoded separately.
      if (done.read !== piece.length) return undefined;
      if (!isLast && done.written !== decodedUnits / 4 * 3) return undefined;
      written += done.written;
    } catch {
      return undefined;
    }
  }
  return written === bytes.length ? bytes : undefined;
}

/** Units decoded in one step; a multiple of four. */
const decodedUnits = 64 * 1024;

function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function encodePercent(text: string): string | undefined {
  const plain = decodePercent(text);
  if (plain === undefined) return undefined;
  return new TextEncoder().encode(plain).toBase64();
}

const magic: readonly (readonly [RegExp, string])[] = [
  [/^\x89PNG/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8/, "image/gif"],
  [/^RIFF[^]{4}WEBP/, "image/webp"],
  [/^RIFF[^]{4}WAVE/, "audio/wav"],
  [/^%PDF/, "application/pdf"],
  [/^(ID3|\xff[\xfb\xf3\xf2])/, "audio/mp3"],
  [/^OggS/, "audio/ogg"],
  [/^fLaC/, "audio/flac"],
];

/** The mime type that the first bytes of base64 data indicate, if any. */
function sniffMime(data: string): string | undefined {
  let head: string;
  try {
    head = atob(data.slice(0, 24));
  } catch {
    return undefined;
  }
  return magic.find(([pattern]) => pattern.test(head))?.[1];
}

/** Returns the audio format's name in chat and responses; undefined if they don't accept it. */
export function audioFormat(mimeType: string): "wav" | "mp3" | undefined {
  if (mimeType.includes("wav")) return "wav";
  return /mp3|mpeg/.test(mimeType) ? "mp3" : undefined;
}
