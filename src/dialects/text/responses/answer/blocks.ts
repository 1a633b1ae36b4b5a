import type { BlockKind, CanonicalEvent } from "../../../kernel/canonical.ts";
import type { Opaque } from "../../../kernel/canonical_request.ts";

/**
 * Numbers the blocks of one answer. At most one block other than a tool call is open; the next
 * block ends it.
 */
export class Blocks {
  #next = 0;
  #open: number | undefined;

  start(content: BlockKind, events: CanonicalEvent[]): number {
    this.endOpen(events);
    const block = this.#next++;
    if (content.kind !== "tool-call") this.#open = block;
    events.push({ type: "block-start", choice: 0, block, content });
    return block;
  }

  /** Whether this block, which isn't a tool call, is still open. */
  isOpen(block: number | undefined): block is number {
    return block !== undefined && this.#open === block;
  }

  end(block: number, events: CanonicalEvent[], opaque?: Opaque): void {
    if (this.#open === block) this.#open = undefined;
    events.push({ type: "block-end", choice: 0, block, ...(opaque ? { opaque } : {}) });
  }

  endOpen(events: CanonicalEvent[]): void {
    if (this.#open !== undefined) this.end(this.#open, events);
  }
}

/**
 * The part of a whole text that hasn't been received in pieces, by length: text that was sent can't
 * be taken back.
 */
export function missingFrom(whole: unknown, received: number): string {
  return typeof whole === "string" ? whole.slice(received) : "";
}

/** An index that a vendor may have left out. */
export function indexOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
