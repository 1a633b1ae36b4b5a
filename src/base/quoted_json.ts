import { released } from "./gc_hint.ts";
import type { Steps } from "./steps.ts";
import { writeJsonPieces } from "./write_json.ts";

/**
 * A JSON text as the UTF-8 bytes of a JSON string. Another JSON text can contain it as it is, so
 * that a large one needn't be escaped all at once. Its memory is shared with the threads that it is
 * sent to, which would take long to copy; nobody changes it.
 */
export type QuotedJson = Uint8Array;

/** The fewest units that are quoted, and the most bytes that are read, in a step. */
const pieceLength = 128 * 1024;
const quote = 0x22;
const encoder = new TextEncoder();

/** Writes a JSON value as quoted text, in steps. */
export function* quoteJson(value: unknown): Steps<QuotedJson> {
  const chunks: Uint8Array[] = [];
  const pieces: string[] = [];
  let text = "";
  const flush = () => {
    text += pieces.splice(0).join("");
    if (text.length < pieceLength) return;
    chunks.push(encoder.encode(JSON.stringify(text)));
    text = "";
  };
  for (const _step of writeJsonPieces(value, pieces)) {
    yield;
    flush();
    yield;
  }
  flush();
  chunks.push(encoder.encode(JSON.stringify(text)));
  return yield* joined(chunks);
}

/** Quotes a JSON text, in steps. */
export function* quoteText(text: string): Steps<QuotedJson> {
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < text.length; from += pieceLength) {
    chunks.push(encoder.encode(JSON.stringify(text.slice(from, from + pieceLength))));
    yield;
  }
  return yield* joined(chunks);
}

/** Joins JSON strings; each has its own quotes. */
function* joined(chunks: readonly Uint8Array[]): Steps<QuotedJson> {
  const length = chunks.reduce((sum, { length }) => sum + length - 2, 2);
  const all = new Uint8Array(new SharedArrayBuffer(length));
  all[0] = all[all.length - 1] = quote;
  let at = 1;
  for (const chunk of chunks) {
    all.set(chunk.subarray(1, -1), at);
    at += chunk.length - 2;
    released(chunk);
    yield;
  }
  return all;
}

/** Reads quoted text, in steps. */
export function* unquoteJson(quoted: QuotedJson): Steps<string> {
  const decoder = new TextDecoder();
  const texts: string[] = [];
  const end = quoted.length - 1;
  let rest = "";
  for (let from = 1; from < end; from += pieceLength) {
    const to = Math.min(end, from + pieceLength);
    const text = rest + decoder.decode(quoted.subarray(from, to), { stream: to < end });
    const whole = to < end ? endOfEscapes(text) : text.length;
    texts.push(JSON.parse(`"${text.slice(0, whole)}"`));
    rest = text.slice(whole);
    yield;
  }
  return texts.join("");
}

/** Returns where a piece of a JSON string can be cut without cutting one of its escapes. */
function endOfEscapes(text: string): number {
  const last = text.lastIndexOf("\\");
  // The longest escape is `\u` with four digits.
  if (last < text.length - 5) return text.length;
  let before = last;
  while (before > 0 && text[before - 1] === "\\") before--;
  // The backslashes in front of an odd one escape each other.
  return (last - before) % 2 === 0 ? last : text.length;
}
