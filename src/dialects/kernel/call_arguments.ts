import { invalidValue } from "../../shared/fault.ts";
import type { ToolCallPart } from "./canonical_request.ts";
import { innerJson, isRecord, type JsonRecord, maxInnerUnits } from "./json.ts";

/** Returns a call's arguments for a dialect that requires an object. Throws `invalid_value`. */
export function callArguments({ path, id, custom, arguments: text }: ToolCallPart): JsonRecord {
  if (custom) return { input: text };
  if (text.trim() === "") return {};
  const json = innerJson(text);
  if (isRecord(json)) return json;
  const most = maxInnerUnits.toLocaleString("en-US");
  const length = text.length > maxInnerUnits ? ` of at most ${most} characters` : "";
  throw invalidValue(path, `the arguments of the tool call '${id}' must be a JSON object${length}`);
}
