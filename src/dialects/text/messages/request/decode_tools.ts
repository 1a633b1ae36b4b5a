import { maxEntries } from "../../../../../contracts/kernel/common.ts";
import type { Tool, UnsupportedField, WebSearch } from "../../../kernel/canonical_request.ts";
import { invalidValue } from "../../../../shared/fault.ts";
import { objectAt, stringAt, textAt } from "../../../kernel/fields.ts";
import { defined } from "../../../../base/defined.ts";
import { asList, asRecord, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { withLocalRefs } from "../../../kernel/schema_refs.ts";
import { readSearchTool } from "../../../kernel/web_search.ts";
import { clientTool } from "./client_tools.ts";

/** The web search's type, of any version. */
const searchType = /^web_search_\d{8}$/;

/** The vendor's own search for the tools that are deferred, with or without a version. */
const toolSearch = /^tool_search_tool_(regex|bm25)(_\d{8})?$/;

export function isSearchTool(tool: JsonRecord): boolean {
  return typeof tool.type === "string" && searchType.test(tool.type);
}

/** Whether any model can be offered it as a function. */
export function isFunction(tool: JsonRecord): boolean {
  return (tool.type ?? "custom") === "custom" || clientTool(tool) !== undefined;
}

/**
 * Returns the tool with the description and input that its type implies, unless it has its own;
 * null counts as none.
 */
function asFunction(tool: JsonRecord): JsonRecord {
  const described = clientTool(tool);
  if (!described) return tool;
  const fields = Object.entries(tool).filter(([, value]) => value !== null);
  return { ...described, ...Object.fromEntries(fields) };
}

/**
 * Whether it is Claude Code's placeholder, which is only in the list for Anthropic's sake: no model
 * may call it.
 */
export function isPlaceholder(tool: JsonRecord): boolean {
  return tool.name === "DeferredToolPlaceholder" && tool.defer_loading === true;
}

/** The definition of a tool, and its path. */
export interface OfferedTool {
  tool: JsonRecord;
  path: string;
}

/**
 * Reads the caller's tools as of the end of the conversation, which may have added and removed
 * some. Tools that the vendor runs, and those whose input only its models know, go to
 * `unsupported`, except its web search.
 */
export function readTools(
  { tools: value, messages }: JsonRecord,
  unsupported: UnsupportedField[],
): { tools: Tool[]; webSearch?: WebSearch } {
  if (value !== undefined && value !== null && !Array.isArray(value)) {
    throw invalidValue("tools", "expected an array");
  }
  const listed = (value ?? []).map((tool: unknown, index: number): OfferedTool => {
    const path = `tools[${index}]`;
    if (!isRecord(tool)) throw invalidValue(path, "expected an object");
    return { tool, path };
  });
  let webSearch: WebSearch | undefined;
  const tools = afterChanges(listed, messages).flatMap(({ tool, path }) => {
    if (isSearchTool(tool) && !webSearch) {
      webSearch = readSearchTool(tool, path);
      return [];
    }
    if (!isFunction(tool)) {
      // Leaving out the vendor's tool search loses no tool: the model gets all of them here.
      const isSearched = toolSearch.test(String(tool.type));
      unsupported.push({ path, value: tool, weight: isSearched ? "hint" : "meaning" });
      return [];
    }
    if (isPlaceholder(tool)) {
      unsupported.push({ path, value: tool, weight: "hint" });
      return [];
    }
    return [readTool(asFunction(tool), path)];
  });
  return webSearch ? { tools, webSearch } : { tools };
}

/**
 * Whether a block changes the tools in a way that any dialect can follow. Toolsets that the vendor
 * looks up on servers have no form in other dialects.
 */
export function changesTools({ type, tool }: JsonRecord): boolean {
  if (!isRecord(tool) || (type !== "tool_addition" && type !== "tool_removal")) return false;
  return tool.type === "tool_reference" ? typeof tool.name === "string" : isDefinition(tool);
}

function isDefinition({ type, definition }: JsonRecord): boolean {
  return type === "tool_definition" && isRecord(definition);
}

/**
 * Applies the conversation's changes to the listed tools. A later definition replaces an earlier
 * one with the same name.
 */
function afterChanges(listed: readonly OfferedTool[], messages: unknown): readonly OfferedTool[] {
  const changes = changesIn(messages);
  if (changes.length === 0) return listed;
  const defined = new Map(listed.map((one) => [one.tool.name, one]));
  const offered = new Map(defined);
  for (const { block, path } of changes) {
    const change = block.tool as JsonRecord;
    const { definition } = change;
    const name = nameOf(change);
    if (isRecord(definition)) {
      defined.set(name, { tool: definition, path: `${path}.tool.definition` });
    }
    offered.delete(name);
    const added = block.type === "tool_addition" ? defined.get(name) : undefined;
    if (added) offered.set(name, added);
  }
  if (offered.size > maxEntries.tools) {
    throw invalidValue("messages", `a request takes at most ${maxEntries.tools} tools`);
  }
  return [...offered.values()];
}

function changesIn(messages: unknown): MessageBlock[] {
  return blocksOf(messages).filter(({ block }) => changesTools(block));
}

function nameOf({ definition, name }: JsonRecord): unknown {
  return isRecord(definition) ? definition.name : name;
}

/** Returns the changes of tools in the summary that this message is. */
export function toolChangesIn(message: JsonRecord): JsonRecord[] {
  return changesIn([message]).map(({ block: { type, tool } }) => ({ type, tool }));
}

/**
 * Returns the changes that take the listed tools to those at the end of the conversation, as a
 * summary carries them: one for each tool, since callers may keep what was summarized before, and
 * each summary would repeat all changes of the earlier ones.
 */
export function netToolChanges({ tools, messages }: JsonRecord): JsonRecord[] {
  const listed = new Set(asList(tools).map((tool) => asRecord(tool).name));
  const definitions = new Map<unknown, JsonRecord>();
  const net = new Map<unknown, JsonRecord>();
  for (const { block: { type, tool } } of changesIn(messages)) {
    const change = tool as JsonRecord;
    const name = nameOf(change);
    if (isDefinition(change)) definitions.set(name, change);
    net.delete(name);
    if (type === "tool_addition") net.set(name, { type, tool: definitions.get(name) ?? change });
    else if (listed.has(name)) net.set(name, { type, tool: change });
  }
  return [...net.values()];
}

/** A block of a message's content, and its path. */
interface MessageBlock {
  block: JsonRecord;
  path: string;
}

/**
 * Returns all blocks. A summary of the conversation is followed by the tool changes that it
 * contains.
 */
export function blocksOf(messages: unknown): MessageBlock[] {
  return asList(messages).flatMap(blocksOfMessage);
}

export function blocksOfMessage(message: unknown, index: number): MessageBlock[] {
  return blocksIn(asRecord(message).content, `messages[${index}].content`)
    .flatMap((one) => [one, ...changesOf(one)]);
}

export function changesOf({ block, path }: MessageBlock): MessageBlock[] {
  return block.type === "compaction" ? blocksIn(block.tool_changes, `${path}.tool_changes`) : [];
}

function blocksIn(list: unknown, path: string): MessageBlock[] {
  return asList(list).flatMap((block, at) =>
    isRecord(block) ? [{ block, path: `${path}[${at}]` }] : []
  );
}

function readTool(tool: JsonRecord, path: string): Tool {
  const schema = objectAt(tool, "input_schema", path);
  return {
    type: "function",
    name: stringAt(tool, "name", path),
    ...defined({
      description: textAt(tool, "description", path),
      parameters: schema && withLocalRefs(schema),
      strict: typeof tool.strict === "boolean" ? tool.strict : undefined,
    }),
    ...readCacheMark(tool, path),
    path,
  };
}
