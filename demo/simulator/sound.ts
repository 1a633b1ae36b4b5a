/** Sound files that players open: a tone as samples, silence in the compressed formats. */
import { joined } from "./png.ts";

export type SoundFormat = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

export const SAMPLE_RATE = 24_000;

/** Mono, 24 kHz; lasts `seconds`, rounded up to the format's frames. */
export function makeSound(format: SoundFormat, seconds: number): Uint8Array {
  return makers[format](seconds);
}

export const CONTENT_TYPES: Readonly<Record<SoundFormat, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

/** A RIFF header of 44 bytes and the samples. */
export function wavOf(samples: Uint8Array, rate = SAMPLE_RATE): Uint8Array {
  const header = new DataView(new ArrayBuffer(44));
  const words = (at: number, text: string) =>
    [...text].forEach((letter, index) => header.setUint8(at + index, letter.charCodeAt(0)));
  words(0, "RIFF");
  header.setUint32(4, 36 + samples.length, true);
  words(8, "WAVEfmt ");
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, rate, true);
  header.setUint32(28, rate * 2, true);
  header.setUint16(32, 2, true);
  header.setUint16(34, 16, true);
  words(36, "data");
  header.setUint32(40, samples.length, true);
  return joined([new Uint8Array(header.buffer), samples]);
}

/** A tone of 440 Hz as 16-bit samples, little-endian. */
export function tone(seconds: number, rate = SAMPLE_RATE): Uint8Array {
  const count = Math.round(seconds * rate);
  const view = new DataView(new ArrayBuffer(count * 2));
  for (let at = 0; at < count; at++) {
    view.setInt16(at * 2, Math.round(8000 * Math.sin(2 * Math.PI * 440 * at / rate)), true);
  }
  return new Uint8Array(view.buffer);
}

const makers: Readonly<Record<SoundFormat, (seconds: number) => Uint8Array>> = {
  pcm: tone,
  wav: (seconds) => wavOf(tone(seconds)),
  mp3: (seconds) => frames(silentMp3(), seconds, 576 / SAMPLE_RATE),
  aac: (seconds) => frames(silentAac(), seconds, 1024 / SAMPLE_RATE),
  flac: silentFlac,
  opus: silentOpus,
};

function frames(frame: Uint8Array, seconds: number, each: number): Uint8Array {
  return joined(Array.from({ length: Math.max(1, Math.ceil(seconds / each)) }, () => frame));
}

/** MPEG 2 layer III, mono, 24 kHz, 64 kbit/s: a frame without data is silence. */
function silentMp3(): Uint8Array {
  const frame = new Uint8Array(192);
  frame.set([0xff, 0xf3, 0x84, 0xc4]);
  return frame;
}

/** ADTS, AAC-LC, mono, 24 kHz. */
function silentAac(): Uint8Array {
  const data = [0x00, 0xc8, 0x00, 0x80, 0x23, 0x80];
  const length = 7 + data.length;
  // Profile LC (1), rate index 6, one channel.
  const header = [0xff, 0xf1, 1 << 6 | 6 << 2, 1 << 6 | length >> 11, length >> 3 & 0xff];
  return Uint8Array.from([...header, (length & 7) << 5 | 0x1f, 0xfc, ...data]);
}

const FLAC_BLOCK = 4096;

function silentFlac(seconds: number): Uint8Array {
  const blocks = Math.max(1, Math.ceil(seconds * SAMPLE_RATE / FLAC_BLOCK));
  const info = new DataView(new ArrayBuffer(42));
  [0x66, 0x4c, 0x61, 0x43, 0x80, 0, 0, 34].forEach((byte, at) => info.setUint8(at, byte));
  info.setUint16(8, FLAC_BLOCK);
  info.setUint16(10, FLAC_BLOCK);
  // 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of samples.
  info.setUint32(18, SAMPLE_RATE << 12 | 0 << 9 | 15 << 4);
  info.setUint32(22, blocks * FLAC_BLOCK);
  const all = Array.from({ length: blocks }, (_, index) => flacFrame(index));
  return joined([new Uint8Array(info.buffer), ...all]);
}

/** One block of the constant 0. */
function flacFrame(index: number): Uint8Array {
  // Block size 4096, rate from the stream, one channel of 16 bits.
  const head = [0xff, 0xf8, 0xc0, 0x08, ...utf8Number(index)];
  const body = [...head, crc(head, 8, 0x07), 0x00, 0x00, 0x00];
  const sum = crc(body, 16, 0x8005);
  return Uint8Array.from([...body, sum >> 8, sum & 0xff]);
}

function utf8Number(value: number): number[] {
  return [...new TextEncoder().encode(String.fromCodePoint(value))];
}

function crc(bytes: readonly number[], bits: 8 | 16, polynomial: number): number {
  const [top, mask] = [1 << (bits - 1), 2 ** bits - 1];
  return bytes.reduce((state, byte) => {
    let sum = state ^ byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) sum = (sum & top ? sum << 1 ^ polynomial : sum << 1) & mask;
    return sum;
  }, 0);
}

/** Ogg Opus: twenty milliseconds of silence a packet, fifty packets a page. */
function silentOpus(seconds: number): Uint8Array {
  const text = new TextEncoder();
  const head = joined([
    text.encode("OpusHead"),
    Uint8Array.of(1, 1, 0, 0, 0xc0, 0x5d, 0, 0, 0, 0, 0),
  ]);
  const tags = joined([
    text.encode("OpusTags"),
    Uint8Array.of(3, 0, 0, 0),
    text.encode("sim"),
    Uint8Array.of(0, 0, 0, 0),
  ]);
  const packets = Math.max(1, Math.ceil(seconds * 50));
  const pages = [oggPage([head], 0, 0, 2), oggPage([tags], 0, 1, 0)];
  for (let done = 0; done < packets; done += 50) {
    const count = Math.min(50, packets - done);
    const silence = Array.from({ length: count }, () => Uint8Array.of(0xf8, 0xff, 0xfe));
    const isLast = done + count === packets;
    pages.push(oggPage(silence, (done + count) * 960, pages.length, isLast ? 4 : 0));
  }
  return joined(pages);
}

function oggPage(
  packets: readonly Uint8Array[],
  granule: number,
  sequence: number,
  flags: number,
): Uint8Array {
  const sizes = packets.map((packet) => packet.length);
  const page = joined([new Uint8Array(27), Uint8Array.from(sizes), ...packets]);
  const view = new DataView(page.buffer);
  page.set(new TextEncoder().encode("OggS"));
  page[5] = flags;
  view.setUint32(6, granule, true);
  view.setUint32(14, 0x51ed, true);
  view.setUint32(18, sequence, true);
  page[26] = packets.length;
  view.setUint32(22, oggSum(page), true);
  return page;
}

function oggSum(page: Uint8Array): number {
  let sum = 0;
  for (const byte of page) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x8000_0000 ? sum << 1 ^ 0x04c1_1db7 : sum << 1;
  }
  return sum >>> 0;
}
