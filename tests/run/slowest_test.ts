import assert from "@std/assert";
import { slowestFiles, slowestLines } from "./slowest.ts";

const together = `./b_test.ts => with steps ... one step ... inner ... ok (0ms)
./a_test.ts => quick ... ok (457ms)
./b_test.ts => with steps ... one step ... ok (499ms)
./b_test.ts => with steps ... ok (1m5s)
------- post-test output -------
hm
./b_test.ts => fails ...----- post-test output end -----
./b_test.ts => fails ... FAILED (due to 1 failed step) (2s)
./c_test.tsx => off ... ignored (0ms)

FAILED | 2 passed (3 steps) | 1 failed (1m7s)
`;

const oneByOne = `running 2 tests from ./b_test.ts
with steps ...
  one step ...
    inner ... ok (0ms)
  one step ... ok (343ms)
with steps ... ok (344ms)
slow one ... ok (1s)
running 1 test from ./a_test.ts
a ... ok (378ms)

ok | 3 passed (3 steps) | 0 failed (2s)
`;

Deno.test("files are ordered by what their tests took, steps counted once", () => {
  assert.deepEqual(slowestFiles(together, 10), [
    { file: "b_test.ts", seconds: 67 },
    { file: "a_test.ts", seconds: 0.457 },
  ]);
  assert.deepEqual(slowestFiles(oneByOne, 10), [
    { file: "b_test.ts", seconds: 1.344 },
    { file: "a_test.ts", seconds: 0.378 },
  ]);
});

Deno.test("so many are told, a line each", () => {
  assert.equal(slowestLines(slowestFiles(together, 1)), "    67.0 s  b_test.ts");
  assert.equal(slowestLines(slowestFiles("Can't start deno\n", 10)), "");
});
