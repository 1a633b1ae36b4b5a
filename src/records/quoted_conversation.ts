import type { Buffer } from "node:buffer";
import type { QuotedJson } from "../base/quoted_json.ts";
import type { SettledCall } from "../shared/interaction.ts";
import type { Retained } from "../shared/stored_response.ts";

/**
 * A quoted conversation is the last text in the JSON text of its call's record, after its length in
 * bytes:
 *
 *     {…,"kept":{…,"response":{…,"inputItemsBytes":14,"inputItemsText":"[\"megabytes\"]"}}}
 *
 * So its bytes are written and read as they are, and a reader that doesn't look at the length reads
 * the same record.
 */
const lengthName = ',"inputItemsBytes":';
const textName = ',"inputItemsText":';
const ending = "}}}";

export function quotedConversationOf({ retained }: SettledCall): QuotedJson | undefined {
  const text = retained?.response?.inputItemsText;
  return typeof text === "object" ? text : undefined;
}

/** Leaves out a quoted conversation, and makes its place the last one. */
export function withoutConversation(retained: Retained): object {
  const { response, ...others } = retained;
  if (typeof response?.inputItemsText !== "object") return retained;
  const { inputItemsText: _, ...rest } = response;
  return { ...others, response: rest };
}

/** Returns what a record's JSON text has before and after a conversation of so many bytes. */
export function aroundConversation(json: string, bytes: number): [before: string, after: string] {
  const before = json.slice(0, -ending.length);
  return [`${before}${lengthName}${bytes}${textName}`, ending];
}

/** Returns a record's JSON text with its conversation. */
export function withConversation(json: string, conversation: QuotedJson): string {
  const [before, after] = aroundConversation(json, conversation.length);
  return before + new TextDecoder().decode(conversation) + after;
}

/** Returns a record's JSON text without its conversation, whose bytes are part of `json`. */
export function cutConversation(
  json: Buffer,
): { rest: string; conversation: Uint8Array } | undefined {
  const to = json.length - ending.length;
  // Most records end in another way.
  if (json.toString("latin1", to - 1) !== `"${ending}`) return undefined;
  // Not in a caller's text: that has its quotes escaped.
  const at = json.indexOf(lengthName);
  const digits = /^\d{1,10}/.exec(json.toString("latin1", at + lengthName.length, at + 32))?.[0];
  if (at < 0 || digits === undefined) return undefined;
  const from = at + lengthName.length + digits.length + textName.length;
  if (from + Number(digits) !== to) return undefined;
  const rest = json.toString("utf8", 0, at) + ending;
  return { rest, conversation: json.subarray(from, to) };
}
