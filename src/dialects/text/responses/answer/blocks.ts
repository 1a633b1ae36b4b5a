import { BlockEvents } from "../../../kernel/block_events.ts";
import type { BlockKind, CanonicalEvent } from "../../../kernel/canonical.ts";

/** At most one block other than a tool call is open; the next block ends it. */
export class Blocks extends BlockEvents {
  #open: number | undefined;

  override start(content: BlockKind, events: CanonicalEvent[]): number {
    if (this.#open !== undefined) this.end(this.#open, events);
    const block = super.start(content, events);
    if (content.kind !== "tool-call") this.#open = block;
    return block;
  }

  /** Whether this block, which isn't a tool call, is still open. */
  isOpen(block: number | undefined): block is number {
    return block !== undefined && this.#open === block;
  }

  override end(...[block, ...ending]: Parameters<BlockEvents["end"]>): void {
    if (this.#open === block) this.#open = undefined;
    super.end(block, ...ending);
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
