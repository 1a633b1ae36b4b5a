import { type Json, list, must, object, text, words } from "./frames.ts";
import { PartWalk } from "./responses_parts.ts";
import { type AnswerChoice, newChoice } from "./answer_content.ts";

interface OpenItem {
  index: number;
  item: Json;
  type: string;
  id: unknown;
  parts: PartWalk;
  /** Input of a call so far; `inputDone`: its `done` event has come. */
  input: string;
  inputDone: boolean;
}

const idPrefixes: Readonly<Record<string, RegExp>> = {
  message: /^msg_./,
  reasoning: /^rs_./,
  function_call: /^fc_./,
};

const calls: Readonly<Record<string, { events: string; field: string }>> = {
  function_call: { events: "response.function_call_arguments", field: "arguments" },
  custom_tool_call: { events: "response.custom_tool_call_input", field: "input" },
};

/**
 * Checks output items, which come one after the other, each from `output_item.added` to
 * `output_item.done` (responses.md §5.2). Events of vendors' own tools aren't checked in detail.
 */
export class ItemWalk {
  readonly done: Json[] = [];
  #open: OpenItem | undefined;
  readonly #ids = new Set<unknown>();
  readonly #callIds = new Set<unknown>();

  take(type: string, event: Json): void {
    if (type === "response.output_item.added") return this.#add(event);
    const open = this.#open;
    must(open, `${type} outside an item`);
    must(event.output_index === open.index, `${type} with another output_index`);
    if (type === "response.output_item.done") return this.#finish(event, open);
    must(event.item_id === open.id, `${type} with another item_id`);
    const call = calls[open.type];
    if (call && type.startsWith(`${call.events}.`)) return readInput(type, event, open);
    if (open.type === "message" || open.type === "reasoning") return open.parts.take(type, event);
    const verb = type.replace(/^response\./, "");
    must(verb.startsWith(`${open.type}.`), `${type} in a ${open.type} item`);
  }

  /** Checks the end of an answer that is `completed`, or was cut short and is `incomplete`. */
  checkEnd(output: unknown, status: string): void {
    must(!this.#open, "an item is still open");
    must(equal(output, this.done), "the last object's output is not what was told");
    const says = this.done.some(({ type }) => type !== "reasoning");
    must(says, "an answer without message or call");
    for (const [index, item] of this.done.entries()) {
      const isCut = item.status === "incomplete";
      must(!isCut || status === "incomplete", "an incomplete item in a completed response");
      // Reasoning that was cut short is followed by the empty message of an answer without text.
      const rest = this.done.length - 1 - index;
      const isEnd = rest === 0 || (rest === 1 && item.type === "reasoning");
      must(!isCut || isEnd, "an incomplete item before the last");
    }
  }

  /** Checks a failed answer: finished items are unchanged, and an open one isn't in progress. */
  checkAbandoned(output: unknown): void {
    const items = list(output, "output");
    must(equal(items.slice(0, this.done.length), this.done), "output is not what was told");
    const rest = items.slice(this.done.length).map((item) => object(item, "item"));
    must(rest.length === (this.#open ? 1 : 0), "output has other items than those told");
    for (const item of rest) {
      must(item.id === this.#open?.id, "the open item has another id");
      must(item.status !== "in_progress", "an item of a failed response is in_progress");
    }
  }

  #add(event: Json): void {
    must(!this.#open, "an item is added while another is open");
    must(event.output_index === this.done.length, `output_index is not ${this.done.length}`);
    const item = object(event.item, "item");
    const type = words(item.type, "item.type");
    const id = words(item.id, "item.id");
    must(!this.#ids.has(id), "two items have one id");
    this.#ids.add(id);
    const prefix = idPrefixes[type];
    must(!prefix || prefix.test(id), `the id of a ${type} item is ${id}`);
    checkNew(item, type);
    if (type in calls) {
      const callId = text(item.call_id, "call_id");
      must(callId.length >= 1 && callId.length <= 64, "call_id is not 1 to 64 long");
      must(!this.#callIds.has(callId), "two calls have one call_id");
      this.#callIds.add(callId);
      words(item.name, "name");
    }
    const parts = new PartWalk(type);
    const index = this.done.length;
    this.#open = { index, item, type, id, parts, input: "", inputDone: false };
  }

  #finish(event: Json, open: OpenItem): void {
    const item = object(event.item, "item");
    for (const key of ["id", "type", "call_id", "name"]) {
      must(item[key] === open.item[key], `the item's ${key} changed`);
    }
    if (open.type !== "reasoning" && "status" in item) {
      must(item.status === "completed" || item.status === "incomplete", "a done item's status");
    }
    if (open.type === "message" || open.type === "reasoning") open.parts.checkItem(item);
    const call = calls[open.type];
    if (call) {
      must(open.inputDone, "a call ends without its done event");
      must(item[call.field] === open.input, "the call's input is not its deltas");
      const isFunction = open.type === "function_call" && item.status === "completed";
      must(!isFunction || open.input !== "", "a call without arguments has empty text");
    }
    this.done.push(item);
    this.#open = undefined;
  }
}

/** Checks an item in its `added` event: in progress and empty. */
function checkNew(item: Json, type: string): void {
  if (type === "message" || type in calls) {
    must(item.status === "in_progress", `a new ${type} is not in_progress`);
  }
  if (type === "message") {
    must(item.role === "assistant", "a message of another role");
    must(list(item.content, "content").length === 0, "a new message has content");
  }
  if (type === "reasoning") {
    must(list(item.summary, "summary").length === 0, "a new reasoning item has a summary");
  }
  const field = calls[type]?.field;
  must(field === undefined || item[field] === "", "a new call has its input");
}

function readInput(type: string, event: Json, open: OpenItem): void {
  const { field } = calls[open.type]!;
  must(!open.inputDone, `${type} after the input's done event`);
  if (type.endsWith(".delta")) {
    open.input += words(event.delta, "delta");
    return;
  }
  must(event[field] === open.input, "the input's done event is not its deltas");
  open.inputDone = true;
}

/** Returns what the items of an answer say; `items` is undefined if the response failed. */
export function contentOfItems(response: Json, items: readonly Json[] | undefined): AnswerChoice {
  const said = newChoice();
  for (const item of items ?? []) readItem(item, said);
  if (!items) return said;
  const reason = response.incomplete_details as { reason: unknown } | null;
  if (reason) said.finish = reason.reason === "content_filter" ? "content_filter" : "length";
  else said.finish = said.calls.length > 0 ? "tool_calls" : "stop";
  return said;
}

function readItem(item: Json, said: AnswerChoice): void {
  if (item.type === "message") {
    for (const one of item.content as Json[]) {
      if (one.type === "refusal") said.refusal += one.refusal;
      else said.text += one.text;
    }
  }
  if (item.type === "reasoning") {
    for (const one of item.summary as Json[]) said.reasoning += one.text;
  }
  const call = calls[String(item.type)];
  if (!call) return;
  said.calls.push({
    id: String(item.call_id),
    name: String(item.name),
    input: String(item[call.field]),
    custom: item.type === "custom_tool_call",
  });
}

function equal(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
