import type { ForeignField } from "../canonical_request.ts";
import { isRecord, type JsonRecord } from "../json.ts";
import { otherFields } from "../other_fields.ts";

/**
 * Fields within input items and settings that other dialects have no word for. What an output item
 * carried and is given back with it (ids, sources) was never the caller's to send.
 */
export function nestedForeign(request: JsonRecord): ForeignField[] {
  const input = Array.isArray(request.input) ? request.input : [];
  const { text } = request;
  return [
    ...input.flatMap((item: unknown, index) =>
      isRecord(item) ? foreignInItem(item, `input[${index}]`) : []
    ),
    ...(isRecord(text) ? otherFields(text, ["format", "verbosity"], "text") : []),
  ];
}

const ofItem: Readonly<Record<string, readonly string[]>> = {
  message: ["role", "content", "phase"],
  function_call: ["call_id", "name", "arguments"],
  custom_tool_call: ["call_id", "name", "input"],
  function_call_output: ["call_id", "output", "name"],
  custom_tool_call_output: ["call_id", "output", "name"],
};

const ofPart: Readonly<Record<string, readonly string[]>> = {
  input_text: ["text"],
  output_text: ["text", "annotations", "logprobs"],
  refusal: ["refusal"],
  input_image: ["image_url", "file_id", "detail"],
  input_file: ["file_data", "file_url", "file_id", "filename", "detail"],
  input_audio: ["input_audio"],
};

/** Items of other types are named whole. */
function foreignInItem(item: JsonRecord, path: string): ForeignField[] {
  const read = ofItem[String(item.type ?? "message")];
  if (!read) return [];
  const [member, parts] = "output" in item ? ["output", item.output] : ["content", item.content];
  return [
    ...otherFields(item, ["type", "id", "status", ...read], path),
    ...(Array.isArray(parts) ? parts : []).flatMap((part: unknown, index) =>
      isRecord(part) ? foreignInPart(part, `${path}.${member}[${index}]`) : []
    ),
  ];
}

function foreignInPart(part: JsonRecord, path: string): ForeignField[] {
  const read = ofPart[String(part.type)];
  return read ? otherFields(part, ["type", ...read], path) : [];
}
