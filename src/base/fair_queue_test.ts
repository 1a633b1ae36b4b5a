import assert from "@std/assert";
import { createFairQueue, type FairQueueOptions } from "./fair_queue.ts";

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

function setUp(options: FairQueueOptions) {
  const queue = createFairQueue(options);
  const order: string[] = [];
  const leaves: (() => void)[] = [];
  const enter = (name: string, signal?: AbortSignal) =>
    queue.enter(name[0]!, signal).then((leave) => {
      order.push(name);
      leaves.push(leave);
    });
  return { queue, order, leaves, enter };
}

Deno.test("keys take turns, each in its own order", async () => {
  const { order, leaves, enter } = setUp({ atOnce: 1, atOncePerKey: 1 });
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) void enter(name);
  await settled();
  while (leaves.length > 0) {
    leaves.shift()!();
    await settled();
  }
  assert.deepEqual(order, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});

Deno.test("one key never has all places, and another is let in past its line", async () => {
  const { queue, order, leaves, enter } = setUp({ atOnce: 2, atOncePerKey: 1 });
  for (const name of ["a1", "a2", "a3", "b1"]) void enter(name);
  await settled();
  assert.deepEqual(order, ["a1", "b1"]);
  leaves[1]!();
  await settled();
  assert.deepEqual([order, queue.inside, queue.waiting], [["a1", "b1"], 1, 2]);
  leaves[0]!();
  leaves[0]!();
  await settled();
  assert.deepEqual(order, ["a1", "b1", "a2"]);
});

Deno.test("beyond the bound of a key nobody waits, while others do", async () => {
  const refused = new Error("refused");
  const { enter, queue, leaves } = setUp({
    atOnce: 1,
    atOncePerKey: 1,
    waitingPerKey: 2,
    refuse: () => refused,
  });
  for (const name of ["a1", "a2", "a3"]) void enter(name);
  await assert.rejects(enter("a4"), refused);
  void enter("b1");
  await settled();
  assert.equal(queue.waiting, 3);
  leaves.shift()!();
  await settled();
  void enter("a5");
  await settled();
  assert.equal(queue.waiting, 3);
});

Deno.test("a caller that leaves the queue is skipped, and a failure returns the turn", async () => {
  const { queue, order, leaves, enter } = setUp({ atOnce: 1, atOncePerKey: 1 });
  const gone = new AbortController();
  void enter("a1");
  const waits = enter("b1", gone.signal);
  void enter("c1");
  gone.abort(new Error("left"));
  await assert.rejects(waits, /left/);
  await assert.rejects(enter("d1", gone.signal), /left/);
  await settled();
  leaves.shift()!();
  await settled();
  assert.deepEqual(order, ["a1", "c1"]);
  leaves.shift()!();
  await assert.rejects(
    queue.run("a", () => Promise.reject(new Error("of the work"))),
    /of the work/,
  );
  assert.equal(await queue.run("a", () => Promise.resolve(1)), 1);
  assert.deepEqual([queue.inside, queue.waiting], [0, 0]);
});

Deno.test("any crowd: never more than allowed, nobody lost, none waits for more than a round", async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = randomOf(seed);
    const options = { atOnce: 1 + random(4), atOncePerKey: 1 + random(3) };
    const queue = createFairQueue(options);
    const keys = ["a", "b", "c", "d", "e"];
    const inside = new Map<string, number>();
    const waits = Array.from({ length: 120 }, async () => {
      // Half of all comes from one key.
      const key = random(2) === 0 ? "a" : keys[random(keys.length)]!;
      for (let rest = random(6); rest > 0; rest--) await Promise.resolve();
      const gone = new AbortController();
      if (random(10) === 0) queueMicrotask(() => gone.abort());
      const run = queue.run(key, async () => {
        inside.set(key, (inside.get(key) ?? 0) + 1);
        const all = [...inside.values()].reduce((sum, one) => sum + one, 0);
        assert(all <= options.atOnce && inside.get(key)! <= options.atOncePerKey, `seed ${seed}`);
        for (let rest = random(8); rest > 0; rest--) await Promise.resolve();
        inside.set(key, inside.get(key)! - 1);
      }, gone.signal);
      await run.catch((thrown) => assert(gone.signal.aborted, String(thrown)));
    });
    await Promise.all(waits);
    assert.deepEqual([queue.inside, queue.waiting], [0, 0], `seed ${seed}`);
  }
});

Deno.test("a key that comes late waits for one turn of each other key at most", async () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = randomOf(seed);
    const { order, leaves, enter } = setUp({ atOnce: 1, atOncePerKey: 1 });
    const others = 1 + random(5);
    for (let key = 0; key < others; key++) {
      for (let at = 0; at < 20; at++) void enter(`${"abcdef"[key]}${at}`);
    }
    for (let turns = random(18); turns > 0; turns--) {
      await settled();
      leaves.shift()!();
    }
    await settled();
    const before = order.length;
    void enter("z");
    while (!order.includes("z")) {
      await settled();
      leaves.shift()!();
    }
    assert(order.length - before <= others + 1, `seed ${seed}`);
  }
});

function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor(state / 65536) % below;
  };
}
