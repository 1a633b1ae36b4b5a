import { shortKey } from "../../../../base/hash.ts";
import type { Steps } from "../../../../base/steps.ts";
import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { asRecord, asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { LogprobReader } from "../../../kernel/token_logprobs.ts";
import { isSearchOfX } from "../request/offered_tools.ts";
import { Blocks } from "./blocks.ts";
import { type ItemReader, itemReader } from "./item_reader.ts";
import { readItemsAhead, readPartsAhead } from "./logprobs.ts";

interface KnownItem {
  type: string;
  reader: ItemReader;
}

/** Maximum number of items of one answer. */
const maxItems = 10_000;

/**
 * Reads output items into canonical events. A whole answer is read like a stream whose items have
 * only `done` events. Items are identified by type and id, or else by type and position.
 */
export class OutputReader {
  /** Whether the answer calls a tool of the caller's, and whether such a call was cut short. */
  sawToolCall = false;
  sawCutToolCall = false;
  readonly #items: KnownItem[] = [];
  readonly #lastOf = new Map<string, KnownItem>();
  readonly #byId = new Map<string, KnownItem>();
  readonly #byIndex = new Map<string, KnownItem>();
  readonly #blocks = new Blocks();
  readonly #logprobs = new LogprobReader();

  get isTooLong(): boolean {
    return this.#items.length > maxItems;
  }

  /** Reads `response.output_item.added`. */
  open(item: JsonRecord, event: JsonRecord, events: CanonicalEvent[]): void {
    this.#find(asString(item.type) ?? "", item.id, event, item).open(item, events);
  }

  /** Reads an event within an item, which is created if its `added` event never came. */
  piece(type: string, event: JsonRecord, events: CanonicalEvent[]): void {
    this.#find(type, event.item_id, event).piece(event, events);
  }

  /**
   * Reads `response.output_item.done`: adds the content that the deltas left out, and ends the
   * item.
   */
  finish(item: JsonRecord, event: JsonRecord, events: CanonicalEvent[]): void {
    const type = asString(item.type) ?? "";
    if (isCall(type, item) && item.status === "incomplete") this.sawCutToolCall = true;
    this.#find(type, item.id, event, item).finish(item, events);
  }

  /** Reads in steps what is long in an event, before the event itself. */
  *readAhead({ logprobs, part, item, response }: JsonRecord): Steps<void> {
    yield* readPartsAhead([{ logprobs }, part], this.#logprobs);
    yield* readItemsAhead([item], this.#logprobs);
    yield* readItemsAhead(asRecord(response).output, this.#logprobs);
  }

  /** Reads the whole output, from the terminal event, and closes the open items. */
  finishAll(output: unknown, events: CanonicalEvent[]): void {
    for (const [item, position] of itemsIn(output)) this.finish(item, position, events);
    this.close(events);
  }

  /** The same for a whole answer, of which nothing has been read. */
  *finishInSteps(output: unknown, events: CanonicalEvent[]): Steps<void> {
    yield* readItemsAhead(output, this.#logprobs);
    for (const [item, position] of itemsIn(output)) {
      this.finish(item, position, events);
      yield;
    }
    this.close(events);
  }

  /** Closes the open items. */
  close(events: CanonicalEvent[]): void {
    for (const { reader } of this.#items) reader.close(events);
  }

  #find(longType: string, itemId: unknown, event: JsonRecord, item: JsonRecord = {}): ItemReader {
    const type = shortKey(longType);
    const id = asString(itemId);
    const idKey = id === undefined ? undefined : shortKey(`${type} ${id}`);
    const named = idKey === undefined ? undefined : this.#byId.get(idKey);
    if (named) return named.reader;
    const index = typeof event.output_index === "number"
      ? `${type} ${event.output_index}`
      : undefined;
    // Some servers give an item a new id with each event: its type and position identify it then.
    const existing = (index === undefined ? undefined : this.#byIndex.get(index)) ??
      (idKey === undefined && index === undefined ? this.#lastOf.get(type) : undefined);
    if (existing) return existing.reader;
    const read = isSearchOfX(item) ? undefined : type;
    const made = { type, reader: itemReader(read, this.#blocks, this.#logprobs) };
    if (isCall(type, item)) this.sawToolCall = true;
    this.#items.push(made);
    this.#lastOf.set(type, made);
    if (idKey !== undefined) this.#byId.set(idKey, made);
    if (index !== undefined) this.#byIndex.set(index, made);
    return made.reader;
  }
}

/** The items of a whole output, each with its position as in an event of its own. */
function itemsIn(output: unknown): [item: JsonRecord, position: JsonRecord][] {
  if (!Array.isArray(output)) return [];
  return output.flatMap((item: unknown, index): [JsonRecord, JsonRecord][] =>
    // A compacted conversation begins with the user's own messages.
    !isRecord(item) || item.role === "user" ? [] : [[item, { output_index: index }]]
  );
}

/** Whether this is a call of the caller's tool. */
function isCall(type: string, item: JsonRecord): boolean {
  return type === "function_call" || (type === "custom_tool_call" && !isSearchOfX(item));
}
