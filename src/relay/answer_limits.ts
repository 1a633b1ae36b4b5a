import { JsonCount } from "../base/json_count.ts";
import { Fault } from "../shared/fault.ts";

/** Of a vendor's answer, or one event of its stream. */
const answerLimits = { values: 2_000_000, depth: 128, members: 100_000, names: 100_000 } as const;

/** Shorter events are parsed uncounted. */
const countedUnits = 64 * 1024;

/**
 * Throws `upstream_invalid_response` for a JSON text that holds too much to be parsed. `values`: the
 * most where an answer may hold more than others.
 */
export function checkAnswerLimits(text: string, values?: number): void {
  const fault = excessOf(text, values);
  if (fault) throw fault;
}

/** The fault of an event that holds too much to be parsed. */
export function eventExcess(data: string): Fault | undefined {
  return data.length > countedUnits ? excessOf(data) : undefined;
}

function excessOf(text: string, values: number = answerLimits.values): Fault | undefined {
  const limits = { ...answerLimits, values };
  const excess = new JsonCount(limits).add(text);
  if (excess === undefined) return undefined;
  return new Fault("upstream_invalid_response", {
    note: `an answer with more than ${limits[excess]} ${excess}`,
  });
}
