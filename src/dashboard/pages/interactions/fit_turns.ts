import { beginning } from "../../../base/characters.ts";
import type { ShownPart, ShownTurn } from "../../../records/transcript.ts";

/** How many characters of a long conversation a page shows, before and after the part left out. */
const firstChars = 20_000;
const lastChars = 60_000;
/** How many turns likewise. */
const firstTurns = 10;
const lastTurns = 60;
/** How many characters of one turn a page shows. */
const turnChars = 16_000;

/** Returns the beginning and the end of a long conversation, so that no page has megabytes. */
export function fitTurns(
  turns: readonly ShownTurn[],
): { first: ShownTurn[]; leftOut: number; last: ShownTurn[] } {
  const last = takeFitting(turns.toReversed(), lastChars, lastTurns).toReversed();
  const before = turns.slice(0, turns.length - last.length);
  const first = takeFitting(before, firstChars, firstTurns);
  return { first, leftOut: before.length - first.length, last };
}

function takeFitting(turns: readonly ShownTurn[], chars: number, most: number): ShownTurn[] {
  let left = chars;
  const fitting: ShownTurn[] = [];
  for (const turn of turns.slice(0, most)) {
    left -= Math.min(turnChars, lengthOf(turn.parts)) + 200;
    if (left < 0 && fitting.length > 0) break;
    fitting.push(turn);
  }
  return fitting;
}

/** Returns the beginning of a long turn. */
export function cutTurn(parts: readonly ShownPart[]): { parts: ShownPart[]; isWhole: boolean } {
  let left = turnChars;
  let isWhole = true;
  const fitting: ShownPart[] = [];
  for (const part of parts) {
    if (left <= 0) return { parts: fitting, isWhole: false };
    fitting.push(cut(part, left));
    const length = ownLength(part);
    // Parts of a tool's result are fitted by a call of their own.
    if (length > left && part.type !== "tool-result") isWhole = false;
    left -= length + 50;
  }
  return { parts: fitting, isWhole };
}

function cut(part: ShownPart, chars: number): ShownPart {
  switch (part.type) {
    case "tool-call":
      return { ...part, arguments: beginning(part.arguments, chars) };
    case "tool-result":
      return part;
    case "media":
      return part;
    default:
      return { ...part, text: beginning(part.text, chars) };
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
