import { type Bytes, joined, le32 } from "./bytes.ts";

/** A lossless WEBP of one colour: every code has a single symbol, so pixels take no bits at all. */
export function webp(
  width: number,
  height: number,
  [red, green, blue]: readonly [number, number, number],
): Bytes {
  const bits = new LowBits();
  bits.write(width - 1, 14);
  bits.write(height - 1, 14);
  // No alpha, version 0; no transform, no colour cache, no meta codes.
  bits.write(0, 1);
  bits.write(0, 3);
  bits.write(0, 1);
  bits.write(0, 1);
  bits.write(0, 1);
  for (const symbol of [green, red, blue, 255]) single(bits, symbol);
  single(bits, 0);
  const data = joined([0x2f], bits.end());
  const padded = data.length % 2 === 1 ? joined(data, [0]) : data;
  return joined(
    "RIFF",
    le32(12 + padded.length),
    "WEBP",
    "VP8L",
    le32(data.length),
    padded,
  );
}

/** Writes a simple prefix code with one symbol of eight bits. */
function single(bits: LowBits, symbol: number): void {
  bits.write(1, 1);
  bits.write(0, 1);
  bits.write(1, 1);
  bits.write(symbol, 8);
}

/** Packs bits into bytes, from the lowest bit of each up. */
class LowBits {
  readonly #bytes: number[] = [];
  #filled = 0;

  write(value: number, bits: number): void {
    for (let bit = 0; bit < bits; bit++) {
      if (this.#filled % 8 === 0) this.#bytes.push(0);
      const last = this.#bytes.length - 1;
      this.#bytes[last]! |= ((value >>> bit) & 1) << (this.#filled % 8);
      this.#filled++;
    }
  }

  end(): number[] {
    return this.#bytes;
  }
}
