import { heavyUnits, heavyValues } from "../base/heavy_json.ts";
import type { HeavyWork, Step } from "../base/heavy_work.ts";
import { runAtOnce, runInTurns } from "../base/heavy_work.ts";
import { JsonCount, type JsonExcess } from "../base/json_count.ts";
import { JsonTextError, parseInSteps, type Preview } from "../base/parse_in_steps.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { ValueGate } from "../base/value_gate.ts";
import { Fault } from "../shared/fault.ts";
import { bodyPieces, notJson, parseJson, type Reading } from "./body.ts";

/** Limits of every JSON body. */
export const jsonLimits = {
  values: 1_000_000,
  depth: 128,
  members: 10_000,
  names: 50_000,
} as const;

/** Processes bodies with many values. */
export interface HeavyBodies {
  readonly work: HeavyWork;
  /** Bounds the values in memory: parsed, they take many times the memory of their text. */
  readonly room: ValueGate;
}

/** A JSON body as it was sent. */
export interface JsonBody {
  readonly text: string;
  /** Parses it; for a heavy body `glance` sees the first elements of lists before the rest. */
  readonly value: (glance?: Preview) => Promise<unknown>;
  /** Runs further work on it. */
  readonly step: Step;
  /** Releases its memory. */
  readonly release: () => void;
}

/**
 * Reads a JSON body of valid UTF-8. Its contents are counted while it arrives; beyond the limits it is
 * refused at once, and the rest is discarded.
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
    // Pieces that have already arrived come without a pause: yield to the event loop.
    await new Promise<void>((resolve) => systemSetTimer(0, resolve));
  }
  take(decoded(() => decoder.decode()));
  return pieces.join("");
}

/** Bytes to read before yielding. */
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
