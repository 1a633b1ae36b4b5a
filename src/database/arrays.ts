/**
 * Parses one of PostgreSQL's array literals, such as `{1,NULL,{"a,b"}}` (its manual, "Array Input
 * and Output Syntax"). The drivers' own parsers read NULL as text, or a bigint as a number.
 */
export function parseArray<T>(text: string, parse: (element: string) => T): unknown[] {
  let at = 0;
  const readArray = (): unknown[] => {
    const elements: unknown[] = [];
    at++;
    while (text[at] !== "}") {
      if (text[at] === undefined) throw new Error("An array's literal ends too early.");
      if (text[at] === ",") at++;
      else if (text[at] === "{") elements.push(readArray());
      else if (text[at] === '"') elements.push(parse(readQuoted()));
      else elements.push(readPlain());
    }
    at++;
    return elements;
  };
  const readQuoted = (): string => {
    let element = "";
    for (at++; text[at] !== '"'; at++) {
      if (text[at] === undefined) throw new Error("An array's literal ends too early.");
      if (text[at] === "\\") at++;
      element += text[at];
    }
    at++;
    return element;
  };
  const readPlain = (): T | null => {
    const start = at;
    while (at < text.length && text[at] !== "," && text[at] !== "}") at++;
    const element = text.slice(start, at);
    return element === "NULL" ? null : parse(element);
  };
  return readArray();
}

/** Returns the literal of an array; times are written as RFC 3339. */
export function formatArray(elements: readonly unknown[]): string {
  return `{${elements.map(formatElement).join(",")}}`;
}

function formatElement(element: unknown): string {
  if (element === null || element === undefined) return "NULL";
  if (Array.isArray(element)) return formatArray(element);
  if (typeof element === "number" || typeof element === "boolean") return String(element);
  return quoted(textOf(element));
}

/** Returns a single value as PostgreSQL reads it: times as RFC 3339. */
export function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

function quoted(text: string): string {
  // Most texts have neither, and searching for one character is faster than for either of two.
  const escaped = text.includes("\\") ? text.replaceAll("\\", "\\\\") : text;
  return `"${escaped.includes('"') ? escaped.replaceAll('"', '\\"') : escaped}"`;
}
