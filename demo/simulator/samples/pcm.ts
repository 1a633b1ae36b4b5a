import { type Bytes, joined, le16, le32 } from "./bytes.ts";

/** Sample rate of every sound here, in hertz; all are mono, 16 bits. */
export const SAMPLE_RATE = 24_000;

/** A tone that moves with the seed, as little-endian samples without a header. */
export function pcm(samples: number, seed: number): Bytes {
  const bytes = new Uint8Array(samples * 2);
  const view = new DataView(bytes.buffer);
  const pitch = 180 + seed % 120;
  for (let index = 0; index < samples; index++) {
    const time = index / SAMPLE_RATE;
    const loudness = 0.5 + 0.5 * Math.sin(2 * Math.PI * 3 * time);
    view.setInt16(index * 2, 6000 * loudness * Math.sin(2 * Math.PI * pitch * time), true);
  }
  return bytes;
}

/** The same tone as a WAV file, whose header has the exact sizes. */
export function wav(samples: number, seed: number): Bytes {
  const data = pcm(samples, seed);
  return joined(
    "RIFF",
    le32(36 + data.length),
    "WAVEfmt ",
    le32(16),
    le16(1),
    le16(1),
    le32(SAMPLE_RATE),
    le32(SAMPLE_RATE * 2),
    le16(2),
    le16(16),
    "data",
    le32(data.length),
    data,
  );
}
