import assert from "@std/assert";
import { createValueGate } from "./value_gate.ts";

function gateOf(capacity: number) {
  const timers = new Map<number, () => void>();
  let next = 0;
  const gate = createValueGate(capacity, (_ms, run) => {
    const id = next++;
    timers.set(id, run);
    return () => void timers.delete(id);
  });
  const order: string[] = [];
  const enter = async (name: string, bytes: number, key = "a", signal?: AbortSignal) => {
    const release = await gate.enter(bytes, { key, ...(signal ? { signal } : {}) });
    order.push(name);
    return release;
  };
  const expire = () => [...timers.values()].forEach((run) => run());
  return { gate, order, enter, expire, timers };
}

const settled = () => new Promise<void>((resolve) => queueMicrotask(() => setTimeout(resolve, 0)));

Deno.test("what fits goes in at once, the rest in its order as room comes back", async () => {
  const { gate, order, enter } = gateOf(10);
  const first = await enter("first", 6);
  void enter("second", 6);
  void enter("third", 1);
  await settled();
  // The third would fit, but a large one must not wait for ever behind small ones.
  assert.deepEqual(order, ["first"]);
  first();
  first();
  await settled();
  assert.deepEqual(order, ["first", "second", "third"]);
  assert.equal(gate.inside, 7);
});

Deno.test("callers take turns: one caller's crowd doesn't hold up another", async () => {
  const { order, enter } = gateOf(1);
  const releases = [await enter("a1", 1, "a")];
  for (const [name, key] of [["a2", "a"], ["a3", "a"], ["a4", "a"], ["b1", "b"], ["b2", "b"]]) {
    void enter(name!, 1, key!).then((release) => releases.push(release));
  }
  while (releases.length > 0) {
    releases.shift()!();
    await settled();
  }
  assert.deepEqual(order, ["a1", "a2", "b1", "a3", "b2", "a4"]);
});

Deno.test("more than the whole room goes in alone", async () => {
  const { gate, order, enter } = gateOf(10);
  const small = await enter("small", 1);
  void enter("huge", 1000);
  await settled();
  assert.deepEqual(order, ["small"]);
  small();
  await settled();
  assert.deepEqual(order, ["small", "huge"]);
  assert.equal(gate.inside, 10);
});

Deno.test("a caller that leaves the queue frees its place, and a place held too long goes to others", async () => {
  const { gate, order, enter, expire, timers } = gateOf(10);
  await enter("holder", 10);
  const leaving = new AbortController();
  const left = enter("left", 10, "b", leaving.signal);
  void enter("next", 5, "c");
  leaving.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
  await assert.rejects(enter("late", 1, "d", leaving.signal), /gone/);
  expire();
  await settled();
  assert.deepEqual(order, ["holder", "next"]);
  assert.equal(gate.inside, 5);
  expire();
  assert.equal(gate.inside, 0);
  assert.equal(timers.size, 0);
});
