import { crc32, deflateSync } from "node:zlib";
import { hash } from "./tokens.ts";

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/**
 * A PNG of this size whose colours depend on `seed`: a gradient of two colours. Files are small;
 * `leastBytes` makes one larger by a chunk of noise that viewers pass over.
 */
export function makePng(
  { width, height, seed, leastBytes = 0 }: {
    width: number;
    height: number;
    seed: string;
    leastBytes?: number;
  },
): Uint8Array {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  // Eight bits of red, green and blue.
  header.setUint16(8, 0x0802);
  const chunks = [
    SIGNATURE,
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("IDAT", deflateSync(pixels(width, height, seed), { level: 1 })),
  ];
  const length = chunks.reduce((sum, one) => sum + one.length, 0) + 12;
  if (leastBytes > length) chunks.splice(2, 0, chunk("noIs", noise(leastBytes - length, seed)));
  chunks.push(chunk("IEND", new Uint8Array()));
  return joined(chunks);
}

/** All pieces in one. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = joined([
    new Uint8Array(4),
    new TextEncoder().encode(type),
    data,
    new Uint8Array(4),
  ]);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

function pixels(width: number, height: number, seed: string): Uint8Array {
  const rows = new Uint8Array(height * (1 + width * 3));
  const [from, to] = [hash(`${seed}:from`), hash(`${seed}:to`)];
  for (let y = 0; y < height; y++) {
    // Each row begins with its filter: none.
    const row = y * (1 + width * 3) + 1;
    const share = y / height;
    for (let part = 0; part < 3; part++) {
      const [first, last] = [(from >>> (8 * part)) & 255, (to >>> (8 * part)) & 255];
      const value = Math.round(first + (last - first) * share);
      for (let x = 0; x < width; x++) rows[row + x * 3 + part] = value;
    }
  }
  return rows;
}

function noise(length: number, seed: string): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = hash(seed) || 1;
  for (let at = 0; at < length; at++) {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}
