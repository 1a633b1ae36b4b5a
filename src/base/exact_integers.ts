import { parseExactly } from "./exact_json.ts";
import { heavyUnits } from "./heavy_json.ts";
import { skipString } from "./json_text.ts";

/** A value that `JSON.stringify` writes as this text. TypeScript's types don't have it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

/**
 * Returns the value of a JSON text with those integers that a number can't hold, which
 * `JSON.parse` rounds, as raw JSON, which `JSON.stringify` writes digit by digit. This applies to
 * objects and lists in members of these names, at any depth; without names, to the whole value.
 * Top-level members of the value that aren't in the text, or are no objects, stay as they are. A
 * text of more than a megabyte isn't read twice, nor one with more than a thousand such integers.
 */
export function withExactIntegers(
  text: string,
  value: unknown,
  within?: ReadonlySet<string>,
): unknown {
  if (text.length > heavyUnits || !isObject(value) || !longDigits.test(text)) return value;
  const mark = crypto.randomUUID();
  const marked = markIntegers(text, mark);
  if (marked === text) return value;
  const exact = parseExactly(marked);
  if (!isObject(exact)) return value;
  replaceMarks(exact, mark, within);
  if (within === undefined || Array.isArray(exact)) return exact;
  const members = Object.entries(value).map(([name, member]) =>
    [name, isObject(member) && Object.hasOwn(exact, name) ? exact[name] : member] as const
  );
  return Object.fromEntries(members);
}

const longDigits = /\d{16}/;
const longNumber = /[-\d][\d.eE+-]{15,}/g;
const integer = /^-?\d+$/;

/** No real request or answer has more; a thousand take two milliseconds. */
const maxIntegers = 1000;

/** Longer ones take long to convert, and look like large objects to `writeJson`. */
const maxDigits = 1000;

/** Writes the integers that a number can't hold as strings that begin with the mark. */
function markIntegers(text: string, mark: string): string {
  let marked = "";
  let copied = 0;
  let count = 0;
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    if (end - at >= 16) {
      for (const { 0: digits, index } of text.slice(at, end).matchAll(longNumber)) {
        if (digits.length > maxDigits || !integer.test(digits)) continue;
        if (String(Number(digits)) === digits) continue;
        if (++count > maxIntegers) return text;
        marked += `${text.slice(copied, at + index)}"${mark}${digits}"`;
        copied = at + index + digits.length;
      }
    }
    at = quote < 0 ? end : skipString(text, quote);
  }
  return marked + text.slice(copied);
}

/** Replaces the marked strings, at every depth: by raw JSON where digits matter, else by numbers. */
function replaceMarks(root: Container, mark: string, within?: ReadonlySet<string>): void {
  const open: { container: Container; retains: boolean }[] = [
    { container: root, retains: within === undefined },
  ];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const { container, retains } = one;
    for (const name of Object.keys(container)) {
      const value = container[name];
      const isRetained = retains || within?.has(name) === true;
      if (isObject(value)) open.push({ container: value, retains: isRetained });
      else if (typeof value === "string" && value.startsWith(mark)) {
        const digits = value.slice(mark.length);
        container[name] = retains ? rawJSON(digits) : Number(digits);
      }
    }
  }
}

/** An object, or a list with its indexes as names. */
type Container = Record<string, unknown>;

function isObject(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}
