import { Buffer } from "node:buffer";
import { systemClock } from "./clock.ts";
import { released } from "./gc_hint.ts";
import type { Steps } from "./steps.ts";
import { Turns } from "./turns.ts";

const lenient = new TextDecoder();

/** UTF-8 as text, without a byte order mark; what is not UTF-8 becomes U+FFFD. */
export function utf8Text(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/** Bytes per step. */
const decodedBytes = 1024 * 1024;

/** The same in steps. */
export function* utf8Steps(bytes: Uint8Array): Steps<string> {
  if (bytes.length <= decodedBytes) return utf8Text(bytes);
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; from += decodedBytes) {
    pieces.push(decoder.decode(bytes.subarray(from, from + decodedBytes), { stream: true }));
    yield;
  }
  pieces.push(decoder.decode());
  return pieces.join("");
}

/** Text as UTF-8, in steps; half a surrogate pair becomes U+FFFD. */
export function* utf8Bytes(text: string): Steps<Uint8Array> {
  if (text.length <= encodedUnits) return encoder.encode(text);
  const bytes = new Uint8Array(Buffer.byteLength(text));
  let at = 0;
  for (let from = 0; from < text.length;) {
    yield;
    let to = from + encodedUnits;
    // The next step has the first half: what follows it may be half of another pair.
    if ((text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--;
    at += encoder.encodeInto(text.slice(from, to), bytes.subarray(at)).written;
    from = to;
  }
  return bytes;
}

const encoder = new TextEncoder();

/** UTF-16 units per step. */
const encodedUnits = 1024 * 1024;

/** Concatenates the pieces; a single piece is returned as it is, without a copy. */
export function joinBytes<B extends ArrayBufferLike>(
  pieces: readonly Uint8Array<B>[],
): Uint8Array<B | ArrayBuffer> {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(lengthOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** How long pieces are joined before other work gets its turn. */
const turnMs = 2;

/**
 * Concatenates pieces that only the caller has, in turns with other work, and frees the memory of
 * each at once: the garbage collector would let it pile up. The pieces must not be used afterwards.
 */
export async function joinAndFree(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const turns = new Turns(systemClock, turnMs);
  const whole = new Uint8Array(lengthOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    const pause = turns.pause();
    if (pause) await pause;
    whole.set(piece, at);
    at += piece.length;
    released(piece);
  }
  return whole;
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
