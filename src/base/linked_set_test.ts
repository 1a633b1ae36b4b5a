import assert from "@std/assert";
import { type Link, LinkedSet } from "./linked_set.ts";

Deno.test("values come in the order in which they were added, whichever are taken out", () => {
  const set = new LinkedSet<number>();
  const links = [1, 2, 3, 4, 5].map((value) => set.add(value));
  for (const at of [0, 2, 4]) set.delete(links[at]!);
  assert.deepEqual(set.values(), [2, 4]);
  set.add(6);
  assert.deepEqual([set.values(), set.size], [[2, 4, 6], 3]);
  set.delete(links[1]!);
  set.delete(links[1]!);
  assert.deepEqual([set.values(), set.size, set.first?.value], [[4, 6], 2, 4]);
});

Deno.test("an emptied set is as a new one", () => {
  const set = new LinkedSet<string>();
  for (let times = 0; times < 2; times++) {
    const [a, b] = [set.add("a"), set.add("b")];
    set.delete(b);
    set.delete(a);
    assert.deepEqual([set.values(), set.size, set.first], [[], 0, undefined]);
  }
});

Deno.test("what was taken out leads to nothing that came before or after it", () => {
  const set = new LinkedSet<object>();
  const links: Link<object>[] = [];
  for (let each = 0; each < 100; each++) links.push(set.add({ each }));
  for (const link of links) set.delete(link);
  for (const { previous, next } of links) {
    assert.deepEqual([previous, next], [undefined, undefined]);
  }
});

Deno.test("random additions and removals leave what a Set leaves", () => {
  const set = new LinkedSet<number>();
  const model = new Map<number, Link<number>>();
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let step = 0; step < 5_000; step++) {
    if (random(2) === 0 || model.size === 0) model.set(step, set.add(step));
    else {
      const key = [...model.keys()][random(model.size)]!;
      set.delete(model.get(key)!);
      model.delete(key);
    }
    if (step % 100 === 0) assert.deepEqual(set.values(), [...model.keys()]);
  }
  assert.equal(set.size, model.size);
});
