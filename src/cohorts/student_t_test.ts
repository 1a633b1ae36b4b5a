import assert from "@std/assert";
import { studentT975 } from "./student_t.ts";

/** Printed tables of Student's t (97.5 %), to the digits that they give. */
const table: readonly [freedom: number, t: number][] = [
  [1, 12.7062],
  [2, 4.3027],
  [3, 3.1824],
  [4, 2.7764],
  [5, 2.5706],
  [9, 2.2622],
  [10, 2.2281],
  [15, 2.1314],
  [29, 2.0452],
  [30, 2.0423],
  [60, 2.0003],
  [120, 1.9799],
  [1000, 1.9623],
];

Deno.test("quantiles agree with the printed table of Student's t", () => {
  for (const [freedom, t] of table) {
    assert.ok(Math.abs(studentT975(freedom) - t) < 0.00006, `${freedom}: ${studentT975(freedom)}`);
  }
});

Deno.test("with one and two degrees of freedom the closed forms are met to nine digits", () => {
  // The Cauchy distribution's tan(0.475 π), and 2a/√(2(1−a²)) with a = 0.95.
  assert.ok(Math.abs(studentT975(1) - Math.tan(0.475 * Math.PI)) < 1e-8);
  assert.ok(Math.abs(studentT975(2) - 0.95 * Math.sqrt(2 / (1 - 0.95 ** 2))) < 1e-9);
});

Deno.test("broken degrees of freedom lie between the whole ones, large ones near the normal", () => {
  for (const freedom of [1, 2, 7, 28, 500]) {
    assert.ok(studentT975(freedom) > studentT975(freedom + 0.5));
    assert.ok(studentT975(freedom + 0.5) > studentT975(freedom + 1));
  }
  assert.ok(Math.abs(studentT975(1e5) - 1.95998769) < 1e-6);
  assert.equal(studentT975(1e7), 1.959963984540054);
  assert.ok(studentT975(0.3) > 1000);
});
