import type { JsonRecord } from "./json.ts";

/**
 * A tool's result for a dialect that takes text: an object whose only member is a text under one of
 * these conventional names is written as that text.
 */
export function objectText(object: JsonRecord, names = ["output", "result"]): string {
  const [[name, value] = [], ...others] = Object.entries(object);
  const isPlain = others.length === 0 && name !== undefined && names.includes(name);
  return isPlain && typeof value === "string" ? value : JSON.stringify(object);
}
