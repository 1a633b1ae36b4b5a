import type { Tool } from "./canonical_request.ts";
import { isRecord } from "./json.ts";

/**
 * The description of a custom tool that becomes a function, since a function's input can't be bound
 * to a grammar. `text`, the default, says nothing.
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
