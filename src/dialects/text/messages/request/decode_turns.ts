import { mapInSteps, type Steps } from "../../../../base/steps.ts";
import type {
  MediaPart,
  Part,
  SystemText,
  TextPart,
  ToolResultPart,
  Turn,
  UnsupportedField,
} from "../../../kernel/canonical_request.ts";
import { invalidValue, missingField } from "../../../../shared/fault.ts";
import { summaryText } from "../../../kernel/summary.ts";
import { stringAt } from "../../../kernel/fields.ts";
import { asList, asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { changesOf, changesTools } from "./decode_tools.ts";
import { readDocument, readImage, readSearchResult } from "./decode_media.ts";
import { markLast, readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { checkPartCount, readElements, requireTexts } from "../../../kernel/read_content.ts";

/** Reads the top-level `system`: one text per block. */
export function readSystem(value: unknown, unsupported: UnsupportedField[]): SystemText[] {
  if (value === undefined || value === null) return [];
  return readTexts(value, "system", unsupported).flatMap(({ type: _, ...text }) => {
    if (!isAttribution(text)) return [text];
    unsupported.push({ path: text.path, value: text.text, weight: "hint" });
    return [];
  });
}

/**
 * Whether a text is Claude Code's note for Anthropic's accounts, which the model doesn't see there.
 * It precedes the whole prompt and differs from call to call, so that no prompt cache would ever
 * match.
 */
function isAttribution({ text }: SystemText): boolean {
  return text.startsWith("x-anthropic-billing-header:") && !text.trimEnd().includes("\n");
}

/** Reads the messages. Roles are checked here, the pairing of calls is not. */
export function* readTurns(value: unknown, unsupported: UnsupportedField[]): Steps<Turn[]> {
  if (!Array.isArray(value)) throw invalidValue("messages", "expected an array");
  let summary: string | undefined;
  const turns = yield* mapInSteps(value as unknown[], (message, index): Turn => {
    const path = `messages[${index}]`;
    if (!isRecord(message)) throw invalidValue(path, "expected an object");
    const { role, content } = message;
    const isEmpty = content === undefined || content === null;
    // A system message may do nothing but change settings.
    if (isEmpty && role === "system") return { role, parts: [], path };
    if (isEmpty) throw missingField(`${path}.content`);
    const last = asList(content).findLastIndex(isSummary);
    if (last >= 0) summary = `${path}.content[${last}]`;
    switch (role) {
      case "user":
      case "assistant":
        return { role, parts: readMessage(message, path, unsupported), path };
      case "system":
        return { role, parts: readTexts(content, `${path}.content`, unsupported), path };
      default:
        throw invalidValue(`${path}.role`, "expected 'user', 'assistant' or 'system'");
    }
  }, 1);
  // A system message that only changes tools or settings has no text for the model.
  return afterSummary(turns, summary).filter(({ role, parts }) =>
    role !== "system" || parts.length > 0
  );
}

/** Checks the number of each message's blocks, before anything else visits them. */
export function* checkBlocks(messages: unknown): Steps<void> {
  for (const [index, message] of asList(messages).entries()) {
    checkPartCount(countBlocks(asRecord(message).content), `messages[${index}].content`);
    yield;
  }
}

/** Counts the blocks, including those in results and documents. */
function countBlocks(content: unknown): number {
  return asList(content).reduce<number>((count, block) => {
    const { content: inside, source } = asRecord(block);
    return count + 1 + countBlocks(inside) + countBlocks(asRecord(source).content);
  }, 0);
}

/**
 * Replaces all turns before the last summary by the summary, as the vendor does. It becomes a user
 * turn, since other vendors' conversations begin with the user.
 */
function afterSummary(turns: Turn[], path: string | undefined): Turn[] {
  if (path === undefined) return turns;
  const at = turns.findLastIndex(({ parts }) => parts.some((part) => part.path === path));
  const { parts, ...turn } = turns[at]!;
  const from = parts.findIndex((part) => part.path === path);
  const rest = parts.slice(from + 1);
  return [
    { role: "user", parts: [parts[from]!], path: turn.path },
    ...(rest.length > 0 ? [{ ...turn, parts: rest }] : []),
    ...turns.slice(at + 1),
  ];
}

/** Whether a block is a summary of the conversation. A failed one is empty and doesn't count. */
function isSummary(block: unknown): boolean {
  return isRecord(block) && block.type === "compaction" && asString(block.content) !== undefined;
}

/**
 * Reads a message's content. The dialect has no cache mark on a message, but clients of other
 * dialects send it.
 */
function readMessage(message: JsonRecord, path: string, unsupported: UnsupportedField[]): Part[] {
  const parts = readContent(message.content, `${path}.content`, unsupported);
  const stray = parts.find(({ type }) => type === "tool-result");
  if (stray && message.role === "assistant") {
    throw invalidValue(`${stray.path}.type`, "expected no tool_result in an assistant's message");
  }
  return markLast(parts, readCacheMark(message, path, false));
}

function readTexts(content: unknown, path: string, unsupported: UnsupportedField[]): TextPart[] {
  return requireTexts(readContent(content, path, unsupported), "block");
}

function readContent(content: unknown, path: string, unsupported: UnsupportedField[]): Part[] {
  return readElements(content, path, "blocks", (block, at) => readBlock(block, at, unsupported));
}

function readBlock(block: JsonRecord, path: string, unsupported: UnsupportedField[]): Part[] {
  switch (block.type) {
    case "text":
    case "image":
    case "document":
    case "search_result":
      return readPlain(block, path);
    case "tool_use":
      return [{
        type: "tool-call",
        id: stringAt(block, "id", path),
        name: stringAt(block, "name", path),
        arguments: readInput(block.input, `${path}.input`),
        custom: false,
        ...readCacheMark(block, path),
        path,
      }];
    case "tool_result":
      return [readResult(block, path, unsupported)];
    case "thinking": {
      const signature = stringAt(block, "signature", path);
      return [{
        type: "reasoning",
        text: stringAt(block, "thinking", path),
        // Callers get other vendors' thinking without a signature.
        ...(signature === ""
          ? {}
          : { opaque: { dialect: "messages", kind: "signature", value: signature } }),
        path,
      }];
    }
    case "redacted_thinking": {
      const value = stringAt(block, "data", path);
      const opaque = { dialect: "messages", kind: "redacted", value } as const;
      return [{ type: "reasoning", text: "", opaque, path }];
    }
    case "compaction":
      for (const change of changesOf({ block, path })) {
        if (!changesTools(change.block)) readOther(change.block, change.path, unsupported);
      }
      return isSummary(block)
        ? [{ type: "text", text: summaryText(String(block.content)), path }]
        : [];
    default:
      // Changes of tools are in the list of tools already.
      return changesTools(block) ? [] : readOther(block, path, unsupported);
  }
}

function readPlain(block: JsonRecord, path: string): (TextPart | MediaPart)[] {
  switch (block.type) {
    case "text": {
      const text = stringAt(block, "text", path);
      return [{ type: "text", text, ...readCacheMark(block, path), path }];
    }
    case "image":
      return [readImage(block, path)];
    case "document":
      return readDocument(block, path);
    default:
      return [readSearchResult(block, path)];
  }
}

function readInput(input: unknown, path: string): string {
  if (!isRecord(input)) throw invalidValue(path, "expected an object");
  return JSON.stringify(input);
}

function readResult(
  block: JsonRecord,
  path: string,
  unsupported: UnsupportedField[],
): ToolResultPart {
  return {
    type: "tool-result",
    callId: stringAt(block, "tool_use_id", path),
    parts: readResultContent(block.content, `${path}.content`, unsupported),
    isError: block.is_error === true,
    ...readCacheMark(block, path),
    path,
  };
}

function readResultContent(
  content: unknown,
  path: string,
  unsupported: UnsupportedField[],
): (TextPart | MediaPart)[] {
  if (content === undefined || content === null) return [];
  return readElements(content, path, "blocks", (block, at): (TextPart | MediaPart)[] => {
    if (["text", "image", "document", "search_result"].includes(String(block.type))) {
      return readPlain(block, at);
    }
    // The result of the caller's own tool search: a tool that the caller offers from then on.
    if (block.type === "tool_reference") {
      const name = stringAt(block, "tool_name", at);
      return [{ type: "text", text: `Tool ${name} is loaded.`, path: at }];
    }
    return readOther(block, at, unsupported);
  });
}

/**
 * Reports a block that can't be carried. Vendor-side work of an earlier answer is a hint, since
 * other vendors needn't see it; leaving out any other unknown block may change the meaning.
 */
function readOther(block: JsonRecord, path: string, unsupported: UnsupportedField[]): [] {
  if (typeof block.type !== "string") {
    throw invalidValue(`${path}.type`, "expected the type of a block");
  }
  const isVendorWork = /^(server_tool_use|mcp_tool_use|fallback|tool_reference)$|._tool_result$/
    .test(block.type);
  unsupported.push({ path, value: block, weight: isVendorWork ? "hint" : "meaning" });
  return [];
}
