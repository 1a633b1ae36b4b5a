import assert from "@std/assert";
import { type Outcome, outcomeLine, requireMatch, total, totalsLine } from "./outcome.ts";

function outcome(passed: number, failed: number, skipped: number): Outcome {
  return { name: "unit", passed, failed, skipped, seconds: 1.25, notes: [], details: "" };
}

Deno.test("the last line has counts only, and skips only when there are some", () => {
  assert.equal(
    totalsLine(total([outcome(3, 0, 0), outcome(1, 2, 0)], false)),
    "4 passed, 2 failed",
  );
  assert.equal(totalsLine(total([outcome(3, 0, 1)], false)), "3 passed, 0 failed, 1 skipped");
});

Deno.test("in CI a skip counts as a failure", () => {
  assert.equal(totalsLine(total([outcome(3, 0, 2)], true)), "3 passed, 2 failed");
});

Deno.test("a run of chosen tests in which no test fits is a failure", () => {
  assert.throws(() => requireMatch([outcome(0, 0, 0), outcome(0, 0, 0)]), /No test fits/);
  for (const one of [outcome(1, 0, 0), outcome(0, 1, 0), outcome(0, 0, 1)]) {
    requireMatch([outcome(0, 0, 0), one]);
  }
});

Deno.test("a step's line says how it ended", () => {
  assert.equal(outcomeLine(outcome(1, 0, 0)), "unit          ok         1.3 s");
  assert.equal(
    outcomeLine({ ...outcome(1, 0, 0), cpuSeconds: 2.6 }),
    "unit          ok         1.3 s      3 CPU s",
  );
  assert.match(outcomeLine(outcome(2, 1, 0)), /FAILED.*2 passed, 1 failed$/);
  assert.match(outcomeLine(outcome(0, 0, 1)), /skipped/);
});
