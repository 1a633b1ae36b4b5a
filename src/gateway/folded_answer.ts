import { mendJson } from "../base/mend_json.ts";
import type { AnswerPart, CanonicalAnswer } from "../dialects/canonical.ts";
import { innerJson } from "../dialects/inner_json.ts";
import { isRecord } from "../dialects/json.ts";

/** A streamed answer as its folded whole. */
export interface FoldedAnswer {
  text: string;
  truncated: boolean;
}

/** Undefined where nothing came. Throws what `encode` throws. */
export function foldedAnswer(
  answer: CanonicalAnswer,
  encode: (answer: CanonicalAnswer) => unknown,
): FoldedAnswer | undefined {
  if (answer.choices.length === 0) return undefined;
  return { text: JSON.stringify(encode(answer)), truncated: answer.truncated };
}

/**
 * The same for an answer that has no form in its dialect as it is: of calls whose arguments broke
 * off, or never were an object, stays what can be read.
 */
export function mendedAnswer(
  answer: CanonicalAnswer,
  encode: (answer: CanonicalAnswer) => unknown,
): FoldedAnswer | undefined {
  const choices = answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map(mended) }));
  return foldedAnswer({ ...answer, choices, truncated: true }, encode);
}

function mended(part: AnswerPart): AnswerPart {
  if (part.kind !== "tool-call" || isRecord(innerJson(part.text))) return part;
  for (const value of mendJson(part.text)) {
    if (isRecord(value)) return { ...part, text: JSON.stringify(value) };
  }
  return { ...part, text: part.text === "" ? "{}" : JSON.stringify({ unreadable: part.text }) };
}
