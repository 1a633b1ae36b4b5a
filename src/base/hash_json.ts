import { createHash, type Hash } from "node:crypto";
import { skipString } from "./json_text.ts";
import { pushAll } from "./lists.ts";
import type { Steps } from "./steps.ts";

/** Approximate number of UTF-16 units per step. */
const stepUnits = 256 * 1024;

/**
 * Returns the SHA-256, as hex, of a JSON value instead of its text: the order of members and the
 * spelling of numbers and strings don't matter. Members that are undefined count as absent.
 */
export function* hashJson(value: unknown): Steps<string> {
  const hasher = new JsonHasher();
  yield* hasher.add(value);
  return hasher.digest();
}

class JsonHasher {
  readonly #hash: Hash = createHash("sha256");
  #pending = "";

  digest(): string {
    return this.#hash.update(this.#pending).digest("hex");
  }

  /**
   * Writes each value so that its end is unambiguous: no two different values are written alike.
   */
  *add(value: unknown): Steps<void> {
    if (typeof value === "string") yield* this.#addText(value);
    else if (Array.isArray(value)) {
      yield* this.#write("[");
      for (const one of value) yield* this.add(one);
      yield* this.#write("]");
    } else if (typeof value === "object" && value !== null) {
      yield* this.#write("{");
      const record = value as Readonly<Record<string, unknown>>;
      for (const name of Object.keys(record).sort()) {
        if (record[name] === undefined) continue;
        yield* this.#addText(name);
        yield* this.add(record[name]);
      }
      yield* this.#write("}");
    } else yield* this.#write(`${String(value)},`);
  }

  *#addText(text: string): Steps<void> {
    // UTF-8 can't encode lone surrogates: all of them would be hashed as U+FFFD. JSON escapes them.
    const written = text.isWellFormed() ? text : JSON.stringify(text);
    const kind = written === text ? "" : "j";
    yield* this.#write(`"${kind}${written.length}:`);
    for (let from = 0; from < written.length;) {
      let to = Math.min(written.length, from + stepUnits);
      if (to < written.length && isHighSurrogate(written.charCodeAt(to - 1))) to++;
      yield* this.#write(from === 0 && to === written.length ? written : written.slice(from, to));
      from = to;
    }
  }

  *#write(text: string): Steps<void> {
    this.#pending += text;
    if (this.#pending.length < stepUnits) return;
    this.#hash.update(this.#pending);
    this.#pending = "";
    yield;
  }
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** Numbers with this many digits may differ although `JSON.parse` makes the same double of them. */
const longNumber = /-?\d[\d.]{15,}(?:[eE][+-]?\d+)?/g;

/**
 * Returns the numbers in a JSON text that may lose digits as doubles, as they are written and in
 * the order of the text. The text must be valid JSON.
 */
export function* longNumbers(text: string): Steps<string[]> {
  const found: string[] = [];
  let unread = 0;
  for (let at = 0; at < text.length;) {
    if (text[at] === '"') at = skipString(text, at);
    const end = endOfRun(text, at);
    if (end - at >= 16) pushAll(found, text.slice(at, end).match(longNumber) ?? []);
    at = end;
    if (at - unread < stepUnits) continue;
    unread = at;
    yield;
  }
  return found;
}

/** Returns where the text outside of strings ends, or this step; never inside a number. */
function endOfRun(text: string, from: number): number {
  const quote = text.indexOf('"', from);
  const limit = quote < 0 ? text.length : quote;
  let end = Math.min(limit, from + stepUnits);
  while (end < limit && /[\w.+-]/.test(text[end]!)) end++;
  return end;
}
