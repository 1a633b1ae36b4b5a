import { type Bytes, joined, le16, le32 } from "./bytes.ts";

/** Opus counts samples at 48 kHz whatever the input; a frame here is 20 ms. */
const RATE = 48_000;
const FRAME = 960;
const PRESKIP = 312;
/** Twenty milliseconds of silence, full band, mono. */
const SILENCE = [0xf8, 0xff, 0xfe];
/** Few enough for a page's segment table, which has at most 255 entries. */
const FRAMES_PER_PAGE = 50;

/** A silent Opus stream in Ogg pages that lasts this many seconds. */
export function opus(seconds: number): Bytes {
  const end = Math.round(seconds * RATE) + PRESKIP;
  const frames = Math.ceil(end / FRAME);
  const head = joined("OpusHead", [1, 1], le16(PRESKIP), le32(24_000), le16(0), [0]);
  const tags = joined("OpusTags", le32(9), "simulator", le32(0));
  const pages = [page(0, 0, 2, [head]), page(1, 0, 0, [tags])];
  for (let first = 0; first < frames; first += FRAMES_PER_PAGE) {
    const count = Math.min(FRAMES_PER_PAGE, frames - first);
    const isLast = first + count === frames;
    const position = isLast ? end : (first + count) * FRAME;
    const packets = Array.from({ length: count }, () => Uint8Array.from(SILENCE));
    pages.push(page(pages.length, position, isLast ? 4 : 0, packets));
  }
  return joined(...pages);
}

function page(sequence: number, position: number, flags: number, packets: Uint8Array[]): Bytes {
  const header = joined(
    "OggS",
    [0, flags],
    le32(position),
    le32(0),
    le32(0x51_4d_55_53),
    le32(sequence),
    le32(0),
    [packets.length],
    packets.map((packet) => packet.length),
  );
  const bytes = joined(header, ...packets);
  bytes.set(le32(checksum(bytes)), 22);
  return bytes;
}

/** The container's CRC: polynomial 0x04c11db7, nothing reflected. */
function checksum(bytes: Uint8Array): number {
  let value = 0;
  for (const byte of bytes) {
    value ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) {
      value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1;
    }
  }
  return value >>> 0;
}
