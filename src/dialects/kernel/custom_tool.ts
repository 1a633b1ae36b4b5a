import type { Tool } from "./canonical_request.ts";
import { isRecord } from "./json.ts";

/**
 * Returns the description of a custom tool that is sent as a function. Since a function's input
 * can't be bound to a grammar, the description states the format, except for `text`, the default.
 */
export function customToolDescription({ description, format }: Tool): string | undefined {
  const isBound = format !== undefined && format !== null &&
    !(isRecord(format) && format.type === "text");
  const bound = `The input must have this format: ${JSON.stringify(format)}`;
  const sentences = [
    ...(description === undefined ? [] : [description]),
    ...isBound ? [bound] : [],
  ];
  return sentences.length === 0 ? undefined : sentences.join("\n");
}
