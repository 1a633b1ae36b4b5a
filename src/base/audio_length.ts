import { Buffer } from "node:buffer";
import { aacRates, mp4Seconds } from "./mp4_length.ts";

/**
 * Duration of an audio file in seconds, from its container; undefined for formats and files that
 * don't state it (WebM, recordings in fragments) and for anything but audio. Reads headers only; of
 * MP3 and AAC it counts the frames.
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
/** The kind that says: the real one stands further on in the chunk. */
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

function flacSeconds(bytes: Buffer): number | undefined {
  if (bytes.length < 26) return undefined;
  const rate = bytes.readUIntBE(18, 3) >> 4;
  const samples = (bytes[21]! & 0x0f) * 2 ** 32 + bytes.readUInt32BE(22);
  if (rate === 0 || samples === 0) return undefined;
  const bits = ((bytes[20]! >> 1 & 7) + 1) * ((bytes.readUInt16BE(20) >> 4 & 31) + 1);
  let [start, isLast] = [4, false];
  while (!isLast && start + 4 <= bytes.length) {
    isLast = bytes[start]! >= 128;
    start += 4 + bytes.readUIntBE(start + 1, 3);
  }
  // The head may state too few samples. Frames are hardly larger than their samples uncompressed.
  const least = 0.95 * Math.max(0, bytes.length - start) * 8 / bits;
  return Math.max(samples, least) / rate;
}

interface OggCodec {
  /** What the head of its stream begins with. */
  magic: string;
  headBytes: number;
  /** What its pages count a second. */
  rate(head: Buffer): number;
}

const oggCodecs: readonly OggCodec[] = [
  // At whatever rate it was recorded.
  { magic: "OpusHead", headBytes: 19, rate: () => 48_000 },
  { magic: "\x01vorbis", headBytes: 30, rate: (head) => head.readUInt32LE(12) },
  { magic: "\x7fFLAC", headBytes: 51, rate: (head) => head.readUIntBE(27, 3) >> 4 },
  { magic: "Speex   ", headBytes: 80, rate: (head) => head.readUInt32LE(36) },
];

/** Streams that were chained one after the other last as long as all of them. */
function oggSeconds(bytes: Buffer): number | undefined {
  const page = Buffer.from("OggS");
  let [seconds, rate, granule, serial] = [0, 1, 0, -1];
  for (let at = 0, end = 0; at >= 0 && at + 27 <= bytes.length; at = bytes.indexOf(page, end)) {
    const start = at + 27 + bytes[at + 26]!;
    end = start;
    for (let index = at + 27; index < start; index++) end += bytes[index] ?? 0;
    if ((bytes[at + 5]! & 2) !== 0) {
      const head = bytes.subarray(start, Math.min(end, start + 80));
      const codec = oggCodecs.find(({ magic }) => head.indexOf(magic, 0, "latin1") === 0);
      // Pictures and their captions may stand beside the sound.
      if (!codec || head.length < codec.headBytes) continue;
      seconds += granule / rate;
      [rate, granule, serial] = [codec.rate(head), 0, bytes.readUInt32LE(at + 14)];
    }
    if (bytes.readUInt32LE(at + 14) !== serial) continue;
    granule = Math.max(granule, bytes.readInt32LE(at + 10) * 2 ** 32 + bytes.readUInt32LE(at + 6));
  }
  return serial < 0 ? undefined : seconds + granule / rate;
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
  for (let at = start; at >= 0 && at + 6 <= bytes.length;) {
    const header = bytes.readUInt32BE(at);
    const frame = mp3Frame(header) ?? adtsFrame(header, bytes.readUInt16BE(at + 4));
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
  const length = (header & 3) << 11 | more >>> 5;
  if ((header & 0xfff6_0000) >>> 0 !== 0xfff0_0000 || !rate || length < 7) return undefined;
  return { length, seconds: 1024 / rate };
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
