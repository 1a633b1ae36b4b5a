import type { Steps } from "../../../../base/steps.ts";
import type {
  CanonicalRequest,
  Loss,
  Part,
  SystemText,
  Turn,
} from "../../../kernel/canonical_request.ts";
import { invalidValue } from "../../../../shared/fault.ts";

/** A non-empty turn; its neighbours have the other role. */
export interface ArrangedTurn {
  role: "user" | "assistant";
  parts: Part[];
  path: string;
}

/**
 * Arranges a conversation as the dialect requires: system texts first, no empty parts, turns of the
 * same role merged, tool results at the head of a turn, a user turn first.
 */
export function* arrangeTurns(
  request: CanonicalRequest,
  losses: Loss[],
): Steps<{ system: SystemText[]; turns: ArrangedTurn[] }> {
  const system = request.system.filter(({ text }) => !isBlank(text));
  const turns: ArrangedTurn[] = [];
  for (const turn of request.turns) {
    if (turn.name !== undefined) losses.push({ path: `${turn.path}.name`, weight: "hint" });
    if (turn.role === "system") { for (const text of textsOf(turn)) system.push(text); }
    else addTurn(turns, turn.role, turn);
    yield;
  }
  if (!turns.some((turn) => turn.role === "user")) {
    throw invalidValue("messages", "at least one user message is required");
  }
  if (turns[0]?.role === "assistant") turns.unshift(opening(turns[0].path));
  for (const turn of turns) if (turn.role === "user") turn.parts = resultsFirst(turn.parts);
  trimEnd(turns.at(-1));
  return { system, turns };
}

function addTurn(turns: ArrangedTurn[], role: ArrangedTurn["role"], turn: Turn): void {
  const parts = turn.parts.filter(isWritable);
  if (parts.every((part) => part.type === "reasoning")) {
    if (role === "assistant") return;
    throw invalidValue(turn.path, "expected a message that is not empty");
  }
  const last = turns.at(-1);
  if (last?.role === role) { for (const part of parts) last.parts.push(part); }
  else turns.push({ role, parts, path: turn.path });
}

/**
 * Conversations must begin with the user; chat clients may begin with a greeting by the assistant.
 */
function opening(path: string): ArrangedTurn {
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

/** A prefilled answer must not end with white space. */
function trimEnd(turn: ArrangedTurn | undefined): void {
  const last = turn?.parts.at(-1);
  if (turn?.role !== "assistant" || (last?.type !== "text" && last?.type !== "refusal")) return;
  turn.parts = [...turn.parts.slice(0, -1), { ...last, text: last.text.trimEnd() }];
}
