import { maxEntries } from "../../../../../contracts/kernel/common.ts";
import type { Steps } from "../../../../base/steps.ts";
import { invalidValue } from "../../../../shared/fault.ts";
import { requiredText } from "../../../kernel/fields.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { FlatNames } from "../../../kernel/namespaces.ts";
import { codingTool, isCodingCall } from "./coding_tools.ts";

/** One tool that a request offers, with its namespace, if it is in one. */
export interface OfferedTool {
  tool: JsonRecord;
  type: string;
  path: string;
  namespace?: string;
}

/**
 * Returns the tools that a request offers, in `tools`, in `additional_tools` items and in what the
 * caller's own tool search found; a namespace is replaced by its tools. Throws `invalid_value`,
 * naming the field.
 */
export function offeredTools(request: JsonRecord): OfferedTool[] {
  const offered: OfferedTool[] = [];
  readList(request.tools ?? [], "tools", offered);
  if (!Array.isArray(request.input)) return offered;
  for (const [index, item] of request.input.entries()) {
    if (!isRecord(item)) continue;
    const isFound = item.type === "tool_search_output" && isClientSearch(item);
    if (!isFound && item.type !== "additional_tools") continue;
    readList(item.tools ?? [], `input[${index}].tools`, offered);
  }
  return offered;
}

/** Types of tools and items that only OpenAI knows, and that translation writes in other words. */
const extended =
  /^(custom(_tool_call(_output)?)?|namespace|tool_search(_call|_output)?|additional_tools|agent_message)$/;

/**
 * Whether a request has tools, items or fields that some vendors of this dialect refuse, and that
 * translation turns into functions and texts, or leaves out.
 */
export function hasExtensions(body: unknown): boolean {
  const { tools, input } = asRecord(body);
  const isExtended = ({ type }: JsonRecord) => typeof type === "string" && extended.test(type);
  return recordsIn(tools).some((tool) =>
    isExtended(tool) || codingTool(tool) !== undefined || "external_web_access" in tool
  ) ||
    recordsIn(input).some((item) =>
      (isExtended(item) && !isSearchOfX(item)) || isCodingCall(item) ||
      (item.type === "reasoning" && item.content === null)
    );
}

/** Whether this is xAI's record of its own search of X, which has the type of a caller's call. */
export function isSearchOfX({ type, call_id }: JsonRecord): boolean {
  return type === "custom_tool_call" && asString(call_id)?.startsWith("xs_call_") === true;
}

/** Whether the caller itself runs or ran this tool search, and not the vendor. */
export function isClientSearch({ type, execution, call_id }: JsonRecord): boolean {
  return execution === "client" && (type === "tool_search" || typeof call_id === "string");
}

/** Returns the tools that a tool search of the caller found. */
export function foundTools(item: JsonRecord, path: string): OfferedTool[] {
  const found: OfferedTool[] = [];
  readList(item.tools ?? [], `${path}.tools`, found);
  return found;
}

function readList(list: unknown, at: string, into: OfferedTool[], namespace?: string): void {
  if (!Array.isArray(list)) throw invalidValue(at, "expected an array");
  for (const [index, tool] of list.entries()) {
    const path = `${at}[${index}]`;
    if (!isRecord(tool)) throw invalidValue(path, "expected an object");
    const type = requiredText(tool, "type", path);
    if (type === "namespace" && namespace === undefined) {
      const name = requiredText(tool, "name", path);
      readList(tool.tools ?? [], `${path}.tools`, into, name);
      continue;
    }
    if (into.length === maxEntries.tools) {
      throw invalidValue(path, `a request takes at most ${maxEntries.tools} tools`);
    }
    into.push({ tool, type, path, ...(namespace === undefined ? {} : { namespace }) });
  }
}

/** Assigns one name to each of these tools and to each tool that the input's items call. */
export function* flatNames(offered: readonly OfferedTool[], input: unknown): Steps<FlatNames> {
  const plain = new Set<string>();
  const add = (record: JsonRecord, namespace: unknown) => {
    const name = asString(record.name);
    if (name !== undefined && asString(namespace) === undefined) plain.add(name);
  };
  for (const { tool, namespace } of offered) add(tool, namespace);
  yield;
  for (const item of Array.isArray(input) ? input : []) {
    if (isRecord(item) && isCall(item.type)) add(item, item.namespace);
    yield;
  }
  const names = new FlatNames(plain);
  for (const { tool, namespace } of offered) {
    const name = asString(tool.name);
    if (name !== undefined) names.of(namespace, name);
  }
  return names;
}

function isCall(type: unknown): boolean {
  return type === "function_call" || type === "custom_tool_call";
}
