/** Random histories of whole calls, on several processes that are killed; a run by hand. */
import { postgresAvailability } from "../support/postgres.ts";
import { seeds } from "../support/random.ts";
import { carryOut } from "./whole_calls/history.ts";

/** `WHOLE_CALLS=10 deno task test tests/faults/whole_calls_test.ts`: each takes about a minute. */
const histories = Number(Deno.env.get("WHOLE_CALLS") ?? 0);
const { available, reason } = postgresAvailability();

Deno.test({
  name: `after ${histories} random histories, callers, vendors, records and sums agree${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: histories === 0 || !available,
  async fn() {
    const failures: string[] = [];
    for (const seed of seeds(histories)) {
      const { problems, summary } = await carryOut(seed);
      console.log(`${summary}: ${problems.length} problems`);
      failures.push(...problems.map((problem) => `seed ${seed}: ${problem}`));
    }
    if (failures.length > 0) throw new Error(failures.slice(0, 20).join("\n"));
  },
});
