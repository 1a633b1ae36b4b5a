import { Buffer } from "node:buffer";
import { aacRates, mp4Seconds } from "./mp4_length.ts";

/**
 * Returns the duration of an audio file in seconds; undefined for formats and files that don't
 * state it (WebM, fragmented recordings) and for anything but audio. Reads headers only: the
 * container's and, in MP3, AAC, FLAC and Ogg, those of all frames or packets.
 */
export function audioSeconds(file: Uint8Array): number | undefined {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const magic = bytes.toString("latin1", 0, 4);
  const seconds = magic === "RIFF"
    ? wavSeconds(bytes)
    : magic === "fLaC"
    ? flacSeconds(bytes)
    : magic === "OggS"
    ? oggSeconds(bytes)
    : bytes.toString("latin1", 4, 8) === "ftyp"
    ? mp4Seconds(bytes)
    : frameSeconds(bytes);
  return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

/** Duration of raw 16-bit mono samples. */
export function pcmSeconds(byteLength: number, sampleRate = 24_000): number {
  return byteLength / (sampleRate * 2);
}

/**
 * The chunk ids `fmt ` and `data`, as numbers: a file may consist of millions of empty chunks, and
 * making a string for each would be slow.
 */
const [formatId, dataId] = [0x666d7420, 0x64617461];

/** Adds up all `data` chunks, since players play one after the other. */
function wavSeconds(bytes: Buffer): number | undefined {
  let bytesPerSecond: number | undefined;
  let seconds: number | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const id = bytes.readUInt32BE(at);
    const size = bytes.readUInt32LE(at + 4);
    if (id === formatId && at + 24 <= bytes.length) bytesPerSecond = wavRate(bytes, at + 8);
    // A streamed file has 0xFFFFFFFF or 0 as the size: then the bytes that are present count.
    if (id === dataId && bytesPerSecond) {
      seconds = (seconds ?? 0) + Math.min(size || Infinity, bytes.length - at - 8) / bytesPerSecond;
      if (size === 0) break;
    }
    at += 8 + size + size % 2;
  }
  return seconds;
}

/** Format codes of uncompressed samples: integers, floats, A-law and µ-law. */
const plainSamples = [1, 3, 6, 7];
/** WAVE_FORMAT_EXTENSIBLE: the actual format code comes later in the chunk. */
const extensible = 0xfffe;
/**
 * Upper bound, in bytes per second, of the rate that a file's header states for compressed sound,
 * so that a false rate can't make the sound arbitrarily short.
 */
const maxCompressedBytes = 48_000;

/**
 * Returns the bytes per second. For uncompressed samples it is computed, since players don't read
 * the stated rate, and some recorders state a wrong one.
 */
function wavRate(bytes: Buffer, format: number): number {
  const [channels, rate] = [bytes.readUInt16LE(format + 2), bytes.readUInt32LE(format + 4)];
  const plain = rate * channels * Math.ceil(bytes.readUInt16LE(format + 14) / 8);
  const kind = bytes.readUInt16LE(format);
  const isLong = kind === extensible && format + 26 <= bytes.length;
  const isPlain = plainSamples.includes(isLong ? bytes.readUInt16LE(format + 24) : kind);
  if (isPlain && plain > 0) return plain;
  return Math.min(bytes.readUInt32LE(format + 8), maxCompressedBytes);
}

/**
 * Adds up the frames of a FLAC file, which it finds by their checksums. Decoders play every frame,
 * at the rate that the frame itself states, whatever the file's header says.
 */
function flacSeconds(bytes: Buffer): number | undefined {
  if (bytes.length < 26) return undefined;
  const headRate = bytes.readUIntBE(18, 3) >> 4;
  let [seconds, tries] = [0, 0];
  for (let at = bytes.indexOf(0xff, 26); at >= 0; at = bytes.indexOf(0xff, at)) {
    const frame = flacFrame(bytes, at, headRate);
    seconds += frame?.seconds ?? 0;
    at += frame?.length ?? 1;
    if (++tries > 2 * maxMisses) return undefined;
  }
  return seconds > 0 ? seconds : undefined;
}

/** Samples per second by the index in a frame header; 0 means the rate of the file's header. */
const flacRates = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100]
  .concat([48_000, 96_000]);

/**
 * Reads the FLAC frame header at `at`: the header's length in bytes and the duration of the frame.
 * Undefined if there is no valid header.
 */
function flacFrame(
  bytes: Buffer,
  at: number,
  headRate: number,
): { length: number; seconds: number } | undefined {
  const [block, rate, form] = [bytes[at + 2]! >> 4, bytes[at + 2]! & 15, bytes[at + 3]!];
  const isPossible = (bytes[at + 1]! & 0xfe) === 0xf8 && block > 0 && rate < 15 &&
    form < 0xb0 && (form & 1) === 0 && (form >> 1 & 7) !== 3;
  if (!isPossible) return undefined;
  // The frame number is coded like UTF-8: the leading ones of its first byte give its length.
  const ones = Math.clz32(~(bytes[at + 4]! << 24));
  let end = at + 5;
  while (end < at + 4 + ones && bytes[end]! >> 6 === 2) end++;
  if (ones === 1 || end < at + 4 + ones) return undefined;
  const next = (length: number) => {
    let value = 0;
    for (; length > 0; length--) value = value * 256 + bytes[end++]!;
    return value;
  };
  const samples = block >= 8
    ? 2 ** block
    : block >= 6
    ? next(block - 5) + 1
    : block >= 2
    ? 144 * 2 ** block
    : 192;
  const stated = rate >= 12
    ? next(rate === 12 ? 1 : 2) * (rate === 12 ? 1000 : rate === 13 ? 1 : 10)
    : flacRates[rate]!;
  const perSecond = stated || headRate;
  if (crc8(bytes, at, end) !== bytes[end] || perSecond === 0) return undefined;
  return { length: end + 1 - at, seconds: samples / perSecond };
}

/**
 * The CRC-8 of each byte. Precomputed, since a crafted file may have a million headers to check.
 */
const crc8Table = Uint8Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = (sum << 1 ^ (sum >>> 7) * 0x107) & 0xff;
  return sum;
});

function crc8(bytes: Uint8Array, start: number, end: number): number {
  let sum = 0;
  for (let at = start; at < end; at++) sum = crc8Table[sum ^ bytes[at]!]!;
  return sum;
}

interface OggCodec {
  /** The first bytes of its header packet. */
  magic: string;
  headLength: number;
  /** Units per second of the pages' granule positions. */
  rate: (head: Buffer) => number;
  /** Duration of a packet. */
  seconds: (packet: Buffer, head: Buffer) => number;
}

const oggCodecs: readonly OggCodec[] = [
  // Granule positions of Opus count at 48 kHz, whatever the recording's rate.
  { magic: "OpusHead", headLength: 19, rate: () => 48_000, seconds: opusSeconds },
  {
    magic: "\x01vorbis",
    headLength: 30,
    rate: (head) => head.readUInt32LE(12),
    // Each block overlaps half of the one before. The first byte of header packets is odd; encoders
    // use mode 1 for long blocks.
    seconds: ([first = 1], head) =>
      first % 2 === 1
        ? 0
        : 2 ** (first & 2 ? head[28]! >> 4 : head[28]! & 15) / 2 / head.readUInt32LE(12),
  },
  {
    magic: "\x7fFLAC",
    headLength: 51,
    rate: (head) => head.readUIntBE(27, 3) >> 4,
    seconds: (packet, head) => flacFrame(packet, 0, head.readUIntBE(27, 3) >> 4)?.seconds ?? 0,
  },
  {
    magic: "Speex   ",
    headLength: 80,
    rate: (head) => head.readUInt32LE(36),
    seconds: (_, head) =>
      head.readUInt32LE(56) * Math.max(1, head.readUInt32LE(64)) / head.readUInt32LE(36),
  },
];

/** "Opus", with which the header packets `OpusHead` and `OpusTags` begin. */
const tagsId = 0x4f707573;

/**
 * Returns the duration of an Opus packet (RFC 6716 §3.1). The first byte tells the duration of a
 * frame and the number of frames; for code 3 the number is in the second byte.
 */
function opusSeconds(packet: Buffer): number {
  const [toc = 0, count = 0] = packet;
  if (toc === 0x4f && packet.length >= 4 && packet.readUInt32BE() === tagsId) return 0;
  const form = toc >> 3;
  const ms = form < 12
    ? [10, 20, 40, 60][form & 3]!
    : form < 16
    ? [10, 20][form & 1]!
    : [2.5, 5, 10, 20][form & 3]!;
  return ms / 1000 * [1, 2, 2, count & 63][toc & 3]!;
}

/** Padding that encoders add before and after the sound; granule positions don't count it. */
const paddingSeconds = 0.4;
/** Bytes at the start of a packet that suffice to know its duration. */
const packetHead = 20;
/**
 * Segments read at most; with more, the duration is unknown. A usual packet of 20 ms is one
 * segment, so a million of them are more than five hours. A page without segments counts as one.
 */
const maxPackets = 1_000_000;

/**
 * Returns the duration of an Ogg file. Chained streams are added up. It's at least the duration of
 * all packets minus the padding, since decoders play the packets, whatever the pages state.
 */
function oggSeconds(bytes: Buffer): number | undefined {
  let [stated, counted, rate, granule, serial] = [0, 0, 1, 0, -1];
  let packets = 0;
  let packetSeconds: ((packet: Buffer) => number) | undefined;
  for (let at = 0, end = 0; at >= 0 && at + 27 <= bytes.length; at = nextPage(bytes, end)) {
    const start = Math.min(bytes.length, at + 27 + bytes[at + 26]!);
    end = start;
    for (let index = at + 27; index < start; index++) end += bytes[index]!;
    if ((packets += Math.max(1, bytes[at + 26]!)) > maxPackets) return undefined;
    if ((bytes[at + 5]! & 2) !== 0) {
      const head = bytes.subarray(start, Math.min(end, start + 80));
      const begin = head.toString("latin1", 0, 8);
      const codec = oggCodecs.find(({ magic }) => begin.startsWith(magic));
      // Other streams, such as video and subtitles, may be interleaved with the sound.
      if (!codec || head.length < codec.headLength) continue;
      stated += granule / rate;
      [rate, granule, serial] = [codec.rate(head), 0, bytes.readUInt32LE(at + 14)];
      packetSeconds = (packet) => codec.seconds(packet, head);
    } else if (packetSeconds && bytes.readUInt32LE(at + 14) === serial) {
      // A page may begin in the middle of a packet. A segment of 255 bytes is continued by the
      // next.
      let [isNew, offset] = [(bytes[at + 5]! & 1) === 0, start];
      for (let index = at + 27; index < start; index++) {
        const length = bytes[index]!;
        if (isNew) counted += packetSeconds(bytes.subarray(offset, offset + packetHead));
        [isNew, offset] = [length < 255, offset + length];
      }
    }
    if (bytes.readUInt32LE(at + 14) !== serial) continue;
    granule = Math.max(granule, bytes.readInt32LE(at + 10) * 2 ** 32 + bytes.readUInt32LE(at + 6));
  }
  return serial < 0 ? undefined : Math.max(stated + granule / rate, counted - paddingSeconds);
}

const pageMagic = Buffer.from("OggS");
const pageId = pageMagic.readUInt32BE();

/**
 * Returns where the next page begins; -1 if there is none. Checks `at` first, where it mostly is: a
 * search costs more than reading a page.
 */
function nextPage(bytes: Buffer, at: number): number {
  const isHere = at + 4 <= bytes.length && bytes.readUInt32BE(at) === pageId;
  return isHere ? at : bytes.indexOf(pageMagic, at);
}

const layer3BitRates = {
  1: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const sampleRates = [44_100, 48_000, 32_000] as const;
/**
 * Positions without a frame that are tried before giving up; a picture of 20 MB has a third as
 * many.
 */
const maxMisses = 256 * 1024;

/**
 * Returns the duration of MP3 or ADTS AAC: a sequence of frames, each with its own header. Files
 * that were joined have tags with pictures in the middle. Any bytes contain some that look like
 * frames (20 seconds' worth in a WebM recording of ten minutes), so the duration is undefined if
 * less than half of the file is frames.
 */
function frameSeconds(bytes: Buffer): number | undefined {
  const start = tagLength(bytes);
  let [seconds, framed, misses] = [0, 0, 0];
  for (let at = start; at >= 0 && at + 7 <= bytes.length;) {
    const header = bytes.readUInt32BE(at);
    const frame = mp3Frame(header) ?? adtsFrame(header, bytes.readUIntBE(at + 4, 3));
    if (frame) {
      seconds += frame.seconds;
      framed += frame.length;
      at += frame.length;
    } else {
      if (++misses > maxMisses) return undefined;
      at = bytes.indexOf(0xff, at + 1);
    }
  }
  return framed * 2 >= bytes.length - start && seconds > 0 ? seconds : undefined;
}

function tagLength(bytes: Buffer): number {
  if (bytes.toString("latin1", 0, 3) !== "ID3" || bytes.length <= 10) return 0;
  return 10 + [6, 7, 8, 9].reduce((sum, index) => sum * 128 + (bytes[index]! & 0x7f), 0);
}

function adtsFrame(header: number, more: number): { length: number; seconds: number } | undefined {
  const rate = aacRates[(header >>> 10) & 15];
  const length = (header & 3) << 11 | more >>> 13;
  if ((header & 0xfff6_0000) >>> 0 !== 0xfff0_0000 || !rate || length < 7) return undefined;
  // A frame has up to four blocks of sound.
  return { length, seconds: ((more & 3) + 1) * 1024 / rate };
}

/** Layer III only, of MPEG 1, 2 and 2.5. */
function mp3Frame(header: number): { length: number; seconds: number } | undefined {
  const version = (header >>> 19) & 3;
  const layer = (header >>> 17) & 3;
  const rateIndex = (header >>> 10) & 3;
  const bitIndex = (header >>> 12) & 15;
  if (header >>> 21 !== 0x7ff || version === 1 || layer !== 1 || rateIndex === 3) return undefined;
  const isFirst = version === 3;
  const kilobits = layer3BitRates[isFirst ? 1 : 2][bitIndex];
  if (!kilobits) return undefined;
  const rate = sampleRates[rateIndex]! / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = isFirst ? 1152 : 576;
  const padding = (header >>> 9) & 1;
  return {
    length: Math.floor(samples / 8 * kilobits * 1000 / rate) + padding,
    seconds: samples / rate,
  };
}
