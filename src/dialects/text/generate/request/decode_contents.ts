import { sha256Hex } from "../../../../base/hash.ts";
import { flatMapInSteps, type Steps } from "../../../../base/steps.ts";
import type {
  MediaPart,
  Part,
  SystemText,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from "../../../kernel/canonical_request.ts";
import { invalidValue, missingField } from "../../../../shared/fault.ts";
import { asList, asRecord, type JsonRecord } from "../../../kernel/json.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { checkPartCount } from "../../../kernel/read_content.ts";
import { markedCallId } from "./call_mark.ts";
import {
  dataMember,
  isEmptyPart,
  type PartContext,
  readBlob,
  readFile,
  readPart,
  readSignature,
} from "./decode_parts.ts";
import { Fields } from "./fields.ts";

/** Reads `contents` as turns. A call without an id gets one derived from its position and name. */
export function* readContents(request: Fields, context: PartContext): Steps<Turn[]> {
  if (!request.has("contents")) throw missingField("contents");
  const contents = request.objects("contents");
  if (contents.length === 0) throw invalidValue("contents", "expected at least one content");
  const reader = new ContentReader(context);
  const turns: Turn[] = [];
  for (const content of contents) {
    turns.push(yield* reader.read(content));
    yield;
  }
  // Empty turns are left out, unless all are empty.
  const nonEmpty = turns.filter(({ parts }) => parts.length > 0);
  return nonEmpty.length > 0 ? joinAnswers(nonEmpty) : turns;
}

/**
 * Joins adjacent contents of the model to one turn: chats of Google's client libraries add each
 * chunk of a streamed answer as a content of its own, but its reasoning belongs before all of it,
 * and once.
 */
function joinAnswers(turns: readonly Turn[]): Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (turn.role !== "assistant" || last?.role !== "assistant") {
      joined.push(turn);
      continue;
    }
    const [first, ...others] = turn.parts;
    const end = last.parts.at(-1);
    if (isPlainText(end) && isPlainText(first)) end.text += first.text;
    else last.parts.push(first!);
    for (const part of others) last.parts.push(part);
  }
  return joined;
}

function isPlainText(part: Part | undefined): part is TextPart {
  return part?.type === "text" && part.opaque === undefined && part.cache === undefined;
}

/** `systemInstruction`: text parts, or a bare string, which client libraries accept too. */
export function readSystem(request: Fields): SystemText[] {
  const value = request.value("systemInstruction");
  if (value === undefined) return [];
  if (typeof value === "string") {
    return value === "" ? [] : [{ text: value, path: request.at("systemInstruction") }];
  }
  const system = request.object("systemInstruction")!;
  return system.objects("parts").flatMap((part) => {
    const text = part.string("text");
    if (text === undefined && !isEmptyPart(part)) {
      throw invalidValue(part.path, "expected a text part");
    }
    const mark = readCacheMark(part.record, part.path);
    return text === undefined || text === "" ? [] : [{ text, ...mark, path: part.path }];
  });
}

/** Calls without a result yet, by id and by name. */
class PendingCalls {
  readonly #byId = new Map<string, Waiting>();
  readonly #byName = new Map<string, Waiting>();
  /** The calls without an id, by name. */
  readonly #bareByName = new Map<string, Waiting>();

  add(call: PendingCall): void {
    if (call.callerId === undefined) waitIn(this.#bareByName, call.name, call);
    waitIn(this.#byId, call.id, call);
    waitIn(this.#byName, call.name, call);
  }

  /** This id from a signature, unless another call has it: a client may repeat a signature. */
  unused(id: string | undefined): string | undefined {
    return id === undefined || id === "" || this.#byId.has(id) ? undefined : id;
  }

  /**
   * Takes the call with this id, or else the first with this name. If there is an id but no call
   * has it, only a call without an id is taken.
   */
  take(id: string | undefined, name: string): PendingCall | undefined {
    const call = (id === undefined ? undefined : firstOpen(this.#byId.get(id))) ??
      firstOpen((id === undefined ? this.#byName : this.#bareByName).get(name));
    if (call) call.isAnswered = true;
    return call;
  }
}

/** Calls in order; those before `next` have results. */
interface Waiting {
  readonly calls: PendingCall[];
  next: number;
}

function waitIn(lines: Map<string, Waiting>, key: string, call: PendingCall): void {
  const line = lines.get(key);
  if (line) line.calls.push(call);
  else lines.set(key, { calls: [call], next: 0 });
}

function firstOpen(line: Waiting | undefined): PendingCall | undefined {
  if (!line) return undefined;
  while (line.calls[line.next]?.isAnswered) line.next++;
  return line.calls[line.next];
}

interface PendingCall {
  /** The caller's id; undefined if it sent none. */
  callerId: string | undefined;
  id: string;
  name: string;
  isAnswered: boolean;
}

/** A result that says neither by id nor by name which call it answers. */
class UnmatchedResult {
  constructor(readonly part: Fields) {}
}

class ContentReader {
  readonly #context: PartContext;
  readonly #pending = new PendingCalls();
  /** The results of calls with ids. */
  readonly #answers = new Map<string, JsonRecord>();
  #index = -1;
  /** The latest content with calls. */
  #latest: { index: number; calls: PendingCall[] } = { index: -1, calls: [] };

  constructor(context: PartContext) {
    this.#context = context;
  }

  *read(content: Fields): Steps<Turn> {
    this.#index++;
    const role = content.string("role") ?? "user";
    if (!["user", "model", "function", ""].includes(role)) {
      throw invalidValue(content.at("role"), "expected 'user' or 'model'");
    }
    const listed = content.objects("parts");
    const count = listed.reduce(
      (sum, part) => sum + 1 + asList(asRecord(part.value("functionResponse")).parts).length,
      0,
    );
    checkPartCount(count, content.at("parts"));
    const parts = yield* flatMapInSteps(listed, (part, index): (Part | UnmatchedResult)[] => {
      const member = dataMember(part);
      if (member === undefined) {
        this.#context.unsupported.push({ path: part.path, value: part.record, weight: "meaning" });
        return [];
      }
      if (member === "functionCall") return [this.#call(part, index)];
      if (member === "functionResponse") return this.#answered(part);
      const read = readPart(part, member, this.#context);
      return read ? [read] : [];
    });
    return {
      role: role === "model" ? "assistant" : "user",
      parts: this.#matched(parts),
      path: content.path,
    };
  }

  #call(part: Fields, index: number): ToolCallPart {
    const call = part.object("functionCall")!;
    const name = call.string("name");
    if (name === undefined || name === "") throw missingField(call.at("name"));
    const callerId = call.string("id") || undefined;
    const hash = sha256Hex(JSON.stringify([this.#index, index, name]));
    const marked = markedCallId(part.string("thoughtSignature") ?? "");
    const id = callerId ?? this.#pending.unused(marked) ?? `call_${hash.slice(0, 24)}`;
    const pending = { callerId, id, name, isAnswered: false };
    this.#pending.add(pending);
    if (this.#latest.index !== this.#index) this.#latest = { index: this.#index, calls: [] };
    this.#latest.calls.push(pending);
    return {
      type: "tool-call",
      id,
      name,
      arguments: JSON.stringify(call.object("args")?.record ?? {}),
      custom: false,
      ...readSignature(part),
      ...readCacheMark(part.record, part.path),
      path: part.path,
    };
  }

  #answered(part: Fields): (ToolResultPart | UnmatchedResult)[] {
    const result = part.object("functionResponse")!;
    const id = result.string("id") || undefined;
    const call = this.#pending.take(id, result.string("name") ?? "");
    if (call) {
      if (id !== undefined) this.#answers.set(id, result.record);
      return [this.#result(part, call)];
    }
    if (id === undefined) return [new UnmatchedResult(part)];
    // Gemini CLI (0.61.0) sends each result twice after it has resumed a session. The comparison is
    // linear in the request, since the first difference ends it with an error.
    const answer = this.#answers.get(id);
    if (answer === undefined || JSON.stringify(answer) !== JSON.stringify(result.record)) {
      throw strayResult(part);
    }
    const path = part.at("functionResponse");
    this.#context.unsupported.push({ path, value: result.record, weight: "hint" });
    return [];
  }

  /**
   * Assigns the strays to the remaining calls of the latest content with calls, in order, if their
   * numbers are equal: Semantic Kernel gives a call and its result different names.
   */
  #matched(parts: readonly (Part | UnmatchedResult)[]): Part[] {
    const left = this.#latest.calls.filter(({ isAnswered }) => !isAnswered);
    const strays = parts.filter((part) => part instanceof UnmatchedResult);
    if (strays.length === 0) return parts as Part[];
    if (strays.length !== left.length) throw strayResult(strays[0]!.part);
    for (const call of left) call.isAnswered = true;
    return parts.map((part) =>
      part instanceof UnmatchedResult ? this.#result(part.part, left.shift()!) : part
    );
  }

  #result(part: Fields, call: PendingCall): ToolResultPart {
    const result = part.object("functionResponse")!;
    const response = result.object("response")?.record ?? {};
    const media = result.objects("parts").map((one) => this.#media(one));
    const { text, isError } = resultText(response, media.length > 0);
    const texts: TextPart[] = text === undefined ? [] : [{ type: "text", text, path: part.path }];
    return {
      type: "tool-result",
      callId: call.id,
      name: call.name,
      parts: [...texts, ...media],
      object: response,
      isError,
      ...readCacheMark(part.record, part.path),
      path: part.path,
    };
  }

  #media(part: Fields): MediaPart {
    if (part.has("inlineData")) return readBlob(part, this.#context);
    if (part.has("fileData")) return readFile(part, this.#context);
    throw invalidValue(part.path, "expected inlineData or fileData");
  }
}

function strayResult(part: Fields): Error {
  return invalidValue(
    part.at("functionResponse"),
    "expected a function call of this name before it",
  );
}

/** Returns the text of a result: its only string under a conventional key, or else its JSON. */
export function resultText(
  response: JsonRecord,
  hasMedia: boolean,
): { text: string | undefined; isError: boolean } {
  const keys = Object.keys(response);
  const only = keys.length === 1 ? response[keys[0]!] : undefined;
  const text = typeof only === "string" ? only : undefined;
  if (keys.length === 1 && keys[0] === "error") {
    return { text: text ?? JSON.stringify(only), isError: true };
  }
  if (text !== undefined && (keys[0] === "output" || keys[0] === "result")) {
    return { text, isError: false };
  }
  const isEmpty = keys.length === 0 && hasMedia;
  return { text: isEmpty ? undefined : JSON.stringify(response), isError: false };
}
