import { parseExactly } from "../base/exact_json.ts";
import type { ShownPart, ShownTurn, Transcript } from "../records/transcript.ts";

/**
 * Returns a call's prompt and answer by the GenAI conventions: JSON texts, by attribute. Images and
 * audio in the store are named by their hash.
 */
export function messageAttributes({ request, answers }: Transcript): Record<string, string> {
  const turns = request?.turns ?? [];
  const system = turns.filter(({ role }) => role === "system").flatMap(({ parts }) => parts);
  const input = turns.filter(({ role }) => role !== "system").map(inputMessage);
  const output = (answers ?? []).map(({ parts, finish }) => ({
    ...{ role: "assistant", parts: parts.map(messagePart), finish_reason: finish ?? "error" },
  }));
  return {
    ...attribute("gen_ai.system_instructions", system.map(messagePart)),
    ...attribute("gen_ai.input.messages", input),
    ...attribute("gen_ai.output.messages", output),
  };
}

function attribute(name: string, items: readonly unknown[]): Record<string, string> {
  return items.length === 0 ? {} : { [name]: JSON.stringify(items) };
}

function inputMessage({ role, name, parts }: ShownTurn) {
  return { role, parts: parts.map(messagePart), ...(name === undefined ? {} : { name }) };
}

/** Kinds that the conventions lack become generic parts, which may have any type. */
function messagePart(part: ShownPart): Record<string, unknown> {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "refusal":
    case "vendor":
      return { type: part.type, content: part.text };
    case "tool-call": {
      const { id, name } = part;
      return { type: "tool_call", id, name, arguments: jsonOr(part.arguments) };
    }
    case "tool-result": {
      const response = part.parts.map(messagePart);
      return { type: "tool_call_response", id: part.callId, response };
    }
    case "media":
      return mediaPart(part);
  }
}

function mediaPart(
  { kind: modality, mimeType, source }: Extract<ShownPart, { type: "media" }>,
): Record<string, unknown> {
  const about = { modality, ...(mimeType === undefined ? {} : { mime_type: mimeType }) };
  switch (source.type) {
    case "inline":
      return { type: "blob", ...about, content: source.data };
    case "address":
      return { type: "uri", ...about, uri: source.url };
    case "vendor-file":
      return { type: "file", ...about, file_id: source.id };
    case "stored":
      return { type: "stored", ...about, sha256: source.sha256 };
  }
}

/** Parses a tool call's arguments; those of a custom tool, or that were cut, stay text. */
function jsonOr(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}
