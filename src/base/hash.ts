import { createHash } from "node:crypto";
import { crc32 as zlibCrc32 } from "node:zlib";

/** SHA-256 of the bytes, or of the text in UTF-8, as 64 lower-case hex digits. Synchronous. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** CRC-32 (IEEE 802.3, as in zip and gzip) as an unsigned 32-bit number. */
export function crc32(data: string | Uint8Array): number {
  return zlibCrc32(data) >>> 0;
}
