import { sha256Hex } from "../../../../base/hash.ts";
import { forEachInSteps, type Steps } from "../../../../base/steps.ts";
import type { ToolCallPart, ToolResultPart } from "../../../kernel/canonical_request.ts";
import type { ArrangedTurn } from "./arrange_turns.ts";
import { invalidValue } from "../../../../shared/fault.ts";

/** The id that each call and result is written with. */
export type CallIds = ReadonlyMap<ToolCallPart | ToolResultPart, string>;

/**
 * Pairs calls with their results: a call needs exactly one result in the next turn, and a result a
 * call in the turn before. Ids that the dialect refuses, or that occur twice, are replaced on both
 * sides. Throws invalid_value naming unpaired ids.
 */
export function* pairCalls(turns: readonly ArrangedTurn[]): Steps<CallIds> {
  const ids = new Map<ToolCallPart | ToolResultPart, string>();
  const taken = new Set<string>();
  let open = new Map<string, string>();
  for (const [index, turn] of turns.entries()) {
    yield;
    if (turn.role === "user") {
      yield* pairResults(turn, open, ids);
      open = new Map();
      continue;
    }
    yield* forEachInSteps(turn.parts, (part) => {
      if (part.type !== "tool-call") return;
      if (open.has(part.id)) throw invalidValue(part.path, `two tool calls have the id ${part.id}`);
      const id = safeId(part.id, `${index} ${part.path}`, taken);
      taken.add(id);
      ids.set(part, id);
      open.set(part.id, id);
    });
    if (open.size > 0 && index === turns.length - 1) throw unanswered(turn, [...open.keys()]);
  }
  return ids;
}

function* pairResults(
  turn: ArrangedTurn,
  open: ReadonlyMap<string, string>,
  ids: Map<ToolCallPart | ToolResultPart, string>,
): Steps<void> {
  const waiting = new Map(open);
  yield* forEachInSteps(turn.parts, (part) => {
    if (part.type !== "tool-result") return;
    const id = waiting.get(part.callId);
    if (id === undefined) {
      throw invalidValue(part.path, `no tool call right before has the id ${part.callId}`);
    }
    waiting.delete(part.callId);
    ids.set(part, id);
  });
  if (waiting.size > 0) throw unanswered(turn, [...waiting.keys()]);
}

function unanswered(turn: ArrangedTurn, ids: readonly string[]) {
  return invalidValue(turn.path, `no result follows for the tool calls ${ids.join(", ")}`);
}

function safeId(id: string, path: string, taken: ReadonlySet<string>): string {
  const plain = id.replace(/[^a-zA-Z0-9_-]/g, "_");
  const isFree = plain !== "" && !taken.has(plain);
  // Two ids may differ only in characters that are replaced.
  const isOwn = plain === id && isFree;
  return isOwn ? id : `${plain || "toolu"}_${sha256Hex(`${id} ${path}`).slice(0, 12)}`;
}
