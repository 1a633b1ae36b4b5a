import type { Opaque } from "../../../kernel/canonical_request.ts";
import { asRecord, isRecord, type JsonRecord } from "../../../kernel/json.ts";

/**
 * Whether a part is text: also one that has nothing but a signature. An empty text with members of
 * its own is a part that only this dialect has.
 */
export function isText(part: JsonRecord, opaque: Opaque | undefined): boolean {
  if (typeof part.text !== "string") return !hasOwn(part);
  return part.text !== "" || opaque !== undefined || !hasOwn(part);
}

/** Adds the members of a text part that no other dialect has. */
export function withOwnOfText(own: JsonRecord, part: JsonRecord): JsonRecord {
  return hasOwn(part) ? { ...own, ...without(part, ofText) } : own;
}

/** The members that no other dialect has, of a part with `functionCall` or `inlineData`. */
export function ownOfData(part: JsonRecord, data: keyof typeof ofData): JsonRecord {
  const inner = without(asRecord(part[data]), ofData[data]);
  return {
    ...without(part, [data, "thoughtSignature"]),
    ...(Object.keys(inner).length > 0 ? { [data]: inner } : {}),
  };
}

/** Puts such members back. */
export function addOwn(written: JsonRecord, own: JsonRecord): Record<string, unknown> {
  const merged = Object.entries(own).map(([name, value]) => {
    const before = written[name];
    return [name, isRecord(before) && isRecord(value) ? { ...value, ...before } : before ?? value];
  });
  return { ...written, ...Object.fromEntries(merged) };
}

const ofText: readonly string[] = ["text", "thought", "thoughtSignature"];

/** A call's last two members say how its arguments are streamed. */
const ofData = {
  functionCall: ["id", "name", "args", "partialArgs", "willContinue"],
  inlineData: ["mimeType", "data"],
} as const;

function hasOwn(part: JsonRecord): boolean {
  for (const name in part) if (!ofText.includes(name)) return true;
  return false;
}

function without(record: JsonRecord, names: readonly string[]): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
