import { BitWriter, type Bytes, joined } from "./bytes.ts";

/** A baseline grey JPEG whose 8×8 blocks go from dark to light. */
export function jpeg(width: number, height: number, seed: number): Bytes {
  return joined(
    [0xff, 0xd8],
    segment(0xe0, joined("JFIF", [0, 1, 1, 0, 0, 1, 0, 1, 0, 0])),
    // Every step of the quantisation is 8, so that a difference of 1 is one shade.
    segment(0xdb, joined([0], new Array(64).fill(8))),
    segment(0xc0, [8, height >> 8, height & 0xff, width >> 8, width & 0xff, 1, 1, 0x11, 0]),
    segment(0xc4, joined([0x00], DC_COUNTS, DC_VALUES)),
    segment(0xc4, joined([0x10], AC_COUNTS, AC_VALUES)),
    segment(0xda, [1, 1, 0x00, 0, 63, 0]),
    scan(Math.ceil(width / 8), Math.ceil(height / 8), seed),
    [0xff, 0xd9],
  );
}

/** Twelve DC codes of four bits: category n has the code n. */
const DC_COUNTS = [0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const DC_VALUES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/** One AC code of one bit: end of block. */
const AC_COUNTS = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const AC_VALUES = [0];

function scan(columns: number, rows: number, seed: number): Bytes {
  const bits = new BitWriter();
  let before = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const shade = ((row + column + seed) % 128) - 64;
      writeDifference(bits, shade - before);
      bits.write(0, 1);
      before = shade;
    }
  }
  const stuffed = bits.end(1).flatMap((byte) => byte === 0xff ? [byte, 0] : [byte]);
  return Uint8Array.from(stuffed);
}

function writeDifference(bits: BitWriter, difference: number): void {
  const size = difference === 0 ? 0 : 32 - Math.clz32(Math.abs(difference));
  bits.write(size, 4);
  bits.write(difference < 0 ? difference + 2 ** size - 1 : difference, size);
}

function segment(marker: number, data: Uint8Array | readonly number[]): Bytes {
  const length = data.length + 2;
  return joined([0xff, marker, length >> 8, length & 0xff], data);
}
