import assert from "@std/assert";
import { createHeavyWork } from "../base/heavy_work.ts";
import { createValueGate } from "../base/value_gate.ts";
import { rereadRequest } from "./reread_request.ts";

Deno.test("a stored request waits for its turn however long that takes", async () => {
  // Timers run in the order in which they are set, so a caller with a timeout is too late.
  const work = createHeavyWork({
    tooLate: () => new Error("too late"),
    setTimer: (_ms, run) => (queueMicrotask(run), () => {}),
  });
  const room = createValueGate(1_000_000, () => () => {});
  const request = { input: "word ".repeat(20_000), items: Array(6_000).fill(0) };
  const { value, step } = await rereadRequest({ work, room }, JSON.stringify(request), 1);
  assert.deepEqual(value, request);
  assert.equal(await step(() => "done"), "done");
});

Deno.test("a stored request is read whole, though counted again it would be refused", async () => {
  const work = createHeavyWork({
    tooLate: () => new Error("too late"),
    setTimer: (_ms, run) => (queueMicrotask(run), () => {}),
  });
  const room = createValueGate(1_000_000, () => () => {});
  const request = { model: "m", input: "word ".repeat(220_000) };
  const text = JSON.stringify(request).replace(",", "," + " ".repeat(300_000));
  const { value } = await rereadRequest({ work, room }, text, 1);
  assert.deepEqual(value, request);
});
