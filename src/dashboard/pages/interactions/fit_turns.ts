import type { ShownPart, ShownTurn } from "../../../records/transcript.ts";

/** Characters of a page's conversation, in front of what is left out and behind it. */
const firstChars = 20_000;
const lastChars = 60_000;
/** Turns likewise. */
const firstTurns = 10;
const lastTurns = 60;
/** Characters of one turn. */
const turnChars = 16_000;

/** The beginning and the end of a long conversation, which must not make a page of megabytes. */
export function fitTurns(
  turns: readonly ShownTurn[],
): { first: ShownTurn[]; leftOut: number; last: ShownTurn[] } {
  const last = within(turns.toReversed(), lastChars, lastTurns).toReversed();
  const before = turns.slice(0, turns.length - last.length);
  const first = within(before, firstChars, firstTurns);
  return { first, leftOut: before.length - first.length, last };
}

function within(turns: readonly ShownTurn[], chars: number, most: number): ShownTurn[] {
  let left = chars;
  const fitting: ShownTurn[] = [];
  for (const turn of turns.slice(0, most)) {
    left -= Math.min(turnChars, lengthOf(turn.parts)) + 200;
    if (left < 0 && fitting.length > 0) break;
    fitting.push(turn);
  }
  return fitting;
}

/** The beginning of a long turn. */
export function fitBlocks(parts: readonly ShownPart[]): { parts: ShownPart[]; isWhole: boolean } {
  let left = turnChars;
  let isWhole = true;
  const fitting: ShownPart[] = [];
  for (const part of parts) {
    if (left <= 0) return { parts: fitting, isWhole: false };
    fitting.push(cut(part, left));
    const length = ownLength(part);
    // Results of tools fit their own parts.
    if (length > left && part.type !== "tool-result") isWhole = false;
    left -= length + 50;
  }
  return { parts: fitting, isWhole };
}

function cut(part: ShownPart, chars: number): ShownPart {
  switch (part.type) {
    case "tool-call":
      return { ...part, arguments: part.arguments.slice(0, chars) };
    case "tool-result":
      return part;
    case "media":
      return part;
    default:
      return { ...part, text: part.text.slice(0, chars) };
  }
}

function lengthOf(parts: readonly ShownPart[]): number {
  return parts.reduce((sum, part) => sum + ownLength(part), 0);
}

function ownLength(part: ShownPart): number {
  switch (part.type) {
    case "tool-call":
      return part.arguments.length;
    case "tool-result":
      return lengthOf(part.parts);
    case "media":
      return 100;
    default:
      return part.text.length;
  }
}
