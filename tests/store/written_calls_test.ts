import assert from "@std/assert";
import { interaction } from "./samples.ts";
import { writeCalls } from "../../src/records/store/interactions.ts";

Deno.test("a batch of records is written in many turns of the event loop", async () => {
  const requestText = JSON.stringify({ input: "words of many kinds ".repeat(500) });
  const calls = Array.from(
    { length: 200 },
    (_, at) =>
      interaction(1, `txn_${at}`, { requestText: requestText.replaceAll("kinds", `${at}`) }),
  );
  let turns = 0;
  let isWritten = false;
  const count = () => {
    turns++;
    if (!isWritten) setImmediate(count);
  };
  setImmediate(count);
  const written = await writeCalls(calls);
  isWritten = true;
  assert.equal(written.size, 200);
  // Two megabytes of words: at once they would be one turn.
  assert.ok(turns >= 10, `${turns} turns`);
});
