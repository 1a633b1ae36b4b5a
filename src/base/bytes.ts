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
