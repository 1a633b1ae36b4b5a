import { type HeavyWorker, runAtOnce, runInTurns, type Step } from "../base/heavy_work.ts";
import {
  countInSteps,
  type HeavyBodies,
  heavyUnits,
  heavyValues,
  wideLimits,
} from "../base/heavy_json.ts";
import { JsonCount } from "../base/json_count.ts";
import { parseExactly } from "../base/exact_json.ts";
import { parseInSteps } from "../base/parse_in_steps.ts";

/** A stored request as a JSON value, with the `Step` in which to process it. */
export interface RereadRequest {
  value: unknown;
  step: Step;
  /** To be called once no value of the request is held any more. */
  release: () => void;
}

/** Shorter texts, in UTF-16 units, hold too little to delay anybody. */
const lightUnits = 64 * 1024;

/** Parses a stored request, whose limits were checked when it arrived, in other pieces. */
export async function rereadRequest(
  { work, room }: HeavyBodies,
  text: string,
  accountId: number,
): Promise<RereadRequest> {
  if (text.length <= lightUnits) {
    return { value: parseExactly(text), step: runAtOnce, release: () => {} };
  }
  const who: HeavyWorker = { key: String(accountId), hasNoTimeout: true };
  const count = new JsonCount(wideLimits);
  await work.runSteps(who, countInSteps(count, text));
  if (count.values <= heavyValues && text.length <= heavyUnits) {
    return { value: parseExactly(text), step: runAtOnce, release: () => {} };
  }
  const release = await room.enter(Math.max(count.values, heavyValues), who);
  try {
    const value = await work.runSteps(who, parseInSteps(text, count));
    return { value, step: runInTurns(work, who), release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}
