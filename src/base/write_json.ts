import { itemsAt, type TextRange } from "./json_text.ts";
import type { Steps } from "./steps.ts";

/** Approximate number of UTF-16 units per step. */
const pieceUnits = 256 * 1024;

/** `JSON.stringify` of a JSON value, a few hundred kilobytes at a time. */
export function* writeJson(value: unknown): Steps<string> {
  const pieces: string[] = [];
  yield* writeJsonPieces(value, pieces);
  return pieces.join("");
}

/**
 * Writes a list in place of another, whose items are `former` and whose text is at `range`. Items of
 * both keep their text: JavaScript's numbers are less exact than JSON's.
 */
export function* rewriteItems(
  text: string,
  range: TextRange,
  former: readonly unknown[],
  items: readonly unknown[],
): Steps<string> {
  const ranges = yield* itemsAt(text, range);
  const texts = new Map(ranges.map(({ start, end }, at) => [former[at], text.slice(start, end)]));
  const written: string[] = [];
  for (const item of items) written.push(texts.get(item) ?? (yield* writeJson(item)));
  return `[${written.join(",")}]`;
}

/** `writeJson` that adds to `pieces`, which may be emptied between steps; none cuts a character. */
export function* writeJsonPieces(value: unknown, pieces: string[]): Steps<void> {
  if (typeof value === "string" && value.length > pieceUnits) {
    yield* writeString(value, pieces);
  } else if (typeof value !== "object" || value === null || left(value, pieceUnits) > 0) {
    // Undefined becomes null, as in an array; undefined members are skipped by `writeObject`.
    pieces.push(JSON.stringify(value) ?? "null");
    yield;
  } else if (Array.isArray(value)) yield* writeArray(value, pieces);
  else yield* writeObject(value, pieces);
}

/** Writes runs of short elements together. */
function* writeArray(list: readonly unknown[], pieces: string[]): Steps<void> {
  pieces.push("[");
  let from = 0;
  let room = pieceUnits;
  const flush = (to: number) => {
    if (from >= to) return;
    pieces.push(from > 0 ? "," : "", JSON.stringify(list.slice(from, to)).slice(1, -1));
    from = to;
    room = pieceUnits;
  };
  for (let index = 0; index < list.length; index++) {
    const one = list[index];
    const rest = left(one, room);
    if (rest > 0) {
      room = rest;
      continue;
    }
    flush(index);
    yield;
    room = left(one, pieceUnits);
    if (room > 0) continue;
    pieces.push(index > 0 ? "," : "");
    yield* writeJsonPieces(one, pieces);
    from = index + 1;
    room = pieceUnits;
  }
  flush(list.length);
  pieces.push("]");
}

function* writeObject(object: object, pieces: string[]): Steps<void> {
  let before = "{";
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    pieces.push(before, JSON.stringify(key), ":");
    before = ",";
    yield* writeJsonPieces(value, pieces);
  }
  pieces.push(before === "{" ? "{}" : "}");
}

function* writeString(text: string, pieces: string[]): Steps<void> {
  pieces.push('"');
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + pieceUnits);
    // Half of a surrogate pair would be written as an escape.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++;
    const piece = text.slice(from, to);
    const quoted = JSON.stringify(piece);
    // Without an escape it is written as it is; a picture is not copied.
    pieces.push(quoted.length === piece.length + 2 ? piece : quoted.slice(1, -1));
    from = to;
    yield;
  }
  pieces.push('"');
}

/** Whether a JSON value is written with fewer UTF-16 units, approximately; looks no further. */
export function isWrittenWithin(value: unknown, units: number): boolean {
  return left(value, units) > 0;
}

/** `room` minus the units of a value; stops at zero or below. */
function left(value: unknown, room: number): number {
  if (typeof value === "string") return room - value.length - 3;
  if (typeof value !== "object" || value === null) return room - 6;
  let rest = room - 3;
  if (Array.isArray(value)) {
    for (const one of value) {
      if (rest <= 0) return rest;
      rest = left(one, rest);
    }
    return rest;
  }
  const record = value as Readonly<Record<string, unknown>>;
  for (const key in record) {
    if (rest <= 0) return rest;
    rest = left(record[key], rest - key.length - 4);
  }
  return rest;
}
