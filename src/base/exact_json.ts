import { skipSpace, skipString } from "./json_text.ts";

/**
 * `JSON.parse` for texts that somebody else reads as well. V8 (15.0 in Deno 2.9.6, also in Node 24)
 * may take a name with escapes for another one: once `{"a":1,"\\":1}` has been parsed, it reads
 * `{"a":1,"\u006e":5}` as `{"a":1,"\\":5}`, since it compares the name's text, escapes included,
 * with names that it expects. A vendor reads `n`, which is what is limited and priced. So avoidable
 * escapes in names are resolved first; what remains are names with quotes, backslashes or control
 * characters, which no field has.
 */
export function parseExactly(text: string): unknown {
  if (!text.includes("\\")) return JSON.parse(text);
  // An error has its position in the original text.
  const value: unknown = JSON.parse(text);
  const plain = withPlainNames(text);
  return plain === text ? value : JSON.parse(plain);
}

/** Writes the names of valid JSON without avoidable escapes. */
function withPlainNames(text: string): string {
  let plain = "";
  let from = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    const end = skipString(text, at);
    if (text[skipSpace(text, end)] === ":") {
      const name = text.slice(at, end);
      if (name.includes("\\")) {
        plain += text.slice(from, at) + JSON.stringify(JSON.parse(name));
        from = end;
      }
    }
    at = end;
  }
  return from === 0 ? text : plain + text.slice(from);
}
