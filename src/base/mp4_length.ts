import type { Buffer } from "node:buffer";

/**
 * Returns the duration of an MP4 file's sound in seconds: what the file's header states, or its
 * longest track if that is more, since decoders play the samples. Undefined if the header can't
 * state it, as in fragmented files, which browsers record, and if there are more boxes than any
 * file has.
 */
export function mp4Seconds(bytes: Buffer): number | undefined {
  try {
    return soundSeconds(bytes);
  } catch (thrown) {
    if (thrown instanceof TooManyBoxes) return undefined;
    throw thrown;
  }
}

function soundSeconds(bytes: Buffer): number | undefined {
  const file = { type: "file", start: 0, end: bytes.length };
  const moov = find(bytes, file, "moov");
  if (!moov || find(bytes, moov, "mvex") || find(bytes, file, "moof")) return undefined;
  const stated = find(bytes, moov, "mvhd");
  let longest: number | undefined;
  for (const track of boxes(bytes, moov)) {
    if (track.type !== "trak" || !isSound(bytes, track)) continue;
    const seconds = trackSeconds(bytes, track);
    if (seconds === undefined) return undefined;
    longest = Math.max(longest ?? 0, seconds);
  }
  if (longest === undefined) return undefined;
  const seconds = stated && statedSeconds(bytes, stated);
  return seconds === undefined ? longest : Math.max(seconds, longest - paddingSeconds);
}

/** Padding that encoders add before and after the sound; the file's header doesn't count it. */
const paddingSeconds = 0.4;
/** No real file has more at one place; a file that does has no known length. */
const maxBoxes = 100;

class TooManyBoxes extends Error {}

interface Box {
  type: string;
  /** Where its contents start. */
  start: number;
  end: number;
}

function* boxes(bytes: Buffer, { start, end }: Box): Generator<Box> {
  for (let at = start, left = maxBoxes; at + 16 <= end; left--) {
    if (left === 0) throw new TooManyBoxes();
    const short = bytes.readUInt32BE(at);
    const size = short === 1
      ? Number(bytes.readBigUInt64BE(at + 8))
      : short === 0
      ? end - at
      : short;
    const head = short === 1 ? 16 : 8;
    if (size < head) return;
    const type = bytes.toString("latin1", at + 4, at + 8);
    yield { type, start: at + head, end: Math.min(end, at + size) };
    at += size;
  }
}

function find(bytes: Buffer, within: Box, ...path: string[]): Box | undefined {
  let found: Box | undefined = within;
  for (const type of path) {
    found = found && boxes(bytes, found).find((box) => box.type === type);
  }
  return found;
}

/** Reads the 32-bit number at an offset into a box's contents. */
function numberAt(bytes: Buffer, box: Box | undefined, offset: number): number | undefined {
  if (!box || box.start + offset + 4 > box.end) return undefined;
  return bytes.readUInt32BE(box.start + offset);
}

function isSound(bytes: Buffer, track: Box): boolean {
  const handler = find(bytes, track, "mdia", "hdlr");
  return handler !== undefined &&
    bytes.toString("latin1", handler.start + 8, handler.start + 12) === "soun";
}

/**
 * Returns the longest of three durations: the one that the track states, the one of its time table,
 * and the shortest that its samples can have.
 */
function trackSeconds(bytes: Buffer, track: Box): number | undefined {
  const head = find(bytes, track, "mdia", "mdhd");
  const table = find(bytes, track, "mdia", "minf", "stbl");
  const times = table && find(bytes, table, "stts");
  const sizes = table && (find(bytes, table, "stsz") ?? find(bytes, table, "stz2"));
  const format = table && find(bytes, table, "stsd");
  const [scale, samples] = [head && scaleOf(bytes, head).scale, numberAt(bytes, sizes, 8)];
  if (!head || !times || !format || !scale || samples === undefined) return undefined;
  let ticks = 0;
  for (let at = times.start + 8; at + 8 <= times.end; at += 8) {
    ticks += bytes.readUInt32BE(at) * bytes.readUInt32BE(at + 4);
  }
  const tabled = Math.max(statedSeconds(bytes, head) ?? 0, ticks / scale);
  const codec = bytes.toString("latin1", format.start + 12, format.start + 16);
  if (codec === "mp4a") {
    const rate = aacRate(bytes, format);
    return rate && Math.max(tabled, samples * aacFrame / rate);
  }
  const length = sampleBytes(bytes, sizes!, samples);
  if (losslessCodecs.includes(codec)) return Math.max(tabled, length / maxLosslessBytes);
  return Math.max(tabled, length / maxPackedBytes, samples * minPacketSeconds);
}

const losslessCodecs = ["alac", "fLaC", "sowt", "twos", "lpcm", "ipcm", "fpcm", "in24", "in32"]
  .concat(["fl32", "fl64", "raw ", "ulaw", "alaw"]);
/**
 * Bytes per second that no usual file exceeds, so that false tables can't make sound arbitrarily
 * short.
 */
const [maxLosslessBytes, maxPackedBytes] = [300_000, 64_000];
/** Duration of the shortest packets of any codec (Opus). Each packet is one sample of the file. */
const minPacketSeconds = 0.0025;

/**
 * Returns the bytes of all samples of a track; 0 if their sizes are in the rare compact form
 * (`stz2`).
 */
function sampleBytes(bytes: Buffer, sizes: Box, samples: number): number {
  if (sizes.type !== "stsz") return 0;
  const each = numberAt(bytes, sizes, 4);
  if (each) return each * samples;
  let sum = 0;
  for (let at = sizes.start + 12; at + 4 <= sizes.end; at += 4) sum += bytes.readUInt32BE(at);
  return sum;
}

/**
 * Reads the duration in `mvhd` or `mdhd`, in seconds; undefined if unknown, written as 0 or all
 * ones.
 */
function statedSeconds(bytes: Buffer, head: Box): number | undefined {
  const { scale, isLong } = scaleOf(bytes, head);
  const [high, low] = isLong ? [24, 28] : [16, 16];
  const [upper, lower] = [numberAt(bytes, head, high), numberAt(bytes, head, low)];
  if (!scale || upper === undefined || !lower || lower === 0xffff_ffff) return undefined;
  return ((isLong ? upper * 2 ** 32 : 0) + lower) / scale;
}

function scaleOf(bytes: Buffer, head: Box): { scale: number | undefined; isLong: boolean } {
  const isLong = bytes[head.start] === 1;
  return { scale: numberAt(bytes, head, isLong ? 20 : 12), isLong };
}

/** Samples of sound in one frame of AAC. */
const aacFrame = 1024;
/** Samples per second of AAC, by the index in its headers. */
export const aacRates = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000]
  .concat([12_000, 11_025, 8_000, 7_350]);

/** Bytes of a codec's description that are searched at most; usual ones have a few hundred. */
const maxFormatBytes = 64 * 1024;

/** Returns the rate in the decoder's configuration (`esds`); undefined if that can't be read. */
function aacRate(bytes: Buffer, format: Box): number | undefined {
  const end = Math.min(format.end, format.start + maxFormatBytes);
  const found = bytes.subarray(format.start, end).indexOf("esds", 0, "latin1");
  if (found < 0) return undefined;
  // The box's version is followed by nested descriptors, each after the fields of the one around
  // it.
  let at = format.start + found + 8;
  for (const [tag, fields] of [[3, 3], [4, 13], [5, 0]] as const) {
    if (bytes[at] !== tag) return undefined;
    // The descriptor's length ends with a byte below 128.
    do at++; while (bytes[at]! >= 128);
    at += 1 + fields;
  }
  if (at + 2 > end) return undefined;
  return aacRates[bytes.readUInt16BE(at) >>> 7 & 15];
}
