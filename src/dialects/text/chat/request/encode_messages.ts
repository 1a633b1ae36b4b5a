import { pushAll } from "../../../../base/lists.ts";
import { flatMapInSteps, forEachInSteps, mapInSteps, type Steps } from "../../../../base/steps.ts";
import type {
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
import { invalidValue } from "../../../../shared/fault.ts";
import {
  audioFormat,
  dataUrl,
  leftOutNote,
  loseMediaFields,
} from "../../../kernel/media_source.ts";

type Message = Record<string, unknown>;

/** State shared while one conversation is written. */
interface Writing {
  aliasOf: (name: string) => string;
  marks: Breakpoints;
  losses: Loss[];
}

export function* writeMessages(request: CanonicalRequest, writing: Writing): Steps<Message[]> {
  yield;
  yield* requireResults(request.turns);
  const messages: Message[] = [];
  const system = request.system.filter(({ text }) => text !== "");
  if (system.length > 0) messages.push({ role: "system", content: writeTexts(system, writing) });
  for (const turn of yield* mergeTurns(yield* resultsFirst(request.turns))) {
    for (const message of yield* writeTurn(turn, writing)) messages.push(message);
    yield;
  }
  return messages;
}

/**
 * Returns the turns with each call's result before any other message that the caller has between
 * the two: this dialect's vendors require the results directly after their calls.
 */
function* resultsFirst(turns: readonly Turn[]): Steps<Turn[]> {
  const ordered: Turn[] = [];
  const waiting: Turn[] = [];
  const open = new Set<string>();
  for (const turn of turns) {
    yield;
    const isModels = turn.role === "assistant";
    const hasResult = turn.parts.some(({ type }) => type === "tool-result");
    if (!isModels && !hasResult && open.size > 0) {
      waiting.push(turn);
      continue;
    }
    if (isModels) pushAll(ordered, waiting.splice(0));
    ordered.push(turn);
    yield* forEachInSteps(turn.parts, (part) => {
      if (part.type === "tool-call") open.add(part.id);
      else if (part.type === "tool-result") open.delete(part.callId);
    });
    if (open.size === 0) pushAll(ordered, waiting.splice(0));
  }
  return [...ordered, ...waiting];
}

/**
 * Merges what this dialect has in one message: adjacent assistant turns (Google's libraries send
 * each chunk of a stream back as a turn of its own), and the user turns after results, since
 * nothing may stand between the results of one message's calls.
 */
function* mergeTurns(turns: readonly Turn[]): Steps<Turn[]> {
  const merged: Turn[] = [];
  let hasResults = false;
  for (const turn of turns) {
    yield;
    const last = merged.at(-1);
    const isSame = last?.role === turn.role && last.name === turn.name;
    if (last && isSame && (turn.role === "assistant" || hasResults)) {
      // The list was created here.
      for (const part of turn.parts) last.parts.push(part);
    } else {
      merged.push({ ...turn, parts: [...turn.parts] });
      hasResults = false;
    }
    hasResults ||= turn.parts.some(({ type }) => type === "tool-result");
  }
  return merged;
}

/**
 * Returns the texts joined, or as separate parts if the request has cache marks. An empty text is
 * left out, marked or not: Anthropic, behind an aggregator, refuses an empty part.
 */
function writeTexts(
  texts: readonly Pick<TextPart, "text" | "cache" | "path">[],
  { marks }: Writing,
  separator = "\n\n",
): unknown {
  const parts = texts.filter(({ text }) => text !== "")
    .map((one) => marks.mark({ type: "text", text: one.text }, one));
  return marks.hasMarks && parts.length > 0 ? parts : texts.map(({ text }) => text).join(separator);
}

function* writeTurn(turn: Turn, writing: Writing): Steps<Message[]> {
  const { losses } = writing;
  if (turn.role === "assistant") return yield* writeAssistant(turn, writing);
  if (turn.role === "system") {
    const texts = turn.parts.filter((part) => part.type === "text");
    return [{ role: "system", content: writeTexts(texts, writing) }];
  }
  const results = turn.parts.filter((part) => part.type === "tool-result");
  const rest = turn.parts.filter((part) => part.type !== "tool-result");
  const messages = yield* mapInSteps(results, (result) => writeResult(result, writing));
  // Tool messages take text only: media of a result follow in a user message.
  const shown = yield* flatMapInSteps(
    results,
    (result) =>
      result.parts.filter((part) => part.type === "media").flatMap((media): Part[] => [
        {
          type: "text",
          text: `[result of ${result.callId.slice(0, maxShownId)}]`,
          path: media.path,
        },
        media,
      ]),
  );
  const content = [...shown, ...rest];
  if (content.length > 0) {
    messages.push({
      role: "user",
      content: writeContent(content, writing),
      ...(turn.name === undefined ? {} : { name: turn.name }),
    });
  } else if (turn.name !== undefined) {
    losses.push({ path: `${turn.path}.name`, weight: "hint" });
  }
  return messages;
}

/** Characters of a call's id to show in front of each of its media. */
const maxShownId = 100;

function* writeAssistant(turn: Turn, { aliasOf, losses }: Writing): Steps<Message[]> {
  for (const part of turn.parts) {
    // Assistant messages take text only.
    if (part.type === "media") losses.push({ path: part.path, weight: "meaning" });
  }
  const calls = turn.parts.filter((part) => part.type === "tool-call");
  const text = textOf(turn.parts).join("");
  if (text === "" && calls.length === 0) return [];
  const written = yield* mapInSteps(calls, (call) => writeCall(call, aliasOf));
  return [{
    role: "assistant",
    content: text === "" ? null : text,
    ...(written.length > 0 ? { tool_calls: written } : {}),
  }];
}

function writeCall(call: ToolCallPart, aliasOf: (name: string) => string): Message {
  const name = aliasOf(call.name);
  return call.custom
    ? { id: call.id, type: "custom", custom: { name, input: call.arguments } }
    : { id: call.id, type: "function", function: { name, arguments: call.arguments || "{}" } };
}

function writeResult(result: ToolResultPart, writing: Writing): Message {
  const { marks } = writing;
  const texts = marks.ofResult(result.parts.filter((part) => part.type === "text"), result);
  const marked = writeTexts(texts, writing, "\n");
  if (typeof marked !== "string") {
    const shown = result.isError
      ? [{ type: "text", text: "Error:" }, ...marked as Message[]]
      : marked;
    return { role: "tool", tool_call_id: result.callId, content: shown };
  }
  const hasMedia = result.parts.some((part) => part.type === "media");
  const shown = marked === "" && hasMedia ? "[media returned, see next message]" : marked;
  return {
    role: "tool",
    tool_call_id: result.callId,
    // The dialect has no flag for a failed tool.
    content: result.isError ? `Error: ${shown}` : shown,
  };
}

function writeContent(parts: readonly Part[], writing: Writing): unknown {
  const { marks, losses } = writing;
  const texts = parts.filter((part) => part.type === "text");
  if (parts.length === 1 && texts.length === 1) return writeTexts(texts, writing);
  const written = parts.flatMap((part): Message[] => {
    if (part.type === "text" && part.text !== "") {
      return [marks.mark({ type: "text", text: part.text }, part)];
    }
    if (part.type === "media") {
      const written = writeMedia(part, losses);
      return [part.kind === "audio" ? written : marks.mark(written, part)];
    }
    return [];
  });
  return written.length > 0 ? written : "";
}

/**
 * Writes media. Media that has no form in this dialect, or is stored at another vendor, is a loss
 * and leaves a note.
 */
function writeMedia(part: MediaPart, losses: Loss[]): Message {
  loseMediaFields(part, { name: part.kind === "file", detail: part.kind === "image" }, losses);
  const written = part.source.type === "vendor-file" ? undefined : mediaOf(part, part.source);
  if (written) return written;
  losses.push({ path: part.path, weight: "meaning" });
  return { type: "text", text: leftOutNote(part) };
}

function mediaOf(
  part: MediaPart,
  source: Exclude<MediaPart["source"], { type: "vendor-file" }>,
): Message | undefined {
  const url = source.type === "url" ? source.url : dataUrl(source.mimeType, source.data);
  switch (part.kind) {
    case "image":
      return {
        type: "image_url",
        image_url: { url, ...(part.detail === undefined ? {} : { detail: part.detail }) },
      };
    case "video":
      return { type: "video_url", video_url: { url } };
    case "audio": {
      const format = source.type === "base64" ? audioFormat(source.mimeType) : undefined;
      if (source.type !== "base64" || format === undefined) return undefined;
      return { type: "input_audio", input_audio: { data: source.data, format } };
    }
    case "file":
      return { type: "file", file: { file_data: url, filename: part.name ?? "file" } };
  }
}

function textOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) =>
    part.type === "text" || part.type === "refusal" ? [(part as TextPart).text] : []
  );
}

/** Throws `invalid_value` if no result follows a tool call before the last turn. */
function* requireResults(turns: readonly Turn[]): Steps<void> {
  const open = new Map<string, Turn>();
  for (const [index, turn] of turns.entries()) {
    yield* forEachInSteps(turn.parts, (part) => {
      if (part.type === "tool-result") open.delete(part.callId);
      // The last turn may have calls that are still without results.
      else if (part.type === "tool-call" && index < turns.length - 1) open.set(part.id, turn);
    });
    yield;
  }
  const [first] = open.values();
  if (first === undefined) return;
  const ids = [...open].flatMap(([id, turn]) => turn === first ? [id] : []).join(", ");
  throw invalidValue(first.path, `no result follows for the tool calls ${ids}`);
}
