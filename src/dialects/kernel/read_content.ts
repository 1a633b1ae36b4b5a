import { flatMapInSteps, type Steps } from "../../base/steps.ts";
import { invalidValue } from "../../shared/fault.ts";
import type { Part, TextPart } from "./canonical_request.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * Reads the content of a message or of a tool's result: a text, or a list whose elements `read`
 * reads. A list may be as long as the request.
 */
export function* readElements<Read>(
  content: unknown,
  path: string,
  what: "parts" | "blocks",
  read: (element: JsonRecord, path: string) => Read | readonly Read[],
): Steps<(Read | TextPart)[]> {
  if (typeof content === "string") return [{ type: "text", text: content, path }];
  if (!Array.isArray(content)) throw invalidValue(path, `expected a string or an array of ${what}`);
  return yield* flatMapInSteps(content as unknown[], (element, index): readonly Read[] => {
    const at = `${path}[${index}]`;
    if (!isRecord(element)) throw invalidValue(at, "expected an object");
    const made = read(element, at);
    return Array.isArray(made) ? made : [made as Read];
  });
}

/** Returns the parts of a system message, which must all be texts. Throws `invalid_value`. */
export function requireTexts(parts: readonly Part[], what: "part" | "block"): TextPart[] {
  return parts.map((part) => {
    if (part.type === "text") return part;
    throw invalidValue(part.path, `expected a text ${what}`);
  });
}
