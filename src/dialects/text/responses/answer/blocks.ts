import { BlockEvents } from "../../../kernel/block_events.ts";
import type { BlockKind, CanonicalEvent } from "../../../kernel/canonical.ts";

/** Events of blocks of which at most one, besides tool calls, is open; the next block ends it. */
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
 * Returns the part of a whole text beyond the length already received in pieces: text that was sent
 * can't be taken back.
 */
export function missingFrom(whole: unknown, received: number): string {
  return typeof whole === "string" ? whole.slice(received) : "";
}

/** Returns an index, which a vendor may have left out; default 0. */
export function indexOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
