import type { PlainRequest } from "../../../kernel/dialect.ts";
import { asList, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { callsWithoutThinking } from "./unsigned_thinking.ts";

/** The vendor's messages on thinking that isn't its own, or that came after other content. */
const refused = new RegExp(
  [
    "invalid `\\w+` in `(?:redacted_)?thinking` block",
    "bound to a different conversation",
    "thinking` blocks .* cannot be modified",
    "thinking\\.signature: field required",
  ].join("|"),
  "i",
);

/**
 * Returns the request without thinking. The gateway stores thinking for callers that can't carry
 * it; they may change what precedes it, which newer models refuse. Undefined if the refusal has
 * another cause, if there is no thinking, or if the vendor requires thinking before the last calls.
 * The refusal concerns only this conversation, so there is no cause to remember.
 */
export function withoutRefusedThinking(
  request: JsonRecord,
  refusal: string,
): PlainRequest | undefined {
  if (!refused.test(refusal)) return undefined;
  const turns = asList(request.messages);
  const messages = turns.map(withoutThinking).filter((turn) => turn !== undefined);
  const isSame = messages.length === turns.length &&
    messages.every((turn, at) => turn === turns[at]);
  if (isSame) return undefined;
  const last = messages.findLast((turn) => isRecord(turn) && turn.role === "assistant");
  const isOn = isRecord(request.thinking) && request.thinking.type === "enabled";
  if (isOn && isRecord(last) && callsWithoutThinking(asList(last.content))) return undefined;
  return { request: { ...request, messages } };
}

/**
 * Returns a turn without thinking: the same object if it has none, undefined if it holds nothing
 * else.
 */
function withoutThinking(turn: unknown): unknown {
  if (!isRecord(turn) || !Array.isArray(turn.content)) return turn;
  const content = turn.content.filter((block) =>
    !isRecord(block) || (block.type !== "thinking" && block.type !== "redacted_thinking")
  );
  if (content.length === turn.content.length) return turn;
  return content.length === 0 ? undefined : { ...turn, content };
}
