import assert from "@std/assert";
import { Turns } from "./turns.ts";

Deno.test("work in turns lets other work run once a turn is over, and only then", async () => {
  let nowMs = 0;
  const turns = new Turns({ monotonicMs: () => nowMs });
  let others = 0;
  setImmediate(() => others++);
  assert.equal(turns.pause(), undefined);
  nowMs = 0.25;
  await turns.pause();
  assert.equal(others, 1);
  // The next turn begins when the work continues.
  assert.equal(turns.pause(), undefined);
});
