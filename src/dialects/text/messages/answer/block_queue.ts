import { unreadableAnswer } from "../../../../shared/fault.ts";
import type { BlockEndEvent, BlockEvent, BlockStartEvent } from "../../../kernel/canonical.ts";
import { type BlockStyle, BlockWriter } from "./block_writer.ts";

/** Most text that may wait for its turn, in UTF-16 units. */
const maxWaiting = 64 * 1024 * 1024;

/**
 * Serializes blocks. Other dialects may have several tool calls open at once; here a closed block
 * can't be reopened, so a block that starts while another is open waits for it to end.
 */
export class BlockQueue {
  readonly #style: BlockStyle;
  #index = 0;
  #current: { block: number; writer: BlockWriter } | undefined;
  /** Events of waiting blocks, in the order in which the blocks started. */
  readonly #waiting = new Map<number, BlockEvent[]>();
  #waitingChars = 0;

  constructor(style: BlockStyle) {
    this.#style = style;
  }

  /** Returns what can be sent now. Throws a Fault if too much has to wait. */
  take(event: BlockEvent): string {
    if (event.type === "block-start") {
      if (this.#current) {
        this.#waiting.set(event.block, [event]);
        return "";
      }
      return this.#open(event);
    }
    if (event.block === this.#current?.block) return this.#write(event);
    this.#wait(event);
    return "";
  }

  /** Returns the rest. */
  end(): string {
    let text = this.#closeCurrent();
    while (this.#waiting.size > 0) text += this.#next() + this.#closeCurrent();
    return text;
  }

  #open(event: BlockStartEvent): string {
    const writer = new BlockWriter(event, this.#style);
    this.#current = { block: event.block, writer };
    return writer.start(this.#index);
  }

  #write(event: BlockEvent): string {
    const writer = this.#current?.writer;
    if (!writer) return "";
    if (event.type === "block-delta") return writer.delta(event, this.#index);
    if (event.type === "citation") return writer.citation(event, this.#index);
    if (event.type === "block-end") return this.#closeCurrent(event) + this.#next();
    return "";
  }

  #closeCurrent(event?: BlockEndEvent): string {
    const writer = this.#current?.writer;
    if (!writer) return "";
    const text = writer.end(event, this.#index);
    this.#current = undefined;
    // An empty block took no index.
    if (writer.isOpen) this.#index += writer.count;
    return text;
  }

  /** Writes the waiting blocks that have ended, and opens the first that hasn't. */
  #next(): string {
    let text = "";
    for (const [block, events] of this.#waiting) {
      this.#waiting.delete(block);
      const [start, ...rest] = events;
      if (start?.type !== "block-start") continue;
      text += this.#open(start);
      for (const event of rest) {
        if (event.type === "block-delta") this.#waitingChars -= event.text.length;
        text += event.type === "block-end" ? this.#closeCurrent(event) : this.#write(event);
      }
      if (this.#current) break;
    }
    return text;
  }

  #wait(event: BlockEvent): void {
    const events = this.#waiting.get(event.block);
    if (!events) return;
    if (event.type === "block-delta") {
      this.#waitingChars += event.text.length;
      if (this.#waitingChars > maxWaiting) throw unreadableAnswer("too many blocks open at once");
    }
    events.push(event);
  }
}
