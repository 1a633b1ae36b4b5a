/**
 * A strict reader for server-sent events, as our streams must be written. It shares no code with
 * the product's readers, so that an error in those can't hide an error in a stream.
 */

/** Why a stream breaks the grammar of its dialect. */
export class GrammarError extends Error {
  override name = "GrammarError";
}

export function must(holds: unknown, reason: string): asserts holds {
  if (!holds) throw new GrammarError(reason);
}

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function object(value: unknown, name: string): Json {
  must(isObject(value), `${name} is no object`);
  return value;
}

export function list(value: unknown, name: string): readonly unknown[] {
  must(Array.isArray(value), `${name} is no array`);
  return value;
}

export function text(value: unknown, name: string): string {
  must(typeof value === "string", `${name} is no string`);
  return value;
}

/** Returns a string that isn't empty. */
export function words(value: unknown, name: string): string {
  must(text(value, name) !== "", `${name} is empty`);
  return value as string;
}

/** Returns a whole number of at least 0. */
export function count(value: unknown, name: string): number {
  must(Number.isSafeInteger(value) && (value as number) >= 0, `${name} is no count`);
  return value as number;
}

export function has(value: Json, name: string, keys: readonly string[]): void {
  for (const key of keys) must(Object.hasOwn(value, key), `${name}.${key} is missing`);
}

export function hasOnly(value: Json, name: string, keys: readonly string[]): void {
  for (const key of Object.keys(value)) must(keys.includes(key), `${name}.${key} is not known`);
}

export interface Frame {
  /** Value of the `event:` line. */
  event: string | undefined;
  data: string;
}

/** Returns a stream's text; bytes must be valid UTF-8. */
export function textOf(stream: string | Uint8Array): string {
  if (typeof stream === "string") return stream;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(stream);
  } catch {
    throw new GrammarError("the bytes are not UTF-8");
  }
}

/**
 * Returns a stream's events, without comments. An event is an optional `event:` line, one `data:`
 * line, each with a space after the colon, and a blank line.
 */
export function frames(stream: string | Uint8Array): Frame[] {
  const pieces = textOf(stream).split(/\r\n\r\n|\n\n/);
  must(pieces.pop() === "", "the last event lacks its blank line");
  return pieces.flatMap((piece) => {
    const lines = piece.split(/\r\n|\n/).filter((line) => !line.startsWith(":"));
    must(lines.length > 0 || piece.startsWith(":"), "an event without lines");
    return lines.length === 0 ? [] : [frame(lines)];
  });
}

function frame(lines: readonly string[]): Frame {
  let event: string | undefined;
  let data: string | undefined;
  for (const line of lines) {
    const [, field, value] = /^(event|data): ([^]*)$/.exec(line) ?? [];
    must(field !== undefined, `not a line of an event: ${JSON.stringify(line.slice(0, 40))}`);
    if (field === "event") {
      must(event === undefined && data === undefined, "an event: line that isn't the first line");
      event = value;
    } else {
      must(data === undefined, "an event with two data: lines");
      data = value;
    }
  }
  must(data !== undefined, "an event without a data: line");
  return { event, data };
}

/** Parses a frame's data as a JSON object. */
export function json(data: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw new GrammarError("an event's data is not JSON");
  }
  return object(value, "an event's data");
}
