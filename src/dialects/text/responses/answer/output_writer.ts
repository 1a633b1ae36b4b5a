import type {
  BlockEvent,
  BlockKind,
  CanonicalEvent,
  Citation,
  SearchWork,
} from "../../../kernel/canonical.ts";
import type { CanonicalRequest, Opaque } from "../../../kernel/canonical_request.ts";
import { isCodingCall } from "../request/coding_tools.ts";
import { writeCitation } from "./citations.ts";
import { type Item, newItem, type OpenBlock, openBlock } from "./output_blocks.ts";

export type Emit = (type: string, fields: Record<string, unknown>) => void;

/**
 * Builds output items from canonical events and emits each step in the dialect's order: one item
 * after the other, each from `added` to `done`. Adjacent texts are parts of one message. Blocks
 * that overlap, as parallel tool calls may, wait for the one before them.
 *
 * An item is done when the next one starts or the answer ends: only then is it known whether it was
 * cut short.
 */
export class OutputWriter {
  readonly items: Item[] = [];
  readonly #newId: (prefix: string) => string;
  readonly #emit: Emit;
  readonly #namespaces: NonNullable<CanonicalRequest["namespaces"]>;
  readonly #room: { logprobs: number };
  readonly #seal: (opaque: Opaque) => string | undefined;
  /** The item whose `done` event has yet to be emitted. */
  #open: { item: Item; index: number } | undefined;
  #block: { number: number; writer: OpenBlock; isUnannounced: boolean } | undefined;
  /** Events of the waiting blocks, in the order in which the blocks started. */
  readonly #waiting = new Map<number, BlockEvent[]>();
  #takesTurns = false;
  /** Text parts by block: a source may arrive after its text has ended. */
  readonly #parts = new Map<number, NonNullable<OpenBlock["part"]>>();
  /** The vendor's id of the search, if the open item is one. */
  #search: string | undefined;

  /**
   * `namespaces`: the caller's tools that are in a namespace, by the name sent to the vendor.
   * `seal`: returns what is shown of sealed reasoning. `maxLogprobs`: how many tokens and
   * alternatives are repeated of all texts together; a text that exceeds them repeats none.
   */
  constructor(
    newId: (prefix: string) => string,
    emit: Emit,
    { namespaces = {}, seal, maxLogprobs = Infinity }: {
      namespaces?: CanonicalRequest["namespaces"];
      seal: (opaque: Opaque) => string | undefined;
      maxLogprobs?: number;
    },
  ) {
    this.#newId = newId;
    this.#namespaces = namespaces;
    this.#seal = seal;
    this.#room = { logprobs: maxLogprobs };
    this.#emit = emit;
  }

  /** Adds an event of a block. The dialect has one choice: events of others are ignored. */
  add(event: CanonicalEvent): void {
    if (!("block" in event) || event.choice !== 0) return;
    const isStart = event.type === "block-start";
    const waiting = this.#waiting.get(event.block);
    if (waiting) return void waiting.push(event);
    if (isStart && this.#block) return void this.#waiting.set(event.block, [event]);
    if (isStart) return this.#begin(event.block, event.content);
    if (event.type === "citation") return this.#cite(event.block, event.citation);
    if (this.#block?.number !== event.block) return;
    if (event.type === "block-end") return this.#endBlock(event.opaque);
    this.#block.writer.delta(event.text, event.logprobs);
  }

  /** Closes the open items as completed, or as cut short. */
  close(status: "completed" | "incomplete"): void {
    while (this.#block) this.#endBlock(undefined);
    this.#closeItem(status);
  }

  /** Adds an empty message to an answer that has neither text nor calls. */
  requireContent(status: "completed" | "incomplete"): void {
    if (this.items.some((item) => item.type !== "reasoning")) return;
    this.#begin(-1, { kind: "text" });
    this.close(status);
  }

  /**
   * Leaves the open item incomplete, without events, because the answer failed. A call that wasn't
   * announced yet is left out.
   */
  abandon(): void {
    if (this.#open) setStatus(this.#open.item, "incomplete");
    this.#block?.writer.abandon();
    if (this.#block?.isUnannounced) this.items.pop();
  }

  /**
   * Writes another vendor's search, which may come in two halves: its item is done when the results
   * are known, or when the next item starts.
   */
  #takeSearch(search: SearchWork): void {
    if (search.queries) {
      this.#closeItem("completed");
      const item = newSearch(search, this.#newId);
      this.#open = { item, index: this.items.length };
      this.#search = search.id;
      this.items.push(item);
      const at = { item_id: item.id, output_index: this.#open.index };
      this.#emit("response.output_item.added", { output_index: at.output_index, item });
      this.#emit("response.web_search_call.in_progress", at);
      this.#emit("response.web_search_call.searching", at);
    }
    if (!search.results || !this.#open || this.#search !== search.id) return;
    addSources(this.#open.item, search.results);
    this.#closeItem("completed");
  }

  #begin(number: number, content: BlockKind): void {
    if (content.kind === "vendor" && content.dialect !== "responses" && content.search) {
      return this.#takeSearch(content.search);
    }
    let isUnannounced = false;
    const continues = (content.kind === "text" || content.kind === "refusal") &&
      this.#open?.item.type === "message";
    if (!continues) {
      const item = newItem(content, this.#newId, this.#namespaces);
      // This dialect has no item for another vendor's work, nor for audio.
      if (!item) return;
      this.#closeItem("completed");
      this.#open = { item, index: this.items.length };
      this.items.push(item);
      // The AI SDK refuses a stream in which a patch begins without its operation.
      isUnannounced = content.kind === "tool-call" && isCodingCall(item);
      if (!isUnannounced) this.#announce();
    }
    if (content.kind === "vendor") return this.#closeItem(undefined);
    const { item, index } = this.#open!;
    const writer = openBlock(content, item, (type, fields) => {
      this.#emit(type, { item_id: item.id, output_index: index, ...fields });
    }, this.#room);
    this.#block = { number, writer, isUnannounced };
    if (writer.part) this.#parts.set(number, writer.part);
  }

  #announce(): void {
    const { item, index } = this.#open!;
    this.#emit("response.output_item.added", { output_index: index, item });
  }

  #endBlock(opaque: Opaque | undefined): void {
    this.#block?.writer.end(opaque && this.#seal(opaque));
    if (this.#block?.isUnannounced) this.#announce();
    this.#block = undefined;
    // Reasoning without a seal may have been cut short.
    if (opaque && this.#open?.item.type === "reasoning") this.#closeItem("completed");
    if (!this.#takesTurns) this.#next();
  }

  /** Writes the waiting blocks that have ended, and opens the first that hasn't. */
  #next(): void {
    this.#takesTurns = true;
    for (const [block, events] of this.#waiting) {
      if (this.#block) break;
      this.#waiting.delete(block);
      for (const event of events) this.add(event);
    }
    this.#takesTurns = false;
  }

  #closeItem(status: "completed" | "incomplete" | undefined): void {
    if (!this.#open) return;
    const { item, index } = this.#open;
    if (status !== undefined) setStatus(item, status);
    this.#open = undefined;
    if (this.#search !== undefined && status === "completed") {
      this.#emit("response.web_search_call.completed", { item_id: item.id, output_index: index });
    }
    this.#search = undefined;
    this.#emit("response.output_item.done", { output_index: index, item });
  }

  #cite(number: number, citation: Citation): void {
    if (this.#block?.number === number) return this.#block.writer.cite?.(citation);
    // The part has ended: the source is added to the item and to the whole response.
    const part = this.#parts.get(number);
    const annotations = part?.item.annotations;
    if (part && Array.isArray(annotations)) annotations.push(writeCitation(citation, part.text));
  }
}

/** Sets the status of an item that has one. A patch is never incomplete in OpenAI's types. */
function setStatus(item: Item, status: "completed" | "incomplete"): void {
  if (!("status" in item)) return;
  const isCutPatch = item.type === "apply_patch_call" && status === "incomplete";
  item.status = isCutPatch ? "in_progress" : status;
}

/** Returns another vendor's web search as the item of its `added` event. */
function newSearch({ queries = [] }: SearchWork, newId: (prefix: string) => string): Item {
  return {
    id: newId("ws_"),
    type: "web_search_call",
    status: "in_progress",
    action: { type: "search", query: queries.join(" · "), queries },
  };
}

/** Adds the search's results. */
function addSources(item: Item, results: NonNullable<SearchWork["results"]>): void {
  const sources = results.map(({ url }) => ({ type: "url", url }));
  item.action = { ...item.action as Item, sources };
}
