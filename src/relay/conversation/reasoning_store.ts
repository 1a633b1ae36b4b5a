import { parseExactly } from "../../base/exact_json.ts";
import type { AnswerPart, CanonicalAnswer } from "../../dialects/kernel/canonical.ts";
import type {
  CanonicalRequest,
  Opaque,
  Part,
  ReasoningPart,
} from "../../dialects/kernel/canonical_request.ts";
import { isRecord } from "../../dialects/kernel/json.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { RetainedReasoning, StoredResponseStore } from "../../shared/stored_response.ts";

/**
 * What is stored of a tool call's turn: the call's own opaque data, and the reasoning before it.
 */
interface TurnReasoning {
  call?: Opaque;
  before: { text: string; opaque: Opaque }[];
}

/** How many calls of one turn hold a copy of the reasoning before them. */
const maxRowsPerItem = 8;

/**
 * Returns thought signatures, signed thinking and sealed reasoning by tool-call id, which are
 * stored for clients that can't carry them. Nothing is stored for an answer without tool calls: no
 * vendor asks for its reasoning back.
 */
export function retainedReasoning(answer: CanonicalAnswer): RetainedReasoning[] {
  return answer.choices.flatMap((choice) => {
    const before = choice.parts.flatMap((part) => {
      const opaque = part.kind === "reasoning" ? part.opaque : workOf(part);
      return opaque ? [{ text: part.text, opaque }] : [];
    });
    return choice.parts.filter(isToolCall).flatMap((part, index) => {
      // If the client sends back one of the turn's calls, that restores the turn, so only some of
      // them hold it.
      const own = index < maxRowsPerItem ? before : [];
      if (!part.opaque && own.length === 0) return [];
      const turn: TurnReasoning = { before: own, ...(part.opaque ? { call: part.opaque } : {}) };
      return [{ callId: part.id, reasoningText: JSON.stringify(turn) }];
    });
  });
}

/** Reasoning that a vendor sealed for us, and that the caller doesn't see. */
interface SealedReasoning extends TurnReasoning {
  /** Label of the only vendor that can open it. */
  vendor: string;
  sealed: string;
}

/**
 * Returns sealed reasoning by the ids of its items, for callers who continue an answer by its id.
 */
export function retainedSeals(answer: CanonicalAnswer, vendor: string): RetainedReasoning[] {
  return answer.choices.flatMap(({ parts }) => parts).flatMap((part) => {
    const opaque = part.kind === "reasoning" ? part.opaque : undefined;
    if (opaque?.itemId === undefined) return [];
    const stored: SealedReasoning = { before: [], vendor, sealed: opaque.value };
    return [{ callId: opaque.itemId, reasoningText: JSON.stringify(stored) }];
  });
}

/** Finds the sealed reasoning that is stored for this vendor under these item ids. */
export async function findSeals(
  ids: readonly string[],
  vendor: string,
  accountId: number,
  store: StoredResponseStore,
): Promise<(id: string) => string | undefined> {
  if (ids.length === 0) return () => undefined;
  const found = await store.findReasoning(accountId, [...new Set(ids)]);
  const seals = new Map(found.flatMap(({ callId, reasoningText }) => {
    const stored = parseExactly(reasoningText) as Partial<SealedReasoning>;
    return stored.vendor === vendor && stored.sealed !== undefined ? [[callId, stored.sealed]] : [];
  }));
  return (id) => seals.get(id);
}

/**
 * Returns the vendor's own searches within its reasoning. They are valid only after what preceded
 * them, so they are sent back as the same block, item or part.
 */
function workOf(part: AnswerPart): Opaque | undefined {
  if (part.kind !== "vendor" || !isRecord(part.value)) return undefined;
  const { dialect, value, search, opaque } = part;
  if (opaque?.kind === "block") return opaque;
  return search && { dialect, kind: "block", value: JSON.stringify(value) };
}

/**
 * Puts back the reasoning that the turns of a request lost, for a vendor of dialect `target`. Data
 * that a client carried in that dialect is kept; data of another dialect is dropped, and does not
 * prevent ours from being put back.
 */
export async function recallReasoning(
  request: CanonicalRequest,
  target: DialectName,
  accountId: number,
  store: StoredResponseStore,
): Promise<CanonicalRequest> {
  const callIds: string[] = [];
  for (const { parts } of request.turns) {
    for (const part of parts) {
      if (part.type === "tool-call" && part.opaque?.dialect !== target) callIds.push(part.id);
    }
  }
  if (callIds.length === 0) return request;
  const found = await store.findReasoning(accountId, callIds);
  if (found.length === 0) return request;
  const byCall = new Map(
    found.map((one) => [one.callId, parseExactly(one.reasoningText) as TurnReasoning]),
  );
  const turns = request.turns.map((turn) =>
    turn.role === "assistant" ? { ...turn, parts: recallTurn(turn.parts, byCall, target) } : turn
  );
  const isBack = (index: number) => turns[index]?.parts.some(isWork) === true;
  const unsupported = request.unsupported.filter(({ searchOfTurn: turn }) =>
    turn === undefined || !isBack(turn)
  );
  return { ...request, turns, unsupported };
}

function recallTurn(
  parts: readonly Part[],
  byCall: ReadonlyMap<string, TurnReasoning>,
  target: DialectName,
): Part[] {
  let before: ReasoningPart[] = [];
  const recalled = parts.map((part): Part => {
    const stored = part.type === "tool-call" ? byCall.get(part.id) : undefined;
    if (!stored || part.type !== "tool-call") return part;
    if (before.length === 0) {
      before = stored.before.filter(({ opaque }) => opaque.dialect === target)
        .map(({ text, opaque }) => ({ type: "reasoning", text, opaque, path: part.path }));
    }
    const usable = part.opaque?.dialect !== target && stored.call?.dialect === target;
    return usable ? { ...part, opaque: stored.call! } : part;
  });
  const carried = parts.some((part) =>
    part.type === "reasoning" && part.opaque?.dialect === target
  );
  // No caller of another dialect carries searches within the reasoning, so all of it is put back.
  const isWhole = carried && !before.some(({ opaque }) => opaque?.kind === "block");
  if (isWhole || before.length === 0) return recalled;
  // Unsealed reasoning is replaced: it would be there twice.
  return [...before, ...recalled.filter((part) => part.type !== "reasoning")];
}

/** A vendor's own search that was put back. */
function isWork(part: Part): boolean {
  return part.type === "reasoning" && part.opaque?.kind === "block";
}

function isToolCall(part: AnswerPart): part is AnswerPart & { kind: "tool-call" } {
  return part.kind === "tool-call";
}
