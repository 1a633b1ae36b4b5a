import { crc32, deflateSync } from "node:zlib";
import { type Bytes, joined, u32 } from "./bytes.ts";

/**
 * A PNG of a gradient, 8-bit RGB or, where `isTransparent`, RGBA with a see-through corner.
 * `minBytes` makes the file at least that large, with a private chunk that viewers skip.
 */
export function png(
  width: number,
  height: number,
  colour: readonly [number, number, number],
  options: { isTransparent?: boolean; minBytes?: number } = {},
): Bytes {
  const channels = options.isTransparent === true ? 4 : 3;
  const header = joined(u32(width), u32(height), [8, channels === 4 ? 6 : 2, 0, 0, 0]);
  const rows = pixels(width, height, colour, channels);
  const picture = [
    joined([0x89], "PNG\r\n", [0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows, { level: 1 })),
  ];
  const size = picture.reduce((sum, part) => sum + part.length, 0) + 2 * 12;
  const missing = (options.minBytes ?? 0) - size;
  if (missing > 0) picture.push(chunk("siMu", noise(missing, colour[0])));
  return joined(...picture, chunk("IEND", new Uint8Array()));
}

function pixels(
  width: number,
  height: number,
  [red, green, blue]: readonly [number, number, number],
  channels: 3 | 4,
): Bytes {
  const stride = 1 + width * channels;
  const bytes = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const shade = y / height;
    for (let x = 0; x < width; x++) {
      const at = y * stride + 1 + x * channels;
      bytes[at] = red * (1 - shade);
      bytes[at + 1] = (green * x) / width;
      bytes[at + 2] = blue * shade;
      if (channels === 4) bytes[at + 3] = x + y < width / 4 ? 0 : 255;
    }
  }
  return bytes;
}

/** Returns incompressible bytes, the same for the same seed. */
function noise(length: number, seed: number): Bytes {
  const bytes = new Uint8Array(length);
  let state = seed + 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

function chunk(type: string, data: Uint8Array): Bytes {
  const body = joined(type, data);
  return joined(u32(data.length), body, u32(crc32(body)));
}
