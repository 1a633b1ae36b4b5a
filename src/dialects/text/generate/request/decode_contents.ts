import { sha256Hex } from "../../../../base/hash.ts";
import { mapInSteps, type Steps } from "../../../../base/steps.ts";
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
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
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

/** `contents` as turns. A call without an id gets one derived from its position and name. */
export function* readContents(request: Fields, context: PartContext): Steps<Turn[]> {
  if (!request.has("contents")) throw missingField("contents");
  const contents = request.objects("contents");
  if (contents.length === 0) throw invalidValue("contents", "expected at least one content");
  const reader = new ContentReader(context);
  const turns = yield* mapInSteps(contents, (content) => reader.read(content), 1);
  // Empty turns are left out, unless all are empty.
  const nonEmpty = turns.filter(({ parts }) => parts.length > 0);
  return nonEmpty.length > 0 ? nonEmpty : turns;
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
    else waitIn(this.#byId, call.callerId, call);
    waitIn(this.#byName, call.name, call);
  }

  /**
   * Takes the call with this id, else the first with this name; with an id that belongs to no call,
   * only a call without one.
   */
  take(id: string | undefined, name: string): PendingCall | undefined {
    const call = (id === undefined ? undefined : firstOpen(this.#byId.get(id))) ??
      firstOpen((id === undefined ? this.#byName : this.#bareByName).get(name));
    if (call) call.isAnswered = true;
    return call;
  }
}

/** The calls in order; those before `next` have their result. */
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

class ContentReader {
  readonly #context: PartContext;
  readonly #pending = new PendingCalls();
  #index = -1;

  constructor(context: PartContext) {
    this.#context = context;
  }

  read(content: Fields): Turn {
    this.#index++;
    const role = content.string("role") ?? "user";
    if (!["user", "model", "function", ""].includes(role)) {
      throw invalidValue(content.at("role"), "expected 'user' or 'model'");
    }
    const parts = content.objects("parts").flatMap((part, index): Part[] => {
      const member = dataMember(part);
      if (member === undefined) {
        this.#context.unsupported.push({ path: part.path, value: part.record, weight: "meaning" });
        return [];
      }
      if (member === "functionCall") return [this.#call(part, index)];
      if (member === "functionResponse") return [this.#result(part)];
      const read = readPart(part, member, this.#context);
      return read ? [read] : [];
    });
    return { role: role === "model" ? "assistant" : "user", parts, path: content.path };
  }

  #call(part: Fields, index: number): ToolCallPart {
    const call = part.object("functionCall")!;
    const name = call.string("name");
    if (name === undefined || name === "") throw missingField(call.at("name"));
    const callerId = call.string("id") || undefined;
    const hash = sha256Hex(JSON.stringify([this.#index, index, name]));
    const id = callerId ?? `call_${hash.slice(0, 24)}`;
    this.#pending.add({ callerId, id, name, isAnswered: false });
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

  #result(part: Fields): ToolResultPart {
    const result = part.object("functionResponse")!;
    const name = result.string("name") ?? "";
    const call = this.#pending.take(result.string("id") || undefined, name);
    if (!call) {
      throw invalidValue(
        part.at("functionResponse"),
        "expected a function call of this name before it",
      );
    }
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

/** The text of a result: its only string under a conventional key, else its JSON. */
function resultText(
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
  return {
    text: isEmpty || !isRecord(response) ? undefined : JSON.stringify(response),
    isError: false,
  };
}
