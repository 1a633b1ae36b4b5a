import type { Steps } from "../../../../base/steps.ts";
import type {
  MediaPart,
  Part,
  SystemText,
  ToolCallPart,
  Turn,
  UnsupportedField,
} from "../../../kernel/canonical_request.ts";
import { invalidValue } from "../../../../shared/fault.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { dataSource, imageOrFile, mediaSource, readSound } from "../../../kernel/media_source.ts";
import { carriedSignature } from "../../../kernel/reasoning.ts";
import { markLast, readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { readElements, requireTexts, withoutRefusals } from "../../../kernel/read_content.ts";

/**
 * Reads chat messages: system texts that come first, then the turns. Parts of unknown types go to
 * `unsupported`.
 */
export function* readMessages(
  messages: readonly unknown[],
  unsupported: UnsupportedField[],
): Steps<{ system: SystemText[]; turns: Turn[] }> {
  const system: SystemText[] = [];
  const turns: Turn[] = [];
  /** Name of a function → id of its last call. */
  const calls = new Map<string, string>();
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (!isRecord(message)) throw invalidValue(path, "expected an object");
    if (message.role === "system" || message.role === "developer") {
      const read = readContent(message.content, `${path}.content`, unsupported);
      const texts = markLast(requireTexts(read, "part"), readCacheMark(message, path, false));
      if (turns.length === 0) { for (const { type: _, ...text } of texts) system.push(text); }
      else turns.push({ role: "system", parts: texts, path });
    } else {
      const read = readTurn(message, path, { calls, unsupported });
      // Clients put the cache mark on the message (opencode) as well as on its parts.
      const turn = { ...read, parts: markLast(read.parts, readCacheMark(message, path, false)) };
      turns.push(turn);
      for (const part of turn.parts) if (part.type === "tool-call") calls.set(part.name, part.id);
    }
    yield;
  }
  return { system, turns };
}

interface TurnContext {
  calls: ReadonlyMap<string, string>;
  unsupported: UnsupportedField[];
}

function readTurn(message: JsonRecord, path: string, { calls, unsupported }: TurnContext): Turn {
  const name = asString(message.name);
  switch (message.role) {
    case "user":
      return {
        role: "user",
        parts: withoutRefusals(readContent(message.content, `${path}.content`, unsupported)),
        ...(name === undefined ? {} : { name }),
        path,
      };
    case "assistant":
      return { role: "assistant", parts: readAssistant(message, path, unsupported), path };
    default: {
      // Messages of the deprecated `function` role name a function; its last call is the one they
      // answer.
      const called = name === undefined ? undefined : calls.get(name);
      const callId = message.role === "tool" ? asString(message.tool_call_id) : called;
      return { role: "user", parts: [readResult(message, callId, path, unsupported)], path };
    }
  }
}

function readAssistant(message: JsonRecord, path: string, unsupported: UnsupportedField[]): Part[] {
  const parts: Part[] = [];
  const reasoning = asString(message.reasoning_content) ?? asString(message.reasoning);
  if (reasoning) {
    parts.push({ type: "reasoning", text: reasoning, path: `${path}.reasoning_content` });
  }
  if (message.content !== null && message.content !== undefined) {
    for (const part of readContent(message.content, `${path}.content`, unsupported)) {
      parts.push(part);
    }
  }
  const refusal = asString(message.refusal);
  if (refusal) parts.push({ type: "refusal", text: refusal, path: `${path}.refusal` });
  if (Array.isArray(message.tool_calls)) {
    message.tool_calls.forEach((call: unknown, index) =>
      parts.push(readToolCall(call, `${path}.tool_calls[${index}]`))
    );
  }
  if (isRecord(message.function_call)) {
    const name = asString(message.function_call.name) ?? "";
    parts.push({
      type: "tool-call",
      id: `call_${name}`,
      name,
      arguments: asString(message.function_call.arguments) ?? "{}",
      custom: false,
      path: `${path}.function_call`,
    });
  }
  return parts;
}

function readToolCall(call: unknown, path: string): ToolCallPart {
  if (!isRecord(call)) throw invalidValue(path, "expected an object");
  const custom = call.type === "custom";
  const body = custom ? call.custom : call.function;
  const id = asString(call.id);
  if (id === undefined) throw invalidValue(`${path}.id`, "expected an id");
  const name = asString(asRecord(body).name);
  if (!isRecord(body) || name === undefined) {
    throw invalidValue(`${path}.${custom ? "custom" : "function"}.name`, "expected a name");
  }
  const signature = carriedSignature(thoughtSignature(call));
  return {
    type: "tool-call",
    id,
    name,
    arguments: custom ? asString(body.input) ?? "" : asString(body.arguments) ?? "{}",
    custom,
    ...(signature === undefined
      ? {}
      : { opaque: { dialect: "generate", kind: "thoughtSignature", value: signature } }),
    ...readCacheMark(call, path),
    path,
  };
}

/** Google's own chat endpoint carries thought signatures in this extension. */
function thoughtSignature(call: JsonRecord): string | undefined {
  return asString(asRecord(asRecord(call.extra_content).google).thought_signature);
}

function readResult(
  message: JsonRecord,
  callId: string | undefined,
  path: string,
  unsupported: UnsupportedField[],
): Part {
  if (callId === undefined) {
    throw invalidValue(`${path}.tool_call_id`, "expected the id of a tool call");
  }
  const name = asString(message.name);
  const parts = readContent(message.content ?? "", `${path}.content`, unsupported);
  return {
    type: "tool-result",
    callId,
    ...(name === undefined ? {} : { name }),
    parts: withoutRefusals(parts).filter((part) => part.type === "text" || part.type === "media"),
    isError: false,
    path,
  };
}

function readContent(content: unknown, path: string, unsupported: UnsupportedField[]): Part[] {
  return readElements(content, path, "parts", (part, at) => readPart(part, at, unsupported));
}

function readPart(
  part: JsonRecord,
  path: string,
  unsupported: UnsupportedField[],
): Part | readonly [] {
  const cache = readCacheMark(part, path);
  switch (part.type) {
    case "text":
      if (typeof part.text !== "string") throw invalidValue(`${path}.text`, "expected a string");
      return { type: "text", text: part.text, ...cache, path };
    case "refusal":
      return { type: "refusal", text: asString(part.refusal) ?? "", path };
    case "image_url":
      return { ...readImage(part.image_url, path), ...cache };
    case "video_url":
      return { ...readImage(part.video_url, path, "video"), ...cache };
    case "input_audio":
      return { ...readSound(part.input_audio, `${path}.input_audio`, path), ...cache };
    case "file":
      return { ...readFile(part.file, path), ...cache };
    default:
      if (typeof part.type !== "string") {
        throw invalidValue(`${path}.type`, "expected the type of a part");
      }
      unsupported.push({ path, value: part, weight: "meaning" });
      return [];
  }
}

function readImage(value: unknown, path: string, kind: "image" | "video" = "image"): MediaPart {
  const url = typeof value === "string" ? value : asString(asRecord(value).url);
  if (url === undefined) throw invalidValue(`${path}.${kind}_url.url`, "expected a URL");
  const source = mediaSource(url);
  if (!source) {
    throw invalidValue(
      `${path}.${kind}_url.url`,
      "expected an https URL or a data URL with valid base64",
    );
  }
  const detail = asString(asRecord(value).detail);
  return {
    type: "media",
    kind: kind === "image" ? imageOrFile(source) : kind,
    source,
    ...(detail === undefined
      ? {}
      : { detail, fieldPaths: { detail: `${path}.${kind}_url.detail` } }),
    path,
  };
}

function readFile(value: unknown, path: string): MediaPart {
  if (!isRecord(value)) throw invalidValue(`${path}.file`, "expected an object");
  const name = asString(value.filename);
  const named = name === undefined ? {} : { name, fieldPaths: { name: `${path}.file.filename` } };
  const id = asString(value.file_id);
  if (id !== undefined) {
    return {
      type: "media",
      kind: "file",
      source: { type: "vendor-file", id, mimeType: undefined },
      ...named,
      path,
    };
  }
  const data = asString(value.file_data);
  if (data === undefined) throw invalidValue(`${path}.file.file_data`, "expected a data URL");
  const source = /^https?:/.test(data) ? mediaSource(data) : dataSource(data);
  if (!source) {
    throw invalidValue(`${path}.file.file_data`, "expected a data URL with valid base64");
  }
  return { type: "media", kind: "file", source, ...named, path };
}
