/** Detects what a received picture, sound or document really is, by its first bytes. */
import { Buffer } from "node:buffer";

export interface Medium {
  /** The type that the sender declared; empty if none. */
  declared: string;
  /** The type by its bytes; null for an address, which is not fetched. */
  actual: string | null;
  bytes: number;
  /** For addresses. */
  url: string | null;
}

/** Reads a data URL or an address. Throws RangeError on base64 that can't be decoded. */
export function mediumFromUrl(url: string): Medium {
  const data = url.match(/^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s);
  return data ? mediumFromBase64(data[2] ?? "", data[1] ?? "") : {
    declared: "",
    actual: null,
    bytes: 0,
    url,
  };
}

/** Reads base64 text. Throws RangeError if it can't be decoded or is of no known type. */
export function mediumFromBase64(base64: string, declared: string): Medium {
  let bytes: string;
  try {
    bytes = atob(base64);
  } catch {
    throw new RangeError("Invalid base64 data");
  }
  if (bytes === "") throw new RangeError("Empty media data");
  return { declared, actual: sniff(bytes, declared), bytes: bytes.length, url: null };
}

/** One sentence about each medium, for the answer's text. */
export function describeMedium(medium: Medium): string {
  if (medium.url !== null) return `The file at ${medium.url} was not fetched.`;
  return `I received ${medium.actual ?? "a file"} of ${medium.bytes} bytes.`;
}

function sniff(bytes: string, declared: string): string {
  if (bytes.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.startsWith("GIF8")) return "image/gif";
  if (bytes.startsWith("RIFF")) return bytes.slice(8, 12) === "WAVE" ? "audio/wav" : "image/webp";
  if (bytes.startsWith("%PDF")) return "application/pdf";
  if (bytes.startsWith("ID3") || bytes.startsWith("\xff\xfb")) return "audio/mpeg";
  if (declared.startsWith("image/")) throw new RangeError("The image data is not a known format");
  return declared || "application/octet-stream";
}

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}
