import { Buffer } from "node:buffer";
import { aacRates, mp4Seconds } from "./mp4_length.ts";

/**
 * Duration of an audio file in seconds, from its container; undefined for formats and files that
 * don't state it (WebM, recordings in fragments) and for anything but audio. Reads headers only; of
 * MP3, AAC and FLAC it counts the frames.
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

/** Duration of raw samples; default: 16-bit mono at 24 kHz. */
export function pcmSeconds(byteLength: number, sampleRate = 24_000, bytesPerFrame = 2): number {
  return byteLength / (sampleRate * bytesPerFrame);
}

/** `fmt ` and `data`. As numbers, since a file may consist of millions of empty chunks. */
const [formatId, dataId] = [0x666d7420, 0x64617461];

/** All chunks of sound: players read them one after the other. */
function wavSeconds(bytes: Buffer): number | undefined {
  let bytesPerSecond: number | undefined;
  let seconds: number | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const id = bytes.readUInt32BE(at);
    const size = bytes.readUInt32LE(at + 4);
    if (id === formatId && at + 24 <= bytes.length) bytesPerSecond = wavRate(bytes, at + 8);
    // A streamed file has 0xFFFFFFFF or 0 here: the bytes that are there count.
    if (id === dataId && bytesPerSecond) {
      seconds = (seconds ?? 0) + Math.min(size || Infinity, bytes.length - at - 8) / bytesPerSecond;
      if (size === 0) break;
    }
    at += 8 + size + size % 2;
  }
  return seconds;
}

/** Uncompressed: integers, floats, and the logarithmic ones of telephones. */
const plainSamples = [1, 3, 6, 7];
/** WAVE_FORMAT_EXTENSIBLE: the format is named further on in the chunk. */
const extensible = 0xfffe;
/** Compressed sound states its rate itself: what the file's head says of it has this bound. */
const mostCompressedBytes = 48_000;

/** Players of plain samples don't read the stated bytes a second, and some recorders state wrong ones. */
function wavRate(bytes: Buffer, format: number): number {
  const [channels, rate] = [bytes.readUInt16LE(format + 2), bytes.readUInt32LE(format + 4)];
  const plain = rate * channels * Math.ceil(bytes.readUInt16LE(format + 14) / 8);
  const kind = bytes.readUInt16LE(format);
  const isLong = kind === extensible && format + 26 <= bytes.length;
  const isPlain = plainSamples.includes(isLong ? bytes.readUInt16LE(format + 24) : kind);
  if (isPlain && plain > 0) return plain;
  return Math.min(bytes.readUInt32LE(format + 8), mostCompressedBytes);
}

/**
 * Its frames, found by their checksums: decoders play as many as there are, at the rate that each
 * states, whatever the head does.
 */
function flacSeconds(bytes: Buffer): number | undefined {
  if (bytes.length < 26) return undefined;
  const headRate = bytes.readUIntBE(18, 3) >> 4;
  let [seconds, tries] = [0, 0];
  for (let at = bytes.indexOf(0xff, 26); at >= 0; at = bytes.indexOf(0xff, at)) {
    const frame = flacFrame(bytes, at, headRate);
    seconds += frame?.seconds ?? 0;
    at += frame?.length ?? 1;
    if (++tries > 2 * mostMisses) return undefined;
  }
  return seconds > 0 ? seconds : undefined;
}

/** Samples a second, by their index; 0 is what the head states. */
const flacRates = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100]
  .concat([48_000, 96_000]);

/** A frame's own head: how long it is, and what the frame lasts. */
function flacFrame(
  bytes: Buffer,
  at: number,
  headRate: number,
): { length: number; seconds: number } | undefined {
  const [block, rate, form] = [bytes[at + 2]! >> 4, bytes[at + 2]! & 15, bytes[at + 3]!];
  const isPossible = (bytes[at + 1]! & 0xfe) === 0xf8 && block > 0 && rate < 15 &&
    form < 0xb0 && (form & 1) === 0 && (form >> 1 & 7) !== 3;
  if (!isPossible) return undefined;
  // The frame's number is written as UTF-8 is: the ones in front say how long.
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

/** Of each byte: a crafted file has a million heads to sum up. */
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
  /** What its head begins with. */
  magic: string;
  headLength: number;
  /** What the pages count a second. */
  rate: (head: Buffer) => number;
  /** What a packet lasts. */
  seconds: (packet: Buffer, head: Buffer) => number;
}

const oggCodecs: readonly OggCodec[] = [
  // At whatever rate it was recorded.
  { magic: "OpusHead", headLength: 19, rate: () => 48_000, seconds: opusSeconds },
  {
    magic: "\x01vorbis",
    headLength: 30,
    rate: (head) => head.readUInt32LE(12),
    // Each block overlaps half of the one before. Encoders number the long ones 1; heads are odd.
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

/** "Opus", with which its head and its tags begin. */
const tagsId = 0x4f707573;

/** RFC 6716, 3.1: the first byte names the length of its frames, and how many there are. */
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

/** What encoders put before and after the sound, which the pages don't count. */
const paddingSeconds = 0.4;
/** So many bytes of a packet tell how long it lasts. */
const packetHead = 20;
/**
 * Of 20 ms, as usual, these are more than five hours; with more of them the length is unknown. A page
 * without any counts as one.
 */
const mostPackets = 1_000_000;

/**
 * Streams that were chained one after the other last as long as all of them; and at least as long as
 * their packets, since decoders play these, whatever the pages count.
 */
function oggSeconds(bytes: Buffer): number | undefined {
  let [stated, counted, rate, granule, serial] = [0, 0, 1, 0, -1];
  let packets = 0;
  let packetSeconds: ((packet: Buffer) => number) | undefined;
  for (let at = 0, end = 0; at >= 0 && at + 27 <= bytes.length; at = nextPage(bytes, end)) {
    const start = Math.min(bytes.length, at + 27 + bytes[at + 26]!);
    end = start;
    for (let index = at + 27; index < start; index++) end += bytes[index]!;
    if ((packets += Math.max(1, bytes[at + 26]!)) > mostPackets) return undefined;
    if ((bytes[at + 5]! & 2) !== 0) {
      const head = bytes.subarray(start, Math.min(end, start + 80));
      const begin = head.toString("latin1", 0, 8);
      const codec = oggCodecs.find(({ magic }) => begin.startsWith(magic));
      // Pictures and their captions may stand beside the sound.
      if (!codec || head.length < codec.headLength) continue;
      stated += granule / rate;
      [rate, granule, serial] = [codec.rate(head), 0, bytes.readUInt32LE(at + 14)];
      packetSeconds = (packet) => codec.seconds(packet, head);
    } else if (packetSeconds && bytes.readUInt32LE(at + 14) === serial) {
      // A page may begin in the middle of a packet, and packets of 255 bytes and more go on.
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

/** Where the next page begins, mostly at once: a search costs more than a page. */
function nextPage(bytes: Buffer, at: number): number {
  const isHere = at + 4 <= bytes.length && bytes.readUInt32BE(at) === pageId;
  return isHere ? at : bytes.indexOf(pageMagic, at);
}

const layer3BitRates = {
  1: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const sampleRates = [44_100, 48_000, 32_000] as const;
/** Places tried that hold no frame; a picture of 20 MB has a third of these. */
const mostMisses = 256 * 1024;

/**
 * MP3 and AAC in ADTS: a sequence of frames, each with its own header. Files that were joined have
 * tags with pictures in the middle. Any bytes have some that look like frames (a WebM recording of
 * ten minutes 20 seconds of them), so frames that are less than half of a file say nothing.
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
      if (++misses > mostMisses) return undefined;
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
  // Up to four blocks of sound in one frame.
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
