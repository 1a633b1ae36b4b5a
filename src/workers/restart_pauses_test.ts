import assert from "@std/assert";
import { RestartPauses } from "./restart_pauses.ts";

Deno.test("a worker that ends at each start is started again after growing pauses", () => {
  const pauses = new RestartPauses();
  const taken = Array.from({ length: 11 }, () => pauses.after(500));
  assert.deepEqual(taken.slice(0, 4), [100, 200, 400, 800]);
  assert.deepEqual(taken.slice(-2), [30_000, 30_000]);
});

Deno.test("a worker that has run for a minute is started again at once", () => {
  const pauses = new RestartPauses();
  for (let at = 0; at < 8; at++) pauses.after(500);
  assert.equal(pauses.after(60_000), 100);
  assert.equal(pauses.after(10), 200);
});
