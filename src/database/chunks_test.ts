import assert from "@std/assert";
import { chunks } from "./chunks.ts";

Deno.test("groups stay within the limit, keep the order and lose nothing", () => {
  const grouped = (sizes: number[]) => [...chunks(sizes, (size) => size, 10)];
  assert.deepEqual(grouped([]), []);
  assert.deepEqual(grouped([4, 6, 1]), [[4, 6], [1]]);
  assert.deepEqual(grouped([11, 1]), [[11], [1]]);
  assert.deepEqual(grouped([1, 11, 1]), [[1], [11], [1]]);
  assert.deepEqual(grouped([0, 0, 10, 0]), [[0, 0, 10, 0]]);
});
