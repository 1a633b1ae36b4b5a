import type { Steps } from "../../../../base/steps.ts";
import type {
  Part,
  ReasoningPart,
  SystemText,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UnsupportedField,
} from "../../../kernel/canonical_request.ts";
import { invalidValue, missingField } from "../../../../shared/fault.ts";
import { requiredText, textAt } from "../../../kernel/fields.ts";
import { defined } from "../../../../base/defined.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { markLast, readCacheMark } from "../../../kernel/read_cache_mark.ts";
import type { FlatNames } from "../../../kernel/namespaces.ts";
import { type ContentPart, readContent } from "./decode_content.ts";
import { readEnvelope } from "../conversation/envelope.ts";
import { summaryQuestion, summaryText } from "../../../kernel/summary.ts";
import { isSummary, readSummary } from "../conversation/summary.ts";
import { codingResult, readCodingCall } from "./coding_tools.ts";
import { foundTools, isClientSearch, isSearchOfX } from "./offered_tools.ts";
import { requirePairs } from "./pairing.ts";
import { requireTexts, withoutRefusals } from "../../../kernel/read_content.ts";

export interface Conversation {
  system: SystemText[];
  turns: Turn[];
  /** Items that only a vendor of this dialect understands. */
  unsupported: UnsupportedField[];
}

interface Reading extends Conversation {
  readonly names: FlatNames;
  /** Ids of the calls of a shell that the vendor ran. */
  readonly hostedShellCalls: Set<unknown>;
}

/**
 * Reads the input items into turns. Adjacent texts, reasoning and calls of the assistant form one
 * turn, and so do adjacent tool outputs.
 */
export function* readItems(
  input: unknown,
  instructions: string | undefined,
  names: FlatNames,
): Steps<Conversation> {
  const into: Reading = {
    system: [],
    turns: [],
    unsupported: [],
    names,
    hostedShellCalls: new Set(),
  };
  if (instructions !== undefined) into.system.push({ text: instructions, path: "instructions" });
  if (typeof input === "string") {
    addUserText(input, "input", into);
    return into;
  }
  if (input === undefined || input === null) throw missingField("input");
  if (!Array.isArray(input)) throw invalidValue("input", "expected a string or an array of items");
  for (const [index, item] of input.entries()) {
    const path = `input[${index}]`;
    if (!isRecord(item)) throw invalidValue(path, "expected an object");
    if (item.type === "compaction_trigger" && index < input.length - 1) {
      throw invalidValue(path, "expected 'compaction_trigger' as the last item only");
    }
    readItem(item, path, into);
    yield;
  }
  requireTranslated(input, into);
  yield* requirePairs(into.turns);
  return into;
}

/**
 * Throws `invalid_value` if the input has only items of unknown types: without them the question
 * would be empty.
 */
function requireTranslated(input: readonly JsonRecord[], { turns }: Reading): void {
  if (turns.length > 0) return;
  const unknown = input.findIndex(({ type }) =>
    typeof type === "string" && !translatedTypes.includes(type) && !vendorRecords.has(type)
  );
  if (unknown < 0) return;
  const types = translatedTypes.map((type) => `'${type}'`).join(" or ");
  throw invalidValue(`input[${unknown}].type`, `expected ${types}`);
}

/** Item types that other dialects can express; `item_reference` stands for a stored item. */
const translatedTypes: readonly string[] = [
  ...["message", "function_call", "function_call_output"],
  ...["custom_tool_call", "custom_tool_call_output", "reasoning"],
  ...["compaction", "compaction_trigger", "additional_tools", "item_reference"],
  "agent_message",
];

function readItem(item: JsonRecord, path: string, into: Reading): void {
  switch (item.type ?? (item.role === undefined ? "item_reference" : "message")) {
    case "message":
      return readMessage(item, path, into);
    case "agent_message":
      return readAgentMessage(item, path, into);
    case "function_call":
    case "custom_tool_call":
      if (isSearchOfX(item)) return addUnsupported(item, path, into);
      return addPart(into.turns, "assistant", readCall(item, path, into.names), path);
    case "function_call_output":
    case "custom_tool_call_output":
      return addPart(into.turns, "user", readOutput(item, path, into), path);
    case "tool_search_call":
    case "tool_search_output":
      return readToolSearch(item, path, into);
    case "apply_patch_call":
    case "shell_call":
    case "local_shell_call":
      return addCodingCall(item, path, into);
    case "apply_patch_call_output":
    case "shell_call_output":
    case "local_shell_call_output":
      return addCodingResult(item, path, into);
    case "reasoning":
      return addPart(into.turns, "assistant", readReasoning(item, path), path);
    case "compaction_trigger":
      return addUserText(summaryQuestion, path, into);
    case "compaction":
      return readCompaction(item, path, into);
    case "web_search_call":
      return addSearch(item, path, into);
    case "additional_tools":
      // Read with `tools`.
      return;
    case "item_reference":
      // The gateway has replaced references to stored items already.
      throw asString(item.id) === undefined
        ? missingField(`${path}.${item.type === "item_reference" ? "id" : "role"}`)
        : invalidValue(`${path}.id`, `no stored item has the id '${item.id}'`);
    default:
      return addUnsupported(item, path, into);
  }
}

function addSearch(item: JsonRecord, path: string, { turns, unsupported }: Conversation): void {
  const isOfLast = turns.at(-1)?.role === "assistant";
  const searchOfTurn = isOfLast ? turns.length - 1 : turns.length;
  unsupported.push({ path, value: item, weight: "hint", searchOfTurn });
}

function addUnsupported(item: JsonRecord, path: string, into: Conversation): void {
  if (typeof item.type !== "string") {
    throw invalidValue(`${path}.type`, "expected the type of an item");
  }
  const weight = vendorRecords.has(item.type) || isSearchOfX(item) ? "hint" : "meaning";
  into.unsupported.push({ path, value: item, weight });
}

/**
 * Reads a summary. Only its vendor can read one that it wrote itself, and without it the
 * conversation has another meaning.
 */
function readCompaction(item: JsonRecord, path: string, into: Conversation): void {
  if (!isSummary(item)) return addUnsupported(item, path, into);
  const summary = readSummary(item);
  if (summary === undefined) {
    throw invalidValue(
      `${path}.encrypted_content`,
      "expected the summary unchanged, as it was returned",
    );
  }
  addUserText(summaryText(summary), path, into);
}

function addUserText(text: string, path: string, into: Conversation): void {
  into.turns.push({ role: "user", parts: [{ type: "text", text, path }], path });
}

function readMessage(item: JsonRecord, path: string, into: Conversation): void {
  const read = readContent(item.content, `${path}.content`, into.unsupported);
  const parts = markLast(read, readCacheMark(item, path, false));
  switch (item.role) {
    case "system":
    case "developer":
      return addSystem(parts, path, into);
    case "user":
      into.turns.push({ role: "user", parts: withoutRefusals(parts), path });
      return;
    case "assistant":
      for (const part of parts) addPart(into.turns, "assistant", part, path);
      return;
    default:
      throw invalidValue(`${path}.role`, "expected 'user', 'assistant', 'system' or 'developer'");
  }
}

/**
 * Reads what one of a caller's agents wrote to another as a text of the user; the text itself names
 * both. A call's argument that OpenAI's model writes encrypted is plain if another model wrote it.
 */
function readAgentMessage(item: JsonRecord, path: string, into: Conversation): void {
  const content = Array.isArray(item.content) ? item.content.map(plainPart) : item.content;
  readMessage({ type: "message", role: "user", content }, path, into);
}

function plainPart(part: unknown): unknown {
  if (!isRecord(part) || part.type !== "encrypted_content") return part;
  const text = asString(part.encrypted_content);
  return text === undefined || openaiToken.test(text) ? part : { type: "input_text", text };
}

/** What OpenAI encrypts is a Fernet token: a version, then a time that begins with zeros. */
const openaiToken = /^gAAAAA[\w-]{40,}={0,2}$/;

function addSystem(parts: readonly ContentPart[], path: string, into: Conversation): void {
  const texts = requireTexts(parts, "part");
  if (into.turns.length > 0) {
    into.turns.push({ role: "system", parts: texts, path });
  } else {
    for (const { type: _, ...text } of texts) into.system.push(text);
  }
}

/** Adds the part to the last turn if that is of the same kind, or else starts one. */
function addPart(turns: Turn[], role: "user" | "assistant", part: Part, path: string): void {
  const last = turns.at(-1);
  const joins = last?.role === role &&
    // A turn that starts with results holds only results.
    (role === "assistant" || (last.parts[0]?.type ?? "tool-result") === "tool-result");
  if (joins) last.parts.push(part);
  else turns.push({ role, parts: [part], path });
}

function readCall(item: JsonRecord, path: string, names: FlatNames): ToolCallPart {
  const custom = item.type === "custom_tool_call";
  const id = requiredText(item, "call_id", path);
  const ownName = requiredText(item, "name", path);
  const name = names.of(textAt(item, "namespace", path), ownName);
  const input = custom
    ? textAt(item, "input", path) ?? ""
    : textAt(item, "arguments", path) ?? "{}";
  const mark = readCacheMark(item, path);
  return { type: "tool-call", id, name, arguments: input, custom, ...mark, path };
}

function readOutput(
  item: JsonRecord,
  path: string,
  { unsupported, names }: Reading,
): ToolResultPart {
  const callId = requiredText(item, "call_id", path);
  const parts = readContent(item.output, `${path}.output`, unsupported);
  const ownName = textAt(item, "name", path);
  const name = ownName === undefined
    ? undefined
    : names.of(textAt(item, "namespace", path), ownName);
  return {
    type: "tool-result",
    callId,
    ...defined({ name }),
    parts: withoutRefusals(parts),
    isError: false,
    ...readCacheMark(item, path),
    path,
  };
}

/** Reads a tool search of the caller as a call and its result; the tools found are offered too. */
function readToolSearch(item: JsonRecord, path: string, into: Reading): void {
  if (!isClientSearch(item)) return addUnsupported(item, path, into);
  const id = requiredText(item, "call_id", path);
  const mark = readCacheMark(item, path);
  if (item.type === "tool_search_call") {
    const name = into.names.ofType("tool_search");
    // Arguments that were no object are the model's text.
    const input = asString(item.arguments) ?? JSON.stringify(item.arguments ?? {});
    const call = { id, name, arguments: input, custom: false, ...mark, path };
    return addPart(into.turns, "assistant", { type: "tool-call", ...call }, path);
  }
  const found = foundTools(item, path)
    // A tool that the vendor runs has no name; other vendors' models can't call it.
    .filter(({ type }) => type === "function" || type === "custom")
    .map(({ tool, namespace, path }) =>
      `Tool ${into.names.of(namespace, requiredText(tool, "name", path))} is loaded.`
    );
  const parts = (found.length > 0 ? found : ["No tool was found."])
    .map((text) => ({ type: "text" as const, text, path }));
  addPart(
    into.turns,
    "user",
    { type: "tool-result", callId: id, parts, isError: false, ...mark, path },
    path,
  );
}

function addCodingCall(item: JsonRecord, path: string, into: Reading): void {
  const read = readCodingCall(item, path);
  if (!read) {
    into.hostedShellCalls.add(item.call_id);
    return addUnsupported(item, path, into);
  }
  const id = requiredText(item, "call_id", path);
  const name = into.names.ofType(read.tool);
  const call = {
    type: "tool-call",
    id,
    name,
    arguments: read.arguments,
    custom: false,
    ...readCacheMark(item, path),
    path,
  } as const;
  addPart(into.turns, "assistant", call, path);
}

function addCodingResult(item: JsonRecord, path: string, into: Reading): void {
  // OpenAI's types call it `id` in the result of a `local_shell`; the libraries, `call_id`.
  const isNamedId = item.type === "local_shell_call_output" && item.call_id === undefined;
  const callId = requiredText(item, isNamedId ? "id" : "call_id", path);
  if (into.hostedShellCalls.has(callId)) return addUnsupported(item, path, into);
  const parts = codingResult(item, path).map((text) => ({ type: "text" as const, text, path }));
  const isError = item.type === "apply_patch_call_output" && item.status === "failed";
  const mark = readCacheMark(item, path);
  addPart(into.turns, "user", { type: "tool-result", callId, parts, isError, ...mark, path }, path);
}

function readReasoning(item: JsonRecord, path: string): ReasoningPart {
  const sealed = textAt(item, "encrypted_content", path);
  const text = [...texts(item.summary), ...texts(item.content)].join(reasoningSeparator);
  const itemId = asString(item.id);
  return {
    type: "reasoning",
    text,
    ...(sealed === undefined ? {} : {
      opaque: readEnvelope(sealed) ?? {
        dialect: "responses",
        kind: "encrypted_content",
        value: sealed,
        ...(itemId === undefined ? {} : { itemId }),
      },
    }),
    path,
  };
}

/** Separates the parts of one reasoning item, which are paragraphs. */
export const reasoningSeparator = "\n\n";

function texts(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((part: unknown) => {
    const text = asString(asRecord(part).text);
    return text === undefined ? [] : [text];
  });
}

/**
 * Records of vendor-side work. Leaving one out is a hint, since the answer based on it stays. Any
 * other item, including newer types, was contributed by the caller or belongs to such an item:
 * leaving it out changes the meaning.
 */
const vendorRecords: ReadonlySet<string> = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "mcp_list_tools",
  "mcp_call",
  "tool_search_call",
  "tool_search_output",
]);
