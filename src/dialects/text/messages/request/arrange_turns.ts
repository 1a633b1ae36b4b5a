import type { Steps } from "../../../../base/steps.ts";
import type {
  CanonicalRequest,
  Loss,
  Part,
  SystemText,
  Turn,
} from "../../../kernel/canonical_request.ts";
import { noUserTurn } from "../../../kernel/no_user_turn.ts";
import { invalidValue } from "../../../../shared/fault.ts";

/**
 * A non-empty turn; its neighbours have other roles. A turn of system texts follows a user turn.
 */
export interface ArrangedTurn {
  role: Turn["role"];
  parts: Part[];
  path: string;
  /** The results of its calls must come next. */
  hasCall?: boolean;
}

/**
 * Arranges a conversation as the dialect requires: no empty parts, turns of the same role merged,
 * tool results at the head of a turn, a user turn first. System texts between the turns are moved
 * to the front, or, with `systemTurns`, after the adjacent user turn, the only place where the
 * vendor accepts them, so that the next round's request begins like this one. System texts after an
 * assistant turn ask for a new answer: a user turn is inserted, since otherwise the assistant turn
 * would be the beginning of that answer, which the newest models refuse.
 */
export function* arrangeTurns(
  request: CanonicalRequest,
  systemTurns: boolean,
  losses: Loss[],
): Steps<{ system: SystemText[]; turns: ArrangedTurn[] }> {
  const system = request.system.filter(({ text }) => !isBlank(text));
  const turns: ArrangedTurn[] = [];
  const waiting: SystemText[] = [];
  for (const turn of request.turns) {
    if (turn.name !== undefined) losses.push({ path: `${turn.path}.name`, weight: "hint" });
    if (turn.role === "system") {
      const texts = systemTurns && turns.length > 0 ? waiting : system;
      for (const text of textsOf(turn)) texts.push(text);
    } else addTurn(turns, turn.role, turn, waiting);
    yield;
  }
  const asking = request.turns.at(-1);
  const isAsked = asking?.role === "system" && textsOf(asking).length > 0;
  if (isAsked && turns.at(-1)?.role === "assistant") turns.push(continuing(asking.path));
  if (turns.at(-1)?.role === "user") addSystemTurn(turns, waiting);
  for (const text of waiting) system.push(text);
  if (!turns.some((turn) => turn.role === "user")) {
    throw noUserTurn(request);
  }
  if (turns[0]?.role === "assistant") turns.unshift(continuing(turns[0].path));
  for (const turn of turns) {
    if (turn.role === "user") turn.parts = resultsFirst(turn.parts);
    if (turn.role === "assistant") turn.parts = withoutCutThinking(turn.parts);
  }
  trimEnd(turns.at(-1));
  return { system, turns };
}

/** Adds a turn. `waiting`: the system texts since the last assistant turn. */
function addTurn(
  turns: ArrangedTurn[],
  role: "user" | "assistant",
  turn: Turn,
  waiting: SystemText[],
): void {
  const parts = turn.parts.filter(isWritable);
  if (parts.every((part) => part.type === "reasoning")) {
    if (role === "assistant") return;
    throw invalidValue(turn.path, "expected a message that is not empty");
  }
  const hasCall = parts.some(({ type }) => type === "tool-call");
  const last = turns.at(-1);
  const isBetween = role === "assistant" && waiting.length > 0 && !last?.hasCall;
  if (last?.role === role && !isBetween) {
    for (const part of parts) last.parts.push(part);
    last.hasCall ||= hasCall;
    return;
  }
  if (last?.role === "assistant" && isBetween) turns.push(continuing(waiting[0]!.path));
  if (role === "assistant") addSystemTurn(turns, waiting);
  turns.push({ role, parts, path: turn.path, hasCall });
}

function addSystemTurn(turns: ArrangedTurn[], waiting: SystemText[]): void {
  const parts = waiting.splice(0).map((text): Part => ({ type: "text", ...text }));
  if (parts.length > 0) turns.push({ role: "system", parts, path: parts[0]!.path });
}

/**
 * Returns a user turn to insert: conversations must begin with the user, but chat clients may begin
 * with a greeting by the assistant; and system texts may ask for an answer right after an assistant
 * turn.
 */
function continuing(path: string): ArrangedTurn {
  return { role: "user", parts: [{ type: "text", text: "(continue)", path }], path };
}

/** Only reasoning signed by a vendor of this dialect can be sent back. */
function isWritable(part: Part): boolean {
  if (part.type === "text" || part.type === "refusal") return !isBlank(part.text);
  return part.type !== "reasoning" || part.opaque?.dialect === "messages";
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function textsOf(turn: Turn): SystemText[] {
  return turn.parts.flatMap((part) => {
    if (part.type !== "text" || isBlank(part.text)) return [];
    const { type: _, ...text } = part;
    return [text];
  });
}

function resultsFirst(parts: Part[]): Part[] {
  if (!parts.some((part) => part.type === "tool-result")) return parts;
  return [
    ...parts.filter((part) => part.type === "tool-result"),
    ...parts.filter((part) => part.type !== "tool-result"),
  ];
}

/** Leaves out thinking after which the answer was cut: the vendor refuses it as the last block. */
function withoutCutThinking(parts: Part[]): Part[] {
  const last = parts.findLastIndex((part) =>
    part.type !== "reasoning" || part.opaque?.kind === "block"
  );
  return parts.slice(0, last + 1);
}

/** A prefilled answer must not end with white space. */
function trimEnd(turn: ArrangedTurn | undefined): void {
  const last = turn?.parts.at(-1);
  if (turn?.role !== "assistant" || (last?.type !== "text" && last?.type !== "refusal")) return;
  turn.parts = [...turn.parts.slice(0, -1), { ...last, text: last.text.trimEnd() }];
}
