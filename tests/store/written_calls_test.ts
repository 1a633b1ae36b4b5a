import assert from "@std/assert";
import { interaction } from "./samples.ts";
import { otherTurns } from "../support/racing_clock.ts";
import { writeCalls } from "../../src/records/store/interactions.ts";

Deno.test("a batch of records is written in many turns of the event loop", async () => {
  const requestText = JSON.stringify({ input: "words of many kinds ".repeat(500) });
  const calls = Array.from(
    { length: 200 },
    (_, at) =>
      interaction(1, `txn_${at}`, { requestText: requestText.replaceAll("kinds", `${at}`) }),
  );
  const turns = await otherTurns(async () => {
    assert.equal((await writeCalls(calls)).size, 200);
  });
  assert.ok(turns >= 199, `${turns} turns`);
});
