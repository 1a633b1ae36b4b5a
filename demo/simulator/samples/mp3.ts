import { type Bytes } from "./bytes.ts";
import { SAMPLE_RATE } from "./pcm.ts";

/** Number of samples in a frame of MPEG-2 layer III. */
export const MP3_FRAME = 576;
const FRAME_BYTES = (72 * 64_000) / SAMPLE_RATE;

/** A silent MP3, 64 kbit/s mono: empty side information says that all frequencies are zero. */
export function mp3(frames: number): Bytes {
  const bytes = new Uint8Array(frames * FRAME_BYTES);
  for (let frame = 0; frame < frames; frame++) {
    // Sync, MPEG-2 layer III without checksum; 64 kbit/s at 24 kHz; mono.
    bytes.set([0xff, 0xf3, 0x84, 0xc4], frame * FRAME_BYTES);
  }
  return bytes;
}
