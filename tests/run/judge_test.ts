import assert from "@std/assert";
import { explain, judgeTests } from "./judge.ts";
import type { Ended } from "./processes.ts";

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="9" failures="3" errors="1" time="0.059">
    <testsuite name="./a_test.ts" tests="8" disabled="1" errors="1" failures="3">
        <testcase name="one" classname="./a_test.ts" time="0.000" line="2" col="6">
        </testcase>
        <testcase name="a &amp; &lt;b&gt;" classname="./a_test.ts" time="0.001" line="3" col="6">
            <failure message="Uncaught Error: boom &lt;x&gt;">Error: boom</failure>
        </testcase>
        <testcase name="off" classname="./a_test.ts" time="0.000" line="4" col="6">
            <skipped/>
        </testcase>
        <testcase name="not asked for" classname="./a_test.ts" line="4" col="6">
            <skipped/>
        </testcase>
        <testcase name="steps" classname="./a_test.ts" time="0.002" line="5" col="6">
            <failure message="1 test step failed">1 test step failed.</failure>
        </testcase>
        <testcase name="steps &gt; first" classname="./a_test.ts" time="0.000" line="5" col="43">
        </testcase>
        <testcase name="steps &gt; second" classname="./a_test.ts" time="0.000" line="5" col="73">
            <failure message="Uncaught Error: step boom">Error: step boom</failure>
        </testcase>
        <testcase name="x &gt; y is no step" classname="./a_test.ts" time="0.000" line="9" col="6">
            <error message="Cancelled"/>
        </testcase>
    </testsuite>
</testsuites>`;

const passing = `<testsuites><testsuite name="./a_test.ts" tests="1">
        <testcase name="one" classname="./a_test.ts" time="0.000"></testcase>
    </testsuite></testsuites>`;

function ended(code: number, output = ""): Ended {
  return { ok: code === 0, code, timedOut: false, output, seconds: 1, cpuSeconds: 1 };
}

Deno.test("tests are counted without their steps and without what a filter left out", () => {
  const outcome = judgeTests("unit", ["a_test.ts"], ended(1), report);
  assert.deepEqual([outcome.passed, outcome.failed, outcome.skipped], [1, 3, 1]);
  assert.deepEqual(outcome.notes, [
    "failed a_test.ts: a & <b>",
    "failed a_test.ts: steps",
    "failed a_test.ts: x > y is no step",
    "skipped a_test.ts: off",
  ]);
});

Deno.test("a run that passes has nothing to explain", () => {
  const outcome = judgeTests("unit", ["a_test.ts"], ended(0, "long output"), passing);
  assert.deepEqual([outcome.passed, outcome.failed, outcome.skipped], [1, 0, 0]);
  assert.deepEqual([outcome.notes, outcome.details], [[], ""]);
});

Deno.test("a file that throws at import is a failure though the report leaves it out", () => {
  const output = " ERRORS \n\nboom\n\n FAILURES \n\n./b_test.ts (uncaught error)\n";
  const outcome = judgeTests("unit", ["a_test.ts", "b_test.ts"], ended(1, output), passing);
  assert.deepEqual(outcome.notes, ["failed b_test.ts failed outside a test"]);
  assert.equal(outcome.details, " ERRORS \n\nboom");
});

Deno.test("a file that registers no test is a failure", () => {
  const outcome = judgeTests("unit", ["a_test.ts", "b_test.ts"], ended(0), passing);
  assert.deepEqual(outcome.notes, ["failed b_test.ts: registers no test"]);
});

Deno.test("a file of whose tests a filter leaves none is no failure, unless it throws at import", () => {
  const files = ["a_test.ts", "b_test.ts"];
  const found = judgeTests("unit", files, ended(0), passing, { isFiltered: true });
  assert.deepEqual([found.passed, found.notes], [1, []]);
  const output = " ERRORS \n\nboom\n\n FAILURES \n\n./b_test.ts (uncaught error)\n";
  const broken = judgeTests("unit", files, ended(1, output), passing, { isFiltered: true });
  assert.deepEqual(broken.notes, ["failed b_test.ts failed outside a test"]);
});

Deno.test("a run that dies without a word is a failure", () => {
  const died = judgeTests("unit", ["a_test.ts"], ended(139, "panicked"), "");
  assert.equal(died.failed, 1);
  assert.match(died.notes[0] ?? "", /exited with 139/);
  assert.equal(died.details, "panicked");
});

Deno.test("a run that hangs names the tests that it was waiting for", () => {
  const output = "\nSIGINT The following tests were pending:\n\nwaits => ./a_test.ts:2:6\n\n";
  const hung = judgeTests("unit", ["a_test.ts"], { ...ended(130, output), timedOut: true }, "");
  assert.deepEqual(hung.notes, ["failed a_test.ts: waits (hung)", "failed unit: no end in time"]);
});

Deno.test("what failed tests printed is shown, what others printed is not", () => {
  const output = [
    "bad ...",
    "------- post-test output -------",
    "from bad",
    "----- post-test output end -----",
    "bad ... FAILED (1ms)",
    "good ...",
    "------- output -------",
    "from good",
    "----- output end -----",
    "good ... ok (1ms)",
    "",
    " ERRORS ",
    "",
    "bad => ./a_test.ts:1:6",
    "",
    " FAILURES ",
    "",
    "FAILED | 1 passed | 1 failed (58ms)",
  ].join("\n");
  assert.equal(
    explain(output),
    "printed by bad:\nfrom bad\n\n ERRORS \n\nbad => ./a_test.ts:1:6",
  );
});

Deno.test("a file whose tests a helper registers has spoken, in both forms of output", () => {
  const files = ["a_test.ts", "b_test.ts", "c_test.ts"];
  for (const output of ["running 2 tests from ./b_test.ts\n", "./b_test.ts => works ... ok\n"]) {
    const outcome = judgeTests("x", files, ended(0, output), passing);
    assert.deepEqual(outcome.notes, ["failed c_test.ts: registers no test"]);
  }
});
