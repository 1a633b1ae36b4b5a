import { released } from "./gc_hint.ts";

const lenient = new TextDecoder();

/** UTF-8 as text, without a byte order mark; what is not UTF-8 becomes U+FFFD. */
export function utf8Text(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/** Concatenates the pieces; a single piece is returned as it is, without a copy. */
export function joinBytes<B extends ArrayBufferLike>(
  pieces: readonly Uint8Array<B>[],
): Uint8Array<B | ArrayBuffer> {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * Concatenates pieces that only the caller has, and frees their memory at once: the garbage collector
 * would let it pile up. The pieces must not be used afterwards.
 */
export function joinAndFree(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = joinBytes(pieces);
  for (const piece of pieces.length > 1 ? pieces : []) released(piece);
  return whole;
}
