import type { CacheMark, Loss } from "../../../kernel/canonical_request.ts";
import { markPath } from "../../../kernel/read_cache_mark.ts";

/** More marks than this are refused (messages.md §2.2). */
const maxMarks = 4;

/**
 * Writes cache marks onto blocks, in the order of the prompt: tools, system, messages. Of too many
 * the last stay, since the longest prefix is the one worth keeping.
 */
export class CacheMarks {
  readonly #marked: { block: Record<string, unknown>; path: string }[] = [];

  /** Whether the caller marked nothing. */
  get isEmpty(): boolean {
    return this.#marked.length === 0;
  }

  mark(
    block: Record<string, unknown>,
    of: { cache?: CacheMark; path: string },
  ): Record<string, unknown> {
    if (!of.cache) return block;
    const { ttl } = of.cache;
    block.cache_control = { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) };
    this.#marked.push({ block, path: markPath(of.cache, of.path) });
    return block;
  }

  /** Takes off the marks that are too many. */
  enforce(losses: Loss[]): void {
    for (const { block, path } of this.#marked.slice(0, -maxMarks)) {
      delete block.cache_control;
      losses.push({ path, weight: "hint" });
    }
  }
}
