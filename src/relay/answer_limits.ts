import { countInSteps, heavyUnits, heavyValues, parseCounted } from "../base/heavy_json.ts";
import { JsonCount, type JsonExcess, type JsonLimits } from "../base/json_count.ts";
import type { Steps } from "../base/steps.ts";
import { Fault } from "../shared/fault.ts";

/** The limits of a vendor's answer, or of one event of its stream. */
const answerLimits = {
  values: 2_000_000,
  depth: 128,
  members: 100_000,
  names: 100_000,
  // A model that repeats itself may write one in a call's arguments.
  longNames: 100,
} as const;

/** Shorter events are parsed uncounted. */
export const countedUnits = 64 * 1024;

/** Shorter texts can't hold as many values as are heavy: each takes at least two characters. */
const lightUnits = 2 * heavyValues;

/** Whether an answer, or an event, is worked on in steps, like a caller's body. */
export function isHeavyText(text: string): boolean {
  if (text.length <= lightUnits) return false;
  return text.length > heavyUnits || new JsonCount(heavyLimits).add(text) !== undefined;
}

const heavyLimits: JsonLimits = { ...answerLimits, values: heavyValues };

/**
 * Throws `upstream_invalid_response` for a JSON text that holds too much to be parsed. `values`
 * replaces the limit on the number of values, for answers that may have more.
 */
export function checkAnswerLimits(text: string, values?: number): void {
  const fault = excessOf(text, values);
  if (fault) throw fault;
}

/**
 * Returns the fault of an event that holds too much to be parsed; undefined if it can be parsed.
 * `values` is as in `checkAnswerLimits`.
 */
export function eventExcess(data: string, values?: number): Fault | undefined {
  return data.length > countedUnits ? excessOf(data, values) : undefined;
}

/**
 * Parses a large answer, or a large event, in steps. Throws `upstream_invalid_response` if it holds
 * too much, and `JsonTextError` if it isn't JSON. `values` is as in `checkAnswerLimits`.
 */
export function* parseWithinLimits(
  text: string,
  values: number = answerLimits.values,
): Steps<unknown> {
  const limits: JsonLimits = { ...answerLimits, values };
  const count = new JsonCount(limits);
  yield* countInSteps(count, text);
  const fault = faultOf(count.excess, limits);
  if (fault) throw fault;
  return yield* parseCounted(text, count);
}

function excessOf(text: string, values: number = answerLimits.values): Fault | undefined {
  const limits: JsonLimits = { ...answerLimits, values };
  return faultOf(new JsonCount(limits).add(text), limits);
}

function faultOf(excess: JsonExcess | undefined, limits: JsonLimits): Fault | undefined {
  if (excess === undefined) return undefined;
  const what = excess === "longNames" ? "long member names" : excess;
  return new Fault("upstream_invalid_response", {
    note: `an answer with more than ${limits[excess]} ${what}`,
  });
}
