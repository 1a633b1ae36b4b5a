import {
  type HeavyWork,
  type HeavyWorker,
  runAtOnce,
  runInTurns,
  type Step,
} from "../base/heavy_work.ts";
import { countInSteps, heavyUnits, heavyValues } from "../base/heavy_json.ts";
import { JsonCount } from "../base/json_count.ts";
import { parseInSteps } from "../base/parse_in_steps.ts";
import type { ValueGate } from "../base/value_gate.ts";

/** Where texts that hold much are worked on, in turns with what others do. */
export interface HeavyWorkLimits {
  readonly work: HeavyWork;
  readonly room: ValueGate;
}

/** A stored request as JSON value, and what the work on it is done with. */
export interface RereadRequest {
  value: unknown;
  step: Step;
  /** No value of it is held any more. */
  release: () => void;
}

/** Texts of fewer units hold too little to hold anybody up. */
const lightUnits = 64 * 1024;

/** Reads a request that was stored; its limits were looked at when it came. */
export async function rereadRequest(
  { work, room }: HeavyWorkLimits,
  text: string,
  accountId: number,
): Promise<RereadRequest> {
  if (text.length <= lightUnits) {
    return { value: JSON.parse(text), step: runAtOnce, release: () => {} };
  }
  const who: HeavyWorker = { key: String(accountId), hasNoTimeout: true };
  const count = new JsonCount(storedLimits);
  await work.runSteps(who, countInSteps(count, text));
  if (count.values <= heavyValues && text.length <= heavyUnits) {
    return { value: JSON.parse(text), step: runAtOnce, release: () => {} };
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

/** Those of callers' bodies, which this one has passed. */
const storedLimits = { values: 1_000_000, depth: 128, members: 10_000, names: 50_000 } as const;
