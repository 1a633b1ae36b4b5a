import { seekQuote, skipSpace } from "./json_text.ts";

/**
 * `JSON.parse` without a bug of V8 (15.0 in Deno 2.9.6, also in Node 24), which may take a name with
 * escapes for another one: once `{"a":1,"\\":1}` has been parsed, it reads `{"a":1,"\u006e":5}` as
 * `{"a":1,"\\":5}`, since it compares the name's text, escapes included, with names that it expects.
 * So it never gets a name with escapes: those that need none are written without, and a name with
 * quotes, backslashes, control characters or half a surrogate pair has a substitute while it parses.
 */
export function parseExactly(text: string): unknown {
  // Invalid JSON is refused here, with its position in the original text.
  const value: unknown = JSON.parse(text);
  if (!text.includes("\\")) return value;
  const substitutes = new Map<string, string>();
  const plain = withPlainNames(text, substitutes);
  if (plain === text) return value;
  const plainValue: unknown = JSON.parse(plain);
  return substitutes.size === 0 ? plainValue : withNames(plainValue, substitutes);
}

/**
 * Parses a file that people write, which must hold a JSON object. Throws an Error with a one-line
 * message; it shows `example` if the JSON isn't an object.
 */
export function parseObject(text: string, example: string): object {
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`expected JSON: ${reason.replaceAll(/\s+/g, " ")}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Error(`expected a JSON object such as ${example}`);
}

/** Writes the names of valid JSON without escapes; adds the substitutes that this takes. */
function withPlainNames(text: string, substitutes: Map<string, string>): string {
  let plain = "";
  let from = 0;
  for (let slash = text.indexOf("\\"); slash >= 0;) {
    const end = seekQuote(text, slash + 2, Infinity);
    if (text[skipSpace(text, end)] === ":") {
      const start = text.lastIndexOf('"', slash);
      const name = JSON.parse(text.slice(start, end)) as string;
      let token = JSON.stringify(name);
      if (token.includes("\\")) {
        // Random, so that it can't be a name of the text.
        const substitute = substitutes.get(name) ?? crypto.randomUUID();
        substitutes.set(name, substitute);
        token = `"${substitute}"`;
      }
      plain += text.slice(from, start) + token;
      from = end;
    }
    slash = text.indexOf("\\", end);
  }
  return plain + text.slice(from);
}

/** The value with names in place of their substitutes, at every depth. */
function withNames(value: unknown, substitutes: ReadonlyMap<string, string>): unknown {
  const names = new Map([...substitutes].map(([name, substitute]) => [substitute, name]));
  const open: object[] = [];
  const renamed = (member: unknown): unknown => {
    if (typeof member !== "object" || member === null) return member;
    const container = rename(member, names);
    open.push(container);
    return container;
  };
  const root = renamed(value);
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    if (Array.isArray(container)) {
      // Object.entries would take over a hundred bytes for each number of a list.
      for (let at = 0; at < container.length; at++) container[at] = renamed(container[at]);
    } else {
      const members = container as Record<string, unknown>;
      for (const name of Object.keys(members)) members[name] = renamed(members[name]);
    }
  }
  return root;
}

function rename(value: object, names: ReadonlyMap<string, string>): object {
  if (Array.isArray(value) || !Object.keys(value).some((name) => names.has(name))) return value;
  const members = Object.entries(value).map(([name, member]) => [names.get(name) ?? name, member]);
  return Object.fromEntries(members);
}
