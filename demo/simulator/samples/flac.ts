import { BitWriter, type Bytes, joined } from "./bytes.ts";
import { pcm, SAMPLE_RATE } from "./pcm.ts";

const BLOCK = 4096;

/** Returns a FLAC of the tone of `pcm`, its samples uncompressed. */
export function flac(samples: number, seed: number): Bytes {
  const tone = pcm(samples, seed);
  const frames: Bytes[] = [];
  for (let first = 0; first < samples; first += BLOCK) {
    const count = Math.min(BLOCK, samples - first);
    frames.push(frame(frames.length, tone.subarray(first * 2, (first + count) * 2)));
  }
  const info = new BitWriter();
  info.write(BLOCK, 16);
  info.write(BLOCK, 16);
  // Smallest and largest frame: unknown.
  info.write(0, 24);
  info.write(0, 24);
  info.write(SAMPLE_RATE, 20);
  info.write(0, 3);
  info.write(15, 5);
  info.write(0, 4);
  info.write(samples, 32);
  // No checksum of the samples.
  return joined("fLaC", [0x80, 0, 0, 34], info.end(), new Uint8Array(16), ...frames);
}

function frame(number: number, data: Uint8Array): Bytes {
  const bits = new BitWriter();
  bits.write(0x3ffe, 14);
  bits.write(0, 2);
  // Block size in 16 bits at the end; 24 kHz; mono, 16 bits.
  bits.write(7, 4);
  bits.write(7, 4);
  bits.write(0, 4);
  bits.write(4, 3);
  bits.write(0, 1);
  for (const byte of utf8Number(number)) bits.write(byte, 8);
  bits.write(data.length / 2 - 1, 16);
  const header = bits.end();
  // One subframe, verbatim, its samples big-endian.
  const samples = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 2) {
    samples[at] = data[at + 1]!;
    samples[at + 1] = data[at]!;
  }
  const body = joined(header, [crc(header, 8, 0x07)], [0b00000010], samples);
  const check = crc(body, 16, 0x8005);
  return joined(body, [check >> 8, check & 0xff]);
}

/** Encodes a frame number like a code point in UTF-8. */
function utf8Number(value: number): number[] {
  if (value < 0x80) return [value];
  if (value < 0x800) return [0xc0 | (value >> 6), 0x80 | (value & 0x3f)];
  return [0xe0 | (value >> 12), 0x80 | ((value >> 6) & 0x3f), 0x80 | (value & 0x3f)];
}

function crc(bytes: ArrayLike<number>, width: 8 | 16, polynomial: number): number {
  const top = 1 << (width - 1);
  const mask = (1 << width) - 1;
  let value = 0;
  for (let at = 0; at < bytes.length; at++) {
    value ^= bytes[at]! << (width - 8);
    for (let bit = 0; bit < 8; bit++) {
      value = (value & top ? (value << 1) ^ polynomial : value << 1) & mask;
    }
  }
  return value;
}
