import { itemsAt, type Members, topLevelMembersSteps } from "../../../../base/json_text.ts";
import type { Steps } from "../../../../base/steps.ts";
import { Fault, invalidValue } from "../../../../shared/fault.ts";
import type { ClientFrame, CreateFrame } from "../../../kernel/socket_frames.ts";
import { jsonValue } from "../../../kernel/json.ts";

/** Members of a frame that are no part of a request over HTTP. */
const envelope: ReadonlySet<string> = new Set(["type", "stream_id", "generate", "stream"]);

/**
 * Reads a frame's text without parsing the request inside it, which the endpoint does. Throws
 * `invalid_json`, `invalid_value` and `unsupported_parameter`, naming the member.
 */
export function* readClientFrame(text: string): Steps<ClientFrame> {
  const top = yield* topLevelMembersSteps(text);
  if (top === undefined) throw noObject();
  const type = memberOf(text, top, "type");
  switch (type) {
    case "response.create":
      return createFrame(text, top);
    case "response.steer":
      return {
        kind: "steer",
        previousId: idOf(text, top, "previous_response_id") ?? "",
        inputText: textOf(text, top, "input") ?? "null",
      };
    case "response.cancel":
      return { kind: "cancel", responseId: idOf(text, top, "response_id") };
    default:
      if (!isJson(text)) throw noObject();
      throw invalidValue(
        "type",
        "a frame is 'response.create' with the fields of POST …/responses, 'response.steer' or 'response.cancel'",
      );
  }
}

function noObject(): Fault {
  return new Fault("invalid_json", { message: "A frame is one JSON object." });
}

/**
 * Whether a text that was taken for an object is JSON. A long one is a request, which its endpoint
 * parses.
 */
function isJson(text: string): boolean {
  return text.length > 64 * 1024 || jsonValue(text) !== undefined;
}

function createFrame(text: string, top: Members): CreateFrame {
  if (memberOf(text, top, "background") === true) {
    throw new Fault("unsupported_parameter", {
      param: "background",
      message: "background: not supported over WebSocket.",
    });
  }
  const streamId = memberOf(text, top, "stream_id");
  if (streamId !== undefined && !isStreamId(streamId)) {
    throw invalidValue("stream_id", "expected a string of 1 to 200 characters");
  }
  const members = new Map<string, string>();
  for (const [name, { valueStart, valueEnd }] of top.members) {
    if (!envelope.has(name)) members.set(name, text.slice(valueStart, valueEnd));
  }
  return {
    kind: "create",
    members,
    streamId,
    isWarmUp: memberOf(text, top, "generate") === false,
    previousId: idOf(text, top, "previous_response_id"),
    isStored: memberOf(text, top, "store") !== false,
  };
}

function isStreamId(value: unknown): value is string {
  return typeof value === "string" && value.length >= 1 && value.length <= 200;
}

/** Returns the request's body for POST …/responses, with streaming on. */
export function bodyTextOf(members: ReadonlyMap<string, string>): string {
  const all = [...members, ["stream", "true"] as const];
  return `{${all.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

/**
 * Returns a request's input items as JSON text without the brackets around them; undefined if
 * `input` is neither text nor a list, which the endpoint refuses.
 */
export function* inputItemsText(inputText: string | undefined): Steps<string | undefined> {
  const text = inputText?.trim() ?? "[]";
  if (text.startsWith('"')) {
    const part = `{"type":"input_text","text":${text}}`;
    return `{"type":"message","role":"user","content":[${part}]}`;
  }
  if (!text.startsWith("[")) return undefined;
  const items = yield* itemsAt(text, { start: 0, end: text.length });
  const [first, last] = [items[0], items.at(-1)];
  return first === undefined || last === undefined ? "" : text.slice(first.start, last.end);
}

function textOf(text: string, top: Members, name: string): string | undefined {
  const member = top.members.get(name);
  return member === undefined ? undefined : text.slice(member.valueStart, member.valueEnd);
}

/**
 * Returns a member's value; undefined if it is absent, longer than 2,000 characters, or not JSON.
 */
function memberOf(text: string, top: Members, name: string): unknown {
  const value = textOf(text, top, name);
  return value === undefined || value.length > 2_000 ? undefined : jsonValue(value);
}

function idOf(text: string, top: Members, name: string): string | undefined {
  const value = memberOf(text, top, name);
  return typeof value === "string" ? value : undefined;
}
