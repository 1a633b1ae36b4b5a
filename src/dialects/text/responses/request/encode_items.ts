import { pushAll } from "../../../../base/lists.ts";
import { sha256Hex } from "../../../../base/hash.ts";
import { forEachInSteps, type Steps } from "../../../../base/steps.ts";
import type {
  CacheMark,
  CanonicalRequest,
  Loss,
  MediaPart,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from "../../../kernel/canonical_request.ts";
import type { Breakpoints } from "../../../kernel/breakpoints.ts";
import { innerJson } from "../../../kernel/json.ts";
import {
  audioFormat,
  dataUrl,
  leftOutNote,
  loseMediaFields,
} from "../../../kernel/media_source.ts";
import { withoutCutReasoning } from "../conversation/state.ts";
import { requirePairs } from "./pairing.ts";

type Item = Record<string, unknown>;

/** State shared while one conversation is written. */
interface Writing {
  aliasOf: (name: string) => string;
  /** Ids of custom tool calls, whose outputs have a separate item type. */
  customCalls: ReadonlySet<string>;
  marks: Breakpoints;
  losses: Loss[];
}

/**
 * Writes the conversation as input items. System texts become developer messages instead of
 * `instructions`, which preserves their order and number.
 */
export function* writeItems(
  request: CanonicalRequest,
  { aliasOf, marks, losses }: Omit<Writing, "customCalls">,
): Steps<Item[]> {
  yield;
  yield* requirePairs(request.turns);
  const calls: ToolCallPart[] = [];
  for (const { parts } of request.turns) {
    for (const part of parts) if (part.type === "tool-call") calls.push(part);
  }
  yield;
  const writing: Writing = {
    aliasOf,
    customCalls: new Set(calls.filter((call) => call.custom).map((call) => call.id)),
    marks,
    losses,
  };
  const items: Item[] = [];
  for (const text of request.system) {
    if (text.text !== "") items.push(systemMessage([text], writing));
  }
  for (const turn of request.turns) {
    for (const item of yield* writeTurn(turn, writing)) items.push(item);
    yield;
  }
  return withoutCutReasoning(items);
}

function* writeTurn(turn: Turn, writing: Writing): Steps<Item[]> {
  if (turn.name !== undefined) writing.losses.push({ path: `${turn.path}.name`, weight: "hint" });
  switch (turn.role) {
    case "system": {
      const texts = turn.parts.filter((part) => part.type === "text");
      return texts.some(({ text }) => text !== "") ? [systemMessage(texts, writing)] : [];
    }
    case "assistant":
      return yield* writeAssistant(turn.parts, writing);
    case "user":
      return yield* writeUser(turn.parts, writing);
  }
}

function systemMessage(
  texts: readonly { text: string; cache?: CacheMark; path: string }[],
  { marks }: Writing,
): Item {
  const content = texts.map((one) => marks.mark({ type: "input_text", text: one.text }, one));
  return { type: "message", role: "developer", content };
}

/** Writes a user turn. Tool outputs come first: they answer the calls of the previous turn. */
function* writeUser(parts: readonly Part[], writing: Writing): Steps<Item[]> {
  const items: Item[] = [];
  const content: Item[] = [];
  yield* forEachInSteps(parts, (part) => {
    if (part.type === "tool-result") items.push(writeOutput(part, writing));
    else if (part.type === "text") content.push(writeText(part, writing));
    else if (part.type === "media") pushAll(content, writeMarked(part, writing));
  });
  if (content.length > 0) items.push({ type: "message", role: "user", content });
  return items;
}

function writeText(part: TextPart, { marks }: Writing): Item {
  return marks.mark({ type: "input_text", text: part.text }, part);
}

function writeMarked(part: MediaPart, { marks, losses }: Writing): Item[] {
  return writeMedia(part, losses).map((item) =>
    item.type === "input_audio" ? item : marks.mark(item, part)
  );
}

/**
 * Writes an assistant turn. Adjacent texts are parts of one message; reasoning and calls are
 * separate items.
 */
function* writeAssistant(parts: readonly Part[], writing: Writing): Steps<Item[]> {
  const items: Item[] = [];
  let content: Item[] | undefined;
  yield* forEachInSteps(parts, (part) => {
    const messagePart = writeMessagePart(part);
    if (messagePart) {
      if (!content) items.push({ type: "message", role: "assistant", content: content = [] });
      return void content.push(messagePart);
    }
    const item = part.type === "tool-call"
      ? writeCall(part, writing)
      : part.type === "reasoning"
      ? writeReasoning(part)
      : undefined;
    if (item) {
      content = undefined;
      items.push(item);
    } else if (part.type === "media") {
      // Assistant messages accept only text.
      writing.losses.push({ path: part.path, weight: "meaning" });
    }
  });
  return items;
}

function writeMessagePart(part: Part): Item | undefined {
  if (part.type === "text" && part.text !== "") return { type: "output_text", text: part.text };
  if (part.type === "refusal") return { type: "refusal", refusal: part.text };
  return undefined;
}

/**
 * Writes reasoning. It is sent back only to a vendor that sealed it, with its item's id: a vendor
 * that stores nothing refuses one without the other (dotnet/extensions#7628).
 */
function writeReasoning(part: Part & { type: "reasoning" }): Item | undefined {
  const { opaque } = part;
  // The vendor's own search, which its reasoning refers to.
  if (opaque?.dialect === "responses" && opaque.kind === "block") {
    return innerJson(opaque.value) as Item;
  }
  if (opaque?.dialect !== "responses" || opaque.kind !== "encrypted_content") return undefined;
  return {
    type: "reasoning",
    ...(opaque.itemId === undefined ? {} : { id: opaque.itemId }),
    summary: part.text === "" ? [] : [{ type: "summary_text", text: part.text }],
    encrypted_content: opaque.value,
  };
}

function writeCall(call: ToolCallPart, writing: Writing): Item {
  const named = { call_id: callId(call.id), name: writing.aliasOf(call.name) };
  return call.custom
    ? { type: "custom_tool_call", ...named, input: call.arguments }
    : { type: "function_call", ...named, arguments: call.arguments || "{}" };
}

function writeOutput(result: ToolResultPart, writing: Writing): Item {
  return {
    type: writing.customCalls.has(result.callId)
      ? "custom_tool_call_output"
      : "function_call_output",
    call_id: callId(result.callId),
    output: outputOf(result, writing),
  };
}

function outputOf(result: ToolResultPart, writing: Writing): unknown {
  // The dialect has no flag for a failed tool.
  const mark = result.isError ? "Error: " : "";
  const [first] = result.parts;
  const marked = writing.marks.ofResult(result.parts, result);
  if (!first) return mark;
  const parts = marked.flatMap((part): Item[] =>
    part.type === "text" ? [writeText(part, writing)] : writeMarked(part, writing)
  );
  const isPlain = marked.length === 1 && first.type === "text";
  if (isPlain && !writing.marks.hasMarks) return mark + first.text;
  return mark === "" ? parts : [{ type: "input_text", text: mark.trim() }, ...parts];
}

/**
 * Returns a call's id. One of more than 64 characters is replaced by a short one, on call and
 * output alike.
 */
function callId(id: string): string {
  return id.length <= 64 ? id : `call_${sha256Hex(id).slice(0, 40)}`;
}

/**
 * Writes media. Media that has no form in this dialect, or is stored at another vendor, is a loss
 * and leaves a note.
 */
function writeMedia(part: MediaPart, losses: Loss[]): Item[] {
  const { source } = part;
  const isNamed = part.kind === "file" && source.type !== "url";
  loseMediaFields(part, { name: isNamed, detail: true }, losses);
  if (source.type === "vendor-file") return leftOut(part, losses);
  const detail = part.detail === undefined ? {} : { detail: part.detail };
  const url = source.type === "url" ? source.url : dataUrl(source.mimeType, source.data);
  if (part.kind === "image") return [{ type: "input_image", image_url: url, ...detail }];
  if (part.kind === "file") {
    if (source.type === "url") return [{ type: "input_file", file_url: url, ...detail }];
    const filename = part.name ?? "file";
    return [{ type: "input_file", filename, file_data: url, ...detail }];
  }
  const format = part.kind === "audio" && source.type === "base64"
    ? audioFormat(source.mimeType)
    : undefined;
  if (source.type === "base64" && format !== undefined) {
    return [{ type: "input_audio", input_audio: { data: source.data, format } }];
  }
  return leftOut(part, losses);
}

function leftOut(part: MediaPart, losses: Loss[]): Item[] {
  losses.push({ path: part.path, weight: "meaning" });
  return [{ type: "input_text", text: leftOutNote(part) }];
}
