/**
 * Vendors' events with one value that has no business there: whatever it is, the caller gets a
 * stream of its dialect's grammar, or a fault of the vendor's, and nothing breaks.
 */
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { Fault } from "../../src/shared/fault.ts";
import { GrammarError } from "../support/grammar/frames.ts";
import { checkWhole } from "../support/grammar/whole.ts";
import {
  checkStream,
  dialects,
  type Name,
  names,
  type Passage,
  readWhole,
  relayStream,
  writeWhole,
} from "./translated.ts";
import { Random } from "./random.ts";
import { seeds } from "../support/random.ts";
import { framesOf } from "./recordings.ts";
import { syntheticStream } from "./synthetic.ts";

/** More by `ANSWER_HISTORIES`. */
const histories = Number(Deno.env.get("ANSWER_HISTORIES") ?? 100);

for (const vendor of names) {
  for (const caller of names.filter((name) => name !== vendor)) {
    Deno.test(`${histories} ${vendor} answers with a wrong value in them break no ${caller} caller`, () => {
      for (const seed of seeds(histories)) {
        const random = new Random(seed);
        const payloads = syntheticStream(vendor, seed).pieces
          .flatMap(({ payload }) => payload ? [payload] : []);
        const at = random.below(payloads.length);
        const { value, place } = mutated(payloads[at], random);
        const named = `seed ${seed}, event ${at}, ${place}`;
        const events = payloads.toSpliced(at, 1, value as Record<string, unknown>);
        tried(named, () => checkAsStream({ vendor, caller }, events));
        const whole = dialects[vendor].encodeAnswer(foldedOf(vendor, payloads));
        const mutation = mutated(JSON.parse(JSON.stringify(whole)), random);
        tried(`${named} whole, ${mutation.place}`, () => {
          const events = readWhole({ vendor, caller }, mutation.value);
          if (events.some(({ type }) => type === "error")) return;
          checkWhole(caller, writeWhole({ vendor, caller }, foldEvents(events)));
        });
      }
    });
  }
}

function checkAsStream(passage: Passage, payloads: Record<string, unknown>[]): void {
  checkStream(passage, relayStream(passage, framesOf(passage.vendor, payloads)).text);
}

function foldedOf(vendor: Name, payloads: Record<string, unknown>[]) {
  return relayStream({ vendor, caller: vendor }, framesOf(vendor, payloads)).answer;
}

/**
 * Faults are told as such. Arguments that a vendor cut or ids that it used twice are passed on as
 * they came: nobody can tell what they should have been.
 */
function tried(named: string, act: () => void): void {
  try {
    act();
  } catch (thrown) {
    const isTold = thrown instanceof Fault ||
      (thrown instanceof GrammarError &&
        /call's input|one (call_)?id|other characters/.test(thrown.message));
    if (!isTold) throw new Error(named, { cause: thrown });
  }
}

const values: readonly unknown[] = [
  null,
  "",
  "x",
  "[DONE]",
  "\ud800",
  0,
  -1,
  1.5,
  1e21,
  true,
  false,
  [],
  [null],
  ["x"],
  {},
  [{}],
  { a: 1 },
];

/** A copy with one member gone or exchanged for something else. */
function mutated(given: unknown, random: Random): { value: unknown; place: string } {
  const value: unknown = JSON.parse(JSON.stringify(given));
  const path = random.pick(pathsIn(value));
  let holder = value as Record<string, unknown>;
  for (const step of path.slice(0, -1)) holder = holder[step] as Record<string, unknown>;
  const member = path.at(-1)!;
  const other = random.pick(values);
  if (random.chance(25)) delete holder[member];
  else holder[member] = other;
  // What was taken out of a list leaves null behind, as on a wire.
  const sent: unknown = JSON.parse(JSON.stringify(value));
  return { value: sent, place: `${path.join(".")} = ${JSON.stringify(holder[member])}` };
}

function pathsIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, held]) => [
    [...path, key],
    ...pathsIn(held, [...path, key]),
  ]);
}
