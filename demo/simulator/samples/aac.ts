import { type Bytes } from "./bytes.ts";

/** Number of samples in a frame. */
export const AAC_FRAME = 1024;
/** A silent frame of one channel, AAC-LC. */
const SILENCE = [0x00, 0xc8, 0x00, 0x80, 0x23, 0x80];

/** A silent AAC in ADTS frames, 24 kHz mono. */
export function aac(frames: number): Bytes {
  const length = 7 + SILENCE.length;
  const bytes = new Uint8Array(frames * length);
  // LC profile, sampling frequency index 6 (24 kHz), one channel, buffer fullness "variable".
  const header = [
    0xff,
    0xf1,
    (1 << 6) | (6 << 2),
    (1 << 6) | (length >> 11),
    (length >> 3) & 0xff,
    ((length & 7) << 5) | 0x1f,
    0xfc,
  ];
  for (let frame = 0; frame < frames; frame++) {
    bytes.set(header, frame * length);
    bytes.set(SILENCE, frame * length + 7);
  }
  return bytes;
}
