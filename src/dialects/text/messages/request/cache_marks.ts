import type { CacheMark, Loss } from "../../../kernel/canonical_request.ts";
import { markPath } from "../../../kernel/read_cache_mark.ts";
import { forEachInSteps, type Steps } from "../../../../base/steps.ts";
import { isRecord } from "../../../kernel/json.ts";
import { promptTokens } from "../../../kernel/prompt_text.ts";

/** The vendor refuses more marks. */
const maxMarks = 4;

/**
 * Writes cache marks onto blocks in prompt order: tools, system, messages. If there are too many,
 * the last ones are kept: the longest prefix saves most.
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
  *enforce(losses: Loss[]): Steps<void> {
    yield* forEachInSteps(this.#marked.slice(0, -maxMarks), ({ block, path }) => {
      delete block.cache_control;
      losses.push({ path, weight: "hint" });
    });
  }
}

type Block = Record<string, unknown>;

/** Number of blocks before a mark in which the vendor looks for a cached prefix. */
const lookBackBlocks = 20;

/**
 * Sets cache marks for a caller that set none: at the end of the tools, of the system texts and of
 * the user's last turn, each if the prompt up to there has at least `least` tokens (estimated). The
 * vendor doesn't cache shorter prefixes. If the last turns have more blocks than the vendor looks
 * back, as with many tool calls at once, the previous user turn is marked again, so that the vendor
 * finds it.
 */
export function* setMarks(
  body: { tools?: unknown; system?: unknown; messages: readonly Block[] },
  least: number,
): Steps<void> {
  const lastTurn = body.messages.findLastIndex(({ role }) => role === "user");
  let tokens = 0;
  for (
    const [prefix, blocks] of [
      [body.tools],
      [body.system],
      [body.messages, body.messages[lastTurn]?.content],
    ]
  ) {
    tokens += yield* promptTokens(prefix);
    const last = lastMarkable(blocks ?? prefix);
    if (last && tokens >= least) last.cache_control = { type: "ephemeral" };
  }
  const before = body.messages.findLastIndex(({ role }, at) => at < lastTurn && role === "user");
  if (before < 0 || tokens < least) return;
  const since = body.messages.slice(before + 1, lastTurn + 1)
    .reduce((sum, { content }) => sum + (Array.isArray(content) ? content.length : 1), 0);
  const earlier = lastMarkable(body.messages[before]!.content);
  if (earlier && since >= lookBackBlocks) earlier.cache_control = { type: "ephemeral" };
}

/**
 * Returns the last block that can be marked. Thinking can't; neither can empty text, but it is
 * never written.
 */
function lastMarkable(blocks: unknown): Block | undefined {
  if (!Array.isArray(blocks)) return undefined;
  return blocks.findLast((block: unknown) =>
    isRecord(block) && block.type !== "thinking" && block.type !== "redacted_thinking"
  );
}
