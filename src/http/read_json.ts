import { heavyUnits, heavyValues } from "../base/heavy_json.ts";
import type { HeavyWork, Step } from "../base/heavy_work.ts";
import { runAtOnce, runInTurns } from "../base/heavy_work.ts";
import { JsonCount, type JsonExcess } from "../base/json_count.ts";
import { JsonTextError, parseInSteps, type Preview } from "../base/parse_in_steps.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { ValueGate } from "../base/value_gate.ts";
import { Fault } from "../shared/fault.ts";
import { bodyPieces, notJson, parseJson, type Reading } from "./body.ts";

/** What a body of JSON may hold, whatever it is for (interface.md §5). */
export const jsonLimits = {
  values: 1_000_000,
  depth: 128,
  members: 10_000,
  names: 50_000,
} as const;

/** Where bodies that hold much are worked on. */
export interface HeavyBodies {
  readonly work: HeavyWork;
  /** Room for values of heavy bodies: what is made of a text takes many times its memory. */
  readonly room: ValueGate;
}

/** A body of JSON as it was sent. */
export interface JsonBody {
  readonly text: string;
  /** Parses it; of one that holds much the first elements of lists are shown before the rest. */
  readonly value: (glance?: Preview) => Promise<unknown>;
  /** Does what else is to be done with it. */
  readonly step: Step;
  /** Gives back what room it took. */
  readonly release: () => void;
}

/**
 * Reads a body of JSON. What it holds is counted while it arrives; beyond the limits it is refused
 * at once, and the rest is read away. Only valid UTF-8.
 */
export async function readJson(
  request: Request,
  maxBytes: number,
  { heavy, who, reading }: { heavy: HeavyBodies; who: string; reading: Reading },
): Promise<JsonBody> {
  const count = new JsonCount(jsonLimits);
  const text = await readText(request, maxBytes, { count, reading });
  if (count.isBroken) throw notJson();
  if (count.values <= heavyValues && text.length <= heavyUnits) {
    return {
      text,
      value: () => runAtOnce(() => parseJson(text)),
      step: runAtOnce,
      release: () => {},
    };
  }
  const worker = { key: who, signal: request.signal };
  return {
    text,
    value: (glance) => heavy.work.runSteps(worker, parsing(text, count, glance)),
    step: runInTurns(heavy.work, worker),
    release: await heavy.room.enter(Math.max(count.values, heavyValues), worker),
  };
}

async function readText(
  request: Request,
  maxBytes: number,
  { count, reading }: { count: JsonCount; reading: Reading },
): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pieces: string[] = [];
  const take = (piece: string) => {
    const excess = count.add(piece);
    if (excess !== undefined) throw tooMuch(excess);
    pieces.push(piece);
  };
  let looked = 0;
  for await (const bytes of bodyPieces(request, maxBytes, reading)) {
    take(decoded(() => decoder.decode(bytes, { stream: true })));
    looked += bytes.length;
    if (looked < lookedBytes) continue;
    looked = 0;
    // What has arrived already comes without a pause: others have their turn between.
    await new Promise<void>((resolve) => systemSetTimer(0, resolve));
  }
  take(decoded(() => decoder.decode()));
  return pieces.join("");
}

/** Read in one go. */
const lookedBytes = 512 * 1024;

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new Fault("invalid_json", { message: "The request body is not valid UTF-8." });
  }
}

function tooMuch(excess: JsonExcess): Fault {
  const most = jsonLimits[excess].toLocaleString("en-US");
  switch (excess) {
    case "values":
      return new Fault("request_too_large", {
        message: `The request body holds more than ${most} JSON values.`,
      });
    case "depth":
      return new Fault("invalid_value", {
        message: `The request body is nested deeper than ${most} levels.`,
      });
    case "names":
      return new Fault("invalid_value", {
        message: `The request body has members of more than ${most} different names.`,
      });
    case "members":
      return new Fault("invalid_value", {
        message: `The request body holds an object with more than ${most} members.`,
      });
  }
}

function* parsing(
  text: string,
  count: JsonCount,
  glance: Preview | undefined,
): Generator<void, unknown, void> {
  try {
    return yield* parseInSteps(text, count, { glance });
  } catch (thrown) {
    throw thrown instanceof JsonTextError ? notJson(thrown.position) : thrown;
  }
}
