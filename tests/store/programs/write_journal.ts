/**
 * Writes calls into the journal of the first argument, 20 at a time, and prints the id of each
 * whose end is on the disk. Runs until it is killed.
 */
import { openJournal } from "../../../src/records/journal/journal.ts";
import { interaction } from "../samples.ts";

const journal = await openJournal(Deno.args[0] ?? "", { sync: "always", segmentBytes: 20_000 });
let next = 0;

async function call(): Promise<void> {
  for (;;) {
    const id = `call-${next++}`;
    const text = "x".repeat(next % 700);
    journal.begin(interaction(1, id, { status: "interrupted", requestText: text }));
    console.log(`began ${id}`);
    await Promise.resolve();
    await journal.end(interaction(1, id, {
      status: "completed",
      chargedNanos: BigInt(next),
      responseText: text,
      leaseId: "lease-1",
    }));
    console.log(`ended ${id}`);
  }
}

await Promise.all(Array.from({ length: 20 }, call));
