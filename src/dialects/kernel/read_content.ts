import { maxEntries } from "../../../contracts/kernel/common.ts";
import { invalidValue } from "../../shared/fault.ts";
import type { Part, RefusalPart, TextPart } from "./canonical_request.ts";
import { isRecord, type JsonRecord } from "./json.ts";

/**
 * Reads the content of a message or of a tool's result: a text, or a list whose elements `read`
 * reads.
 */
export function readElements<Read>(
  content: unknown,
  path: string,
  what: "parts" | "blocks",
  read: (element: JsonRecord, path: string) => Read | readonly Read[],
): (Read | TextPart)[] {
  if (typeof content === "string") return [{ type: "text", text: content, path }];
  if (!Array.isArray(content)) throw invalidValue(path, `expected a string or an array of ${what}`);
  return content.flatMap((element: unknown, index) => {
    const at = `${path}[${index}]`;
    if (!isRecord(element)) throw invalidValue(at, "expected an object");
    return read(element, at);
  });
}

/**
 * Refuses a message that has too many parts, including those in its results. Most work on a
 * message is one step.
 */
export function checkPartCount(count: number, path: string): void {
  if (count <= maxEntries.parts) return;
  throw invalidValue(
    path,
    `expected at most ${maxEntries.parts} parts, including those in results`,
  );
}

/** Returns the parts of a user's message or of a tool's result, which can't be refusals. */
export function withoutRefusals<Read extends Part>(
  parts: readonly Read[],
): Exclude<Read, RefusalPart>[] {
  return parts.map((part) => {
    if (part.type !== "refusal") return part as Exclude<Read, RefusalPart>;
    throw invalidValue(`${part.path}.type`, "expected a text, image or file part");
  });
}

/** Returns the parts of a system message, which must all be texts. Throws `invalid_value`. */
export function requireTexts(parts: readonly Part[], what: "part" | "block"): TextPart[] {
  return parts.map((part) => {
    if (part.type === "text") return part;
    throw invalidValue(part.path, `expected a text ${what}`);
  });
}
