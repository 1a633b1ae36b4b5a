import type { CacheMark, Loss } from "../../../kernel/canonical_request.ts";
import { markPath } from "../../../kernel/read_cache_mark.ts";
import type { Steps } from "../../../../base/steps.ts";
import { isRecord } from "../../../kernel/json.ts";
import { promptTokens } from "../../../kernel/prompt_text.ts";

/** The vendor refuses more marks. */
const maxMarks = 4;

/**
 * Writes cache marks onto blocks in prompt order: tools, system, messages. Of too many the last are
 * kept, since the longest prefix saves most.
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

  /** Removes the marks beyond the limit. */
  enforce(losses: Loss[]): void {
    for (const { block, path } of this.#marked.slice(0, -maxMarks)) {
      delete block.cache_control;
      losses.push({ path, weight: "hint" });
    }
  }
}

type Block = Record<string, unknown>;

/**
 * Sets cache marks for a caller that set none: at the end of the tools, of the system texts and of
 * the user's last turn, each if the prompt up to there has at least `least` tokens (estimated). The
 * vendor doesn't cache shorter prefixes.
 */
export function* setMarks(
  body: { tools?: unknown; system?: unknown; messages: readonly Block[] },
  least: number,
): Steps<void> {
  const lastTurn = body.messages.findLast(({ role }) => role === "user");
  let tokens = 0;
  for (
    const [prefix, blocks] of [[body.tools], [body.system], [body.messages, lastTurn?.content]]
  ) {
    tokens += yield* promptTokens(prefix);
    const last = lastMarkable(blocks ?? prefix);
    if (last && tokens >= least) last.cache_control = { type: "ephemeral" };
  }
}

/** Thinking can't be marked. Empty text can't either, but is never written. */
function lastMarkable(blocks: unknown): Block | undefined {
  if (!Array.isArray(blocks)) return undefined;
  return blocks.findLast((block: unknown) =>
    isRecord(block) && block.type !== "thinking" && block.type !== "redacted_thinking"
  );
}
