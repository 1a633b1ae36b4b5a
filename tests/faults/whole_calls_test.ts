/** Random histories of whole calls, on several processes that are killed; a run by hand. */
import assert from "@std/assert";
import { postgresAvailability } from "../support/postgres.ts";
import { Random, seeds } from "../support/random.ts";
import { makeErrand } from "./whole_calls/calls.ts";
import { carryOut } from "./whole_calls/history.ts";

/** `WHOLE_CALLS=10 deno task test tests/faults/whole_calls_test.ts`: each takes about a minute. */
const histories = Number(Deno.env.get("WHOLE_CALLS") ?? 0);
const { available, reason } = postgresAvailability();

Deno.test("a seed repeats what its callers ask for", () => {
  const errandsOf = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 100 }, (_, number) => makeErrand(random, seed, number));
  };
  assert.deepEqual(errandsOf(205), errandsOf(205));
  assert.notDeepEqual(errandsOf(205), errandsOf(206));
});

for (const seed of seeds(histories)) {
  Deno.test(`history ${seed}: callers, vendors, records and sums agree`, async () => {
    assert.ok(available, reason);
    const { problems, summary } = await carryOut(seed);
    console.log(`${summary}: ${problems.length} problems`);
    assert.deepEqual(problems.slice(0, 20), []);
  });
}
