/** Helpers that assemble bytes, for the writers of file formats. */

export type Bytes = Uint8Array<ArrayBuffer>;

/** Concatenates all parts; numbers are single bytes, strings ASCII. */
export function joined(...parts: (Uint8Array | readonly number[] | string)[]): Bytes {
  const pieces = parts.map((part) =>
    typeof part === "string"
      ? new TextEncoder().encode(part)
      : part instanceof Uint8Array
      ? part
      : Uint8Array.from(part)
  );
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Big-endian. */
export function u32(value: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

/** Little-endian. */
export function le32(value: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

/** Little-endian. */
export function le16(value: number): Bytes {
  return Uint8Array.of(value & 0xff, (value >> 8) & 0xff);
}

/** Packs bits into bytes, from the highest bit of each down. */
export class BitWriter {
  readonly #bytes: number[] = [];
  #current = 0;
  #filled = 0;

  write(value: number, bits: number): void {
    for (let bit = bits - 1; bit >= 0; bit--) {
      this.#current = (this.#current << 1) | ((value >>> bit) & 1);
      if (++this.#filled === 8) {
        this.#bytes.push(this.#current);
        this.#current = 0;
        this.#filled = 0;
      }
    }
  }

  /** Returns what was written, with the last byte padded with `fill` bits. */
  end(fill: 0 | 1 = 0): number[] {
    while (this.#filled > 0) this.write(fill, 1);
    return this.#bytes;
  }
}
