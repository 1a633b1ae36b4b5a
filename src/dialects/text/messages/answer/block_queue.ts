import type { BlockEndEvent, BlockEvent, BlockStartEvent } from "../../../kernel/canonical.ts";
import { type BlockStyle, BlockWriter } from "./block_writer.ts";

/**
 * Serializes blocks. Other dialects may have several tool calls open at once; here a closed block
 * can't be reopened, so a block that starts while another is open waits for it to end. Media is a
 * note that is whole from its start: its pieces are passed over, and nothing waits for its end.
 */
export class BlockQueue {
  readonly #style: BlockStyle;
  #index = 0;
  #current: { block: number; writer: BlockWriter } | undefined;
  /** Events of waiting blocks. */
  readonly #waiting = new Map<number, BlockEvent[]>();
  /**
   * All blocks that had to wait, in the order in which they started. A Map has that order too, but
   * finding its first entry passes over those that were deleted.
   */
  readonly #order: number[] = [];
  #position = 0;

  constructor(style: BlockStyle) {
    this.#style = style;
  }

  /** Takes an event. Returns the text that can be sent now. */
  take(event: BlockEvent): string {
    if (event.type === "block-start") {
      if (this.#current) {
        this.#waiting.set(event.block, [event]);
        this.#order.push(event.block);
        return "";
      }
      return this.#open(event);
    }
    if (event.block === this.#current?.block) return this.#write(event);
    const waiting = this.#waiting.get(event.block);
    if (waiting && !isMedia(waiting[0])) waiting.push(event);
    return "";
  }

  /** Returns the text of all remaining blocks. */
  end(): string {
    let text = this.#closeCurrent();
    while (this.#waiting.size > 0) text += this.#next() + this.#closeCurrent();
    return text;
  }

  #open(event: BlockStartEvent): string {
    const writer = new BlockWriter(event, this.#style);
    this.#current = { block: event.block, writer };
    const text = writer.start(this.#index);
    return isMedia(event) ? text + this.#closeCurrent() : text;
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
    while (!this.#current && this.#position < this.#order.length) {
      const block = this.#order[this.#position++]!;
      const [start, ...rest] = this.#waiting.get(block) ?? [];
      this.#waiting.delete(block);
      if (start?.type !== "block-start") continue;
      text += this.#open(start);
      for (const event of rest) {
        text += event.type === "block-end" ? this.#closeCurrent(event) : this.#write(event);
      }
    }
    return text;
  }
}

function isMedia(event: BlockEvent | undefined): boolean {
  return event?.type === "block-start" && event.content.kind === "media";
}
