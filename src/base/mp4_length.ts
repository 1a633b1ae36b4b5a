import type { Buffer } from "node:buffer";

/**
 * Duration of an MP4 file's sound in seconds: as its head states it, unless its tracks say that there
 * is more, since decoders go by the samples. Undefined where the head can't say it, as in fragments,
 * which browsers record, and where there are more boxes than any file has.
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

/** Silence that encoders put before and after the sound, which the head doesn't count. */
const paddingSeconds = 0.4;
/** No real file has more at one place; a file that does has no known length. */
const mostBoxes = 100;

class TooManyBoxes extends Error {}

interface Box {
  type: string;
  /** Of its contents. */
  start: number;
  end: number;
}

function* boxes(bytes: Buffer, { start, end }: Box): Generator<Box> {
  for (let at = start, left = mostBoxes; at + 16 <= end; left--) {
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

/** The number of 32 bits at a place of a box. */
function numberAt(bytes: Buffer, box: Box | undefined, offset: number): number | undefined {
  if (!box || box.start + offset + 4 > box.end) return undefined;
  return bytes.readUInt32BE(box.start + offset);
}

function isSound(bytes: Buffer, track: Box): boolean {
  const handler = find(bytes, track, "mdia", "hdlr");
  return handler !== undefined &&
    bytes.toString("latin1", handler.start + 8, handler.start + 12) === "soun";
}

/** The longest of what a track states, of its table of times, and of its samples. */
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
  const length = bytesOf(bytes, sizes!, samples);
  if (losslessCodecs.includes(codec)) return Math.max(tabled, length / mostLosslessBytes);
  return Math.max(tabled, length / mostPackedBytes, samples * leastPacketSeconds);
}

const losslessCodecs = ["alac", "fLaC", "sowt", "twos", "lpcm", "ipcm", "fpcm", "in24", "in32"]
  .concat(["fl32", "fl64", "raw ", "ulaw", "alaw"]);
/** Bytes a second that no usual file exceeds: the tables can't make sound as short as they like. */
const [mostLosslessBytes, mostPackedBytes] = [300_000, 64_000];
/** No codec has shorter packets than Opus, each of them one sample of the file. */
const leastPacketSeconds = 0.0025;

/** Of all samples of a track; 0 where their sizes are written in the rare short form. */
function bytesOf(bytes: Buffer, sizes: Box, samples: number): number {
  if (sizes.type !== "stsz") return 0;
  const each = numberAt(bytes, sizes, 4);
  if (each) return each * samples;
  let sum = 0;
  for (let at = sizes.start + 12; at + 4 <= sizes.end; at += 4) sum += bytes.readUInt32BE(at);
  return sum;
}

/** Of `mvhd` and `mdhd`; undefined where the length is unknown, which is written as 0 or all ones. */
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
/** Samples of sound a second of AAC, by their index. */
export const aacRates = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000]
  .concat([12_000, 11_025, 8_000, 7_350]);

/** A description of a codec has a few hundred bytes. */
const mostFormatBytes = 64 * 1024;

/** The rate that its decoder reads; undefined where the description of the codec can't be read. */
function aacRate(bytes: Buffer, format: Box): number | undefined {
  const end = Math.min(format.end, format.start + mostFormatBytes);
  const found = bytes.subarray(format.start, end).indexOf("esds", 0, "latin1");
  if (found < 0) return undefined;
  // The version of the box; then one descriptor in the other, after the fields of each.
  let at = format.start + found + 8;
  for (const [tag, fields] of [[3, 3], [4, 13], [5, 0]] as const) {
    if (bytes[at] !== tag) return undefined;
    // Its length ends with a byte below 128.
    do at++; while (bytes[at]! >= 128);
    at += 1 + fields;
  }
  if (at + 2 > end) return undefined;
  return aacRates[bytes.readUInt16BE(at) >>> 7 & 15];
}
