import { parseExactly } from "./exact_json.ts";
import { parsing } from "./heavy_json.ts";
import { largeSpanUnits } from "./json_count.ts";
import { finish, type Steps } from "./steps.ts";
import { membersAt, skipString } from "./json_text.ts";

/**
 * Yields completions of a truncated JSON text, the fullest first: with all open containers closed,
 * then without the unfinished item of the innermost array, then of the next one, and so on. Yields
 * nothing if none is valid JSON. A complete text yields its value.
 */
export function* mendJson(text: string): Generator<unknown> {
  for (const mended of triedCompletions(text)) if (mended) yield mended.value;
}

/**
 * The same for work in steps: yields nothing between them, nor for a completion that isn't JSON.
 */
export function* triedCompletions(text: string): Generator<Parsed | void> {
  const whole = yield* parse(text);
  yield whole;
  if (whole) return;
  const { open, closed, cut } = yield* walk(text);
  if (open.length === 0 || open.length > maxDepth) return;
  for (const start of [closed, cut]) {
    const mended = yield* parse(start + closing(open));
    yield mended;
    if (mended) break;
  }
  const arrays = [...open.keys()].filter((depth) => open[depth]!.kind === "]").toReversed();
  // Each attempt parses the whole text: of many arrays only the innermost and outermost are tried.
  const candidates = arrays.filter((_, at) =>
    at < maxTries / 2 || at >= arrays.length - maxTries / 2
  );
  for (const depth of candidates) {
    const { lastEnd } = open[depth]!;
    yield yield* parse(text.slice(0, lastEnd) + closing(open.slice(0, depth + 1)));
  }
}

/** No usage is longer. */
const maxObject = 64 * 1024;

/**
 * Returns the last object that follows this name as a key, if it is whole and not longer than 64 Ki
 * characters. The quotes in the name's token can't match inside a string, where quotes are escaped.
 */
export function* lastObject(text: string, name: string): Steps<unknown> {
  const token = `"${name}"`;
  const at = yield* lastIndex(text, token);
  const colon = /^\s{0,32}:\s{0,32}(?=\{)/.exec(text.slice(at + token.length).slice(0, 66))?.[0];
  if (at < 0 || colon === undefined) return undefined;
  const start = at + token.length + colon.length;
  const rest = text.slice(start, start + maxObject);
  try {
    return parseExactly(rest.slice(0, membersAt(rest, 0)!.range.end));
  } catch {
    return undefined;
  }
}

/** UTF-16 units that are searched in a step. */
const searchedUnits = 512 * 1024;

/** `lastIndexOf` in steps, since it compares at each position: 60 MB take up to 0.8 s. */
function* lastIndex(text: string, wanted: string): Steps<number> {
  for (let end = text.length; end > 0; end -= searchedUnits) {
    const start = Math.max(0, end - searchedUnits);
    // What is wanted may begin in this piece and end in the next.
    const at = text.slice(start, end + wanted.length - 1).lastIndexOf(wanted);
    if (at >= 0) return start + at;
    yield;
  }
  return -1;
}

/**
 * Returns the object of a truncated JSON text with its complete members; undefined if the text
 * isn't an object. For a complete text returns its value.
 */
export function wholeMembers(text: string): unknown {
  return finish(wholeMembersSteps(text));
}

export function* wholeMembersSteps(text: string): Steps<unknown> {
  const whole = yield* parse(text);
  if (whole) return whole.value;
  const { open } = yield* walk(text);
  const [object] = open;
  if (object?.kind !== "}") return undefined;
  // A value that ends with its bracket or quote is whole; digits may be missing from a number.
  const isLastWhole = open.length === 1 && /[}\]"]\s{0,64}$/.test(text.slice(-65));
  const all = isLastWhole ? yield* parse(`${text}}`) : undefined;
  return (all ?? (yield* parse(`${text.slice(0, object.lastEnd)}}`)))?.value;
}

/** Texts nested deeper than this are not conversations, and are not completed. */
const maxDepth = 200;
/** Completions that are tried for each text. */
export const maxTries = 24;

interface Parsed {
  value: unknown;
}

interface Open {
  /** The closing bracket. */
  kind: "}" | "]";
  /** End of its last complete item or member. */
  lastEnd: number;
}

interface Walked {
  open: Open[];
  closed: string;
  cut: string;
}

/** UTF-16 units that are walked in a step. */
const walkedUnits = 256 * 1024;

/**
 * Returns the containers open at the end, the text with its last string closed, and the text
 * without its last item.
 */
function* walk(text: string): Steps<Walked> {
  const open: Open[] = [];
  let looked = 0;
  let at = 0;
  while (at < text.length) {
    if (at - looked >= walkedUnits) {
      looked = at;
      yield;
    }
    const char = text[at]!;
    if (char === '"') {
      const end = skipString(text, at);
      if (end >= text.length && !isClosed(text, at)) {
        return { open, closed: closeString(text), cut: text.slice(0, open.at(-1)?.lastEnd ?? 0) };
      }
      at = end;
      continue;
    }
    if (char === "{" || char === "[") {
      open.push({ kind: char === "{" ? "}" : "]", lastEnd: at + 1 });
    } else if (char === "}" || char === "]") {
      open.pop();
    } else if (char === "," && open.length > 0) {
      open.at(-1)!.lastEnd = at;
    }
    at++;
  }
  return { open, closed: text, cut: text.slice(0, open.at(-1)?.lastEnd ?? 0) };
}

/** Whether the string from `start` to the end of the text has its closing quote. */
function isClosed(text: string, start: number): boolean {
  if (text.length - start < 2 || !text.endsWith('"')) return false;
  return slashesBefore(text, text.length - 1) % 2 === 0;
}

/** Closes the last string, without an incomplete escape. */
function closeString(text: string): string {
  const hex = /\\u[0-9a-fA-F]{0,3}$/.exec(text.slice(-5))?.[0].length ?? 1;
  const slash = text.length - hex;
  const isHalf = text[slash] === "\\" && slashesBefore(text, slash) % 2 === 0;
  return (isHalf ? text.slice(0, slash) : text) + '"';
}

function slashesBefore(text: string, index: number): number {
  let at = index;
  while (text[at - 1] === "\\") at--;
  return index - at;
}

function closing(open: readonly Open[]): string {
  return open.map(({ kind }) => kind).toReversed().join("");
}

function* parse(text: string): Steps<Parsed | undefined> {
  try {
    return { value: text.length <= largeSpanUnits ? parseExactly(text) : yield* parsing(text) };
  } catch {
    return undefined;
  }
}
