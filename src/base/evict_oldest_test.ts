import assert from "@std/assert";
import { evictOldest } from "./evict_oldest.ts";

Deno.test("a map that holds too much loses a hundredth of it, what was added first", () => {
  const map = new Map(Array.from({ length: 300 }, (_, nth) => [`key ${nth}`, nth]));
  const evicted: number[] = [];
  evictOldest(map, 300, (value) => evicted.push(value));
  assert.equal(map.size, 300);
  map.set("key 0", 0);
  map.set("one more", 300);
  evictOldest(map, 300, (value) => evicted.push(value));
  assert.deepEqual(evicted, [0, 1, 2]);
  assert.equal(map.size, 298);
  const few = new Map([["a", 1], ["b", 2], ["c", 3]]);
  evictOldest(few, 2);
  assert.deepEqual([...few.keys()], ["b", "c"]);
});
