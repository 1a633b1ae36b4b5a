import { sha256Hex } from "../../../../base/hash.ts";
import type { ListedItem } from "../../../kernel/conversation.ts";
import { asRecord, asString, type JsonRecord } from "../../../kernel/json.ts";

/**
 * Returns ids for a list of the items that a response was made from. Callers send most items
 * without one, and the vendors' libraries page through the list by them: an id that is missing or
 * repeated is replaced by one made of the response's id and the item's position.
 */
export function listedIds(items: readonly unknown[], responseId: string): string[] {
  const ofResponse = sha256Hex(`${responseId}/input`).slice(0, 24);
  const taken = new Set<string>();
  return items.map((item, index) => {
    const own = asString(asRecord(item).id);
    const id = own && !taken.has(own)
      ? own
      : `${prefixOf(item)}${ofResponse}${index.toString(16).padStart(8, "0")}`;
    taken.add(id);
    return id;
  });
}

/** Prefixes of ids, by the type of the item; vendors check them. */
const prefixes: ReadonlyMap<string, string> = new Map([
  ["message", "msg_"],
  ["reasoning", "rs_"],
  ["function_call", "fc_"],
  ["function_call_output", "fco_"],
  ["custom_tool_call", "ctc_"],
  ["custom_tool_call_output", "ctco_"],
]);

function prefixOf(item: unknown): string {
  return prefixes.get(typeOf(asRecord(item))) ?? "item_";
}

/**
 * Returns an item of a request as a list shows it: with the fields that requests may leave out and
 * answers have.
 */
export function listedItem(item: unknown, id: string, include: readonly string[]): ListedItem {
  const whole = asRecord(item);
  const type = typeOf(whole);
  const { id: _, encrypted_content: sealed, ...unsealed } = whole;
  const showsSeal = type !== "reasoning" || include.includes("reasoning.encrypted_content");
  const seal = sealed !== undefined && showsSeal ? { encrypted_content: sealed } : {};
  const content = type === "message" ? { content: partsOf(whole) } : {};
  // A conversation holds only finished items.
  const status = /^message$|_call(_output)?$/.test(type)
    ? { status: asString(whole.status) ?? "completed" }
    : {};
  return { id, ...unsealed, type, ...seal, ...status, ...content };
}

function typeOf({ type }: JsonRecord): string {
  return asString(type) ?? "message";
}

function partsOf({ role, content }: JsonRecord): unknown {
  if (typeof content !== "string") return content;
  return role === "assistant"
    ? [{ type: "output_text", text: content, annotations: [] }]
    : [{ type: "input_text", text: content }];
}
