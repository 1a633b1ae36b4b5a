import { defined } from "../../base/defined.ts";
import type { Steps } from "../../base/steps.ts";
import type { CanonicalRequest, Part, Tool, Turn } from "./canonical_request.ts";
import type { DialectQuirks } from "./dialect.ts";
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

/**
 * Returns the request for a vendor with OpenAI's dialects. Unless the vendor knows custom tools,
 * they and their calls are functions; `customTools` has their names.
 */
export function* customAsFunctions(
  request: CanonicalRequest,
  quirks: DialectQuirks | undefined,
): Steps<{ request: CanonicalRequest; customTools: string[] }> {
  if (quirks?.customTools) return { request, customTools: [] };
  yield;
  const turns: Turn[] = [];
  for (const turn of request.turns) {
    turns.push(
      turn.parts.some(isCustomCall) ? { ...turn, parts: turn.parts.map(asFunction) } : turn,
    );
    yield;
  }
  const custom = request.tools.filter(({ type }) => type === "custom");
  const tools = request.tools.map((tool) => tool.type === "custom" ? functionOf(tool) : tool);
  return { request: { ...request, tools, turns }, customTools: custom.map(({ name }) => name) };
}

function isCustomCall(part: Part): boolean {
  return part.type === "tool-call" && part.custom;
}

function asFunction(part: Part): Part {
  if (part.type !== "tool-call" || !part.custom) return part;
  return { ...part, arguments: JSON.stringify({ input: part.arguments }), custom: false };
}

function functionOf({ format, ...tool }: Tool): Tool {
  const description = customToolDescription({ ...tool, format });
  return { ...tool, type: "function", ...defined({ description }), parameters: customToolInput };
}

/** A custom tool takes free text: as a function it has one text property. */
export const customToolInput = {
  type: "object",
  properties: { input: { type: "string", description: "The tool's input, as plain text." } },
  required: ["input"],
  additionalProperties: false,
};
