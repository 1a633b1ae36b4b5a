/** Made-up streams of every dialect, with what servers do differently, for callers of the others. */
import assert from "@std/assert";
import { type Facts, factsOf, factsSaid, shownIn } from "./facts.ts";
import { bytesOf, checkStream, names, type Passage, relayStream } from "./translated.ts";
import { checkCuts, checkSplits, checkStreamCell } from "./matrix.ts";
import { Random } from "./random.ts";
import { seeds } from "../support/random.ts";
import { answerOf } from "./stories.ts";
import { syntheticStream } from "./synthetic.ts";
import { failingEvents } from "./vendor_failures.ts";

/** More by `ANSWER_HISTORIES`; of those that are cut or fail a tenth. */
const histories = Number(Deno.env.get("ANSWER_HISTORIES") ?? 80);

for (const vendor of names) {
  for (const caller of names.filter((name) => name !== vendor)) {
    Deno.test(`${histories} ${vendor} streams of any server reach a ${caller} caller whole`, () => {
      for (const seed of seeds(histories)) {
        const { story, frames, quirks } = syntheticStream(vendor, seed);
        const passage = { vendor, caller, quirks, ...formOf(seed) };
        named(seed, () => {
          const answer = checkStreamCell(passage, frames);
          agree(factsOf(answer), factsOf(answerOf(story)), "as decoded");
          const { text } = relayStream(passage, frames);
          const said = factsSaid(checkStream(passage, text));
          const expected = shownIn(caller, answerOf(story));
          agree(said, said.usage ? expected : { ...expected, usage: undefined }, "on the wire");
          checkSplits(passage, frames, [seed]);
        });
      }
    });

    Deno.test(`${vendor} streams cut anywhere reach a ${caller} caller as an error`, () => {
      for (const seed of seeds(histories / 10)) {
        const { story, frames, quirks, progress } = syntheticStream(vendor, seed);
        const choices = story.choices.length;
        const passage = { vendor, caller, quirks, choices, ...formOf(seed) };
        named(seed, () => checkCuts(passage, frames, progress));
      }
    });

    Deno.test(`${vendor} streams that fail in band reach a ${caller} caller as its error`, () => {
      for (const seed of seeds(histories / 10)) {
        const { frames, progress } = syntheticStream(vendor, seed);
        const passage = { vendor, caller, ...formOf(seed) };
        const random = new Random(seed);
        const running = progress.filter(({ finished }) => !finished).length;
        for (const failure of failingEvents(vendor)) {
          const before = frames.slice(0, random.below(running + 1));
          const rest = random.chance(50) ? frames.slice(before.length) : [];
          const { text, ending } = relayStream(passage, [...before, bytesOf(failure), ...rest]);
          named(seed, () => {
            assert.equal(ending, "failed", failure);
            const said = checkStream(passage, text);
            assert.deepEqual([said.ending, said.error?.code], ["failed", "upstream_error"]);
          });
        }
      }
    });
  }
}

/** The caller's side of a cell goes through its forms. */
function formOf(seed: number): Pick<Passage, "showUsage" | "jsonArray"> {
  return { showUsage: seed % 3 !== 0, jsonArray: seed % 4 === 0 };
}

function agree(actual: Facts, expected: Facts, where: string): void {
  assert.deepEqual(actual, expected, where);
}

/** Says which seed failed, so that it can be run again. */
function named(seed: number, act: () => void): void {
  try {
    act();
  } catch (thrown) {
    throw new Error(`seed ${seed}: ${thrown instanceof Error ? thrown.message : thrown}`, {
      cause: thrown,
    });
  }
}
