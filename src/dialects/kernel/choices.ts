import { Fault } from "../../shared/fault.ts";
import type { JsonRecord } from "./json.ts";

/** An answer that holds more than is read; its vendor may charge for it all the same. */
export class AnswerExcess extends Fault {
  constructor(note: string) {
    super("upstream_invalid_response", { note });
  }
}

/** Returns the `index` of a choice, or its position where that is no index. */
export function choiceIndex(value: unknown, position: number): number {
  const isIndex = Number.isInteger(value) && (value as number) >= 0 &&
    (value as number) < maxChoices;
  return isIndex ? value as number : position;
}

/**
 * Returns the indexes of choices that arrived together. Some servers number all of them 0: if two
 * have the same index, all are numbered by position.
 */
export function choiceIndexes(choices: readonly JsonRecord[]): number[] {
  refuseManyChoices(choices);
  const indexes = choices.map(({ index }, position) => choiceIndex(index, position));
  if (choices.length < 2 || new Set(indexes).size === choices.length) return indexes;
  return [...choices.keys()];
}

/** Throws `upstream_invalid_response` for more choices than a request may ask for. */
export function refuseManyChoices({ length }: readonly unknown[]): void {
  if (length > maxChoices) throw new AnswerExcess(`an answer with more than ${maxChoices} choices`);
}

/**
 * Returns a list in one choice, `what` it holds; empty for any other value. Throws
 * `upstream_invalid_response` for a longer one than real answers have, since it is read at once.
 */
export function choiceList(
  value: unknown,
  what: string,
  most: number = maxListed,
): readonly unknown[] {
  if (!Array.isArray(value)) return [];
  if (value.length > most) throw new AnswerExcess(`a choice with more than ${most} ${what}`);
  return value;
}

/** As many parts as a message of a request may have. */
const maxListed = 10_000;

/** Maximum number of choices that a request may ask for. */
const maxChoices = 128;
