import { JsonCount } from "../base/json_count.ts";
import { Fault } from "../shared/fault.ts";

/** Of a vendor's answer, or one event of its stream. */
const answerLimits = { values: 2_000_000, depth: 128, members: 100_000, names: 100_000 } as const;

/** Throws `upstream_invalid_response` for a JSON text that holds too much to be parsed. */
export function checkAnswerLimits(text: string): void {
  const excess = new JsonCount(answerLimits).add(text);
  if (excess === undefined) return;
  throw new Fault("upstream_invalid_response", {
    note: `an answer with more than ${answerLimits[excess]} ${excess}`,
  });
}
