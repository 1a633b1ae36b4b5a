import { createHash, timingSafeEqual } from "node:crypto";
import { beginning } from "./characters.ts";
import { maxNameUnits } from "./json_count.ts";
import type { Steps } from "./steps.ts";
import { crc32 as zlibCrc32 } from "node:zlib";

/** SHA-256 of the bytes, or of the text in UTF-8, as 64 lower-case hex digits. Synchronous. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The text, or its hash if it is long: looking up many long texts is slow (see `maxNameUnits`). */
export function shortKey(text: string): string {
  return text.length <= maxNameUnits ? text : sha256Hex(text);
}

/** `sha256Hex` in steps, for many bytes. */
export function* sha256Steps(data: Uint8Array): Steps<string> {
  const hash = createHash("sha256");
  for (let from = 0; from < data.length; from += hashedBytes) {
    if (from > 0) yield;
    hash.update(data.subarray(from, from + hashedBytes));
  }
  return hash.digest("hex");
}

/** `sha256Hex` in steps, for a long text. */
export function* sha256TextSteps(text: string): Steps<string> {
  if (text.length <= hashedBytes) return sha256Hex(text);
  const hash = createHash("sha256");
  for (let at = 0; at < text.length;) {
    if (at > 0) yield;
    const piece = beginning(text.slice(at, at + hashedBytes), hashedBytes);
    hash.update(piece);
    at += piece.length;
  }
  return hash.digest("hex");
}

/** Bytes, or UTF-16 units, per step. */
const hashedBytes = 1024 * 1024;

/** Compares two texts in a time that reveals nothing about them. */
export function sameText(one: string, other: string): boolean {
  const bytes = (text: string) => new TextEncoder().encode(sha256Hex(text));
  return timingSafeEqual(bytes(one), bytes(other));
}

/**
 * CRC-32 (IEEE 802.3, as in zip and gzip) as an unsigned 32-bit number; `before` is that of the data
 * before this.
 */
export function crc32(data: string | Uint8Array, before = 0): number {
  return zlibCrc32(data, before) >>> 0;
}
