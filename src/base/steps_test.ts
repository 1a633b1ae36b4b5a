import assert from "@std/assert";
import { finish, includesInSteps } from "./steps.ts";

Deno.test("a mark is found wherever it stands in a long text, which is read in steps", () => {
  const piece = 256 * 1024;
  for (const at of [0, 7, piece - 4, piece - 3, piece - 1, piece, 3 * piece - 4]) {
    const text = `${"x".repeat(at)}mark${"x".repeat(3 * piece - at - 4)}`;
    assert.equal(finish(includesInSteps(text, "mark")), true, String(at));
    assert.equal(finish(includesInSteps(text, "marks")), false);
  }
  assert.equal(finish(includesInSteps("", "mark")), false);
  const steps = includesInSteps("x".repeat(3 * piece), "mark");
  let count = 1;
  while (!steps.next().done) count++;
  assert.equal(count, 3);
  assert.equal(includesInSteps("a short text", "mark").next().done, true);
});
