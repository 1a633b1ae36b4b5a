import type { ForeignField } from "../canonical_request.ts";
import { isRecord, type JsonRecord } from "../json.ts";
import { otherFields } from "../other_fields.ts";

/**
 * Fields within messages and tools that other dialects have no word for. What an answer carried and
 * is given back with it (its sources, its vendor's reasoning) was never the caller's to send.
 */
export function nestedForeign(request: JsonRecord): ForeignField[] {
  return [
    ...each(request.messages, "messages", foreignInMessage),
    ...each(request.tools, "tools", foreignInTool),
    ...each(request.functions, "functions", (one, path) => otherFields(one, ofFunction, path)),
  ];
}

const ofMessage: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  developer: ["role", "content"],
  user: ["role", "content", "name"],
  assistant: [
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "thinking_blocks",
    // Sound that the vendor keeps: its words are lost with it.
    "audio",
  ],
  tool: ["role", "content", "tool_call_id", "name"],
  function: ["role", "content", "name"],
};

const ofFunction = ["name", "description", "parameters", "strict"];

/** Part types, with the fields of the object that each holds. */
const ofPart: Readonly<Record<string, readonly string[]>> = {
  text: [],
  refusal: [],
  image_url: ["url", "detail"],
  video_url: ["url"],
  input_audio: ["data", "format"],
  file: ["file_data", "filename", "file_id"],
};

function foreignInMessage(message: JsonRecord, path: string): ForeignField[] {
  const read = ofMessage[String(message.role)] ?? [];
  const { audio } = message;
  return [
    ...otherFields(message, read, path),
    ...(message.role === "assistant" && isRecord(audio)
      ? [{ path: `${path}.audio`, value: audio, weight: "meaning" as const }]
      : []),
    ...each(message.content, `${path}.content`, foreignInPart),
    ...each(message.tool_calls, `${path}.tool_calls`, foreignInCall),
  ];
}

function foreignInPart(part: JsonRecord, path: string): ForeignField[] {
  const type = String(part.type);
  const held = part[type];
  return [
    ...otherFields(part, ["type", type, "cache_control"], path),
    ...(isRecord(held) ? otherFields(held, ofPart[type] ?? [], `${path}.${type}`) : []),
  ];
}

/** Calls put together from a stream keep their `index`. */
function foreignInCall(call: JsonRecord, path: string): ForeignField[] {
  return otherFields(
    call,
    ["id", "type", "function", "custom", "index", "extra_content"],
    path,
  );
}

function foreignInTool(tool: JsonRecord, path: string): ForeignField[] {
  const { function: named, custom } = tool;
  return [
    ...otherFields(tool, ["type", "function", "custom"], path),
    ...(isRecord(named) ? otherFields(named, ofFunction, `${path}.function`) : []),
    ...(isRecord(custom)
      ? otherFields(custom, ["name", "description", "format"], `${path}.custom`)
      : []),
  ];
}

function each(
  list: unknown,
  path: string,
  read: (one: JsonRecord, path: string) => ForeignField[],
): ForeignField[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((one: unknown, index) => isRecord(one) ? read(one, `${path}[${index}]`) : []);
}
