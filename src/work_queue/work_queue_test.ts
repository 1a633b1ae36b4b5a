import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { WorkQueue, type WorkQueueOptions } from "./work_queue.ts";

/** A store with so many pieces of work, and what becomes of each. */
function setUp(waiting: string[], more: Partial<WorkQueueOptions<string>> = {}) {
  const log: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const lost = new Set<string>();
  const queue = new WorkQueue<string>({
    idOf: (id) => id,
    room: (working) => 2 - working.length,
    claim: (most) => {
      assert.ok(most > 0, "the store isn't asked for nothing");
      return Promise.resolve(waiting.splice(0, 1));
    },
    renew: (working) => {
      assert.ok(working.length > 0, "the store isn't asked about nothing");
      return Promise.resolve(new Set(working.filter((id) => !lost.has(id))));
    },
    work: async (id, { signal }) => {
      const end = Promise.withResolvers<void>();
      ends.set(id, end);
      signal.addEventListener("abort", () => end.resolve());
      if (signal.aborted) end.resolve();
      await end.promise;
      log.push(`${id} ${signal.aborted ? "given back" : "done"}`);
    },
    claimsAfterEach: true,
    ...more,
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  return { queue, log, ends, lost, settle };
}

Deno.test("as many pieces are claimed as there is room for, the next when one ends", async () => {
  const { queue, log, ends, settle } = setUp(["a", "b", "c"]);
  await queue.tick();
  assert.deepEqual(queue.working, ["a", "b"]);
  ends.get("a")!.resolve();
  await settle();
  assert.deepEqual([log, queue.working], [["a done"], ["b", "c"]]);
  await queue.close(1000);
});

Deno.test("after a failure the next claim waits for the tick", async () => {
  const { queue, ends, settle } = setUp(["a", "b", "c"]);
  await queue.tick();
  ends.get("a")!.reject(new Error("the store is away"));
  await settle();
  assert.deepEqual(queue.working, ["b"]);
  await queue.tick();
  assert.deepEqual(queue.working, ["b", "c"]);
  await queue.close(1000);
});

Deno.test("a claim that fails is made again by the next tick", async () => {
  let isAway = true;
  const waiting = ["a"];
  const { queue, settle } = setUp([], {
    claim: () => isAway ? Promise.reject(new Error("away")) : Promise.resolve(waiting.splice(0)),
  });
  queue.wake();
  await settle();
  await assert.rejects(queue.tick(), /away/);
  isAway = false;
  await queue.tick();
  assert.deepEqual(queue.working, ["a"]);
  await queue.close(1000);
});

Deno.test("while the store hangs at a claim, what this process works on is renewed", async () => {
  const timers = new FakeTimers();
  let claims = 0;
  const { queue, lost, settle } = setUp([], {
    claim: () => ++claims === 1 ? Promise.resolve(["a"]) : new Promise(() => {}),
    setTimer: timers.later,
  });
  const ticked = queue.tick();
  await settle();
  timers.advance(5_000);
  await ticked;
  lost.add("a");
  void queue.tick();
  await settle();
  assert.deepEqual([queue.working, claims], [[], 2]);
});

Deno.test("an end waits no longer than it may for a claim at which the store hangs", async () => {
  for (const isDrain of [false, true]) {
    const timers = new FakeTimers();
    const hung = Promise.withResolvers<string[]>();
    let claims = 0;
    const { queue, log, ends, settle } = setUp([], {
      claim: () => ++claims === 1 ? Promise.resolve(["a"]) : hung.promise,
      setTimer: timers.later,
    });
    queue.wake();
    await settle();
    let hasEnded = false;
    void (isDrain ? queue.drain(1000) : queue.close(1000)).then(() => hasEnded = true);
    if (isDrain) ends.get("a")!.resolve();
    await settle();
    assert.deepEqual([log, hasEnded], [[isDrain ? "a done" : "a given back"], false]);
    timers.advance(1000);
    await settle();
    assert.ok(hasEnded);
    hung.resolve(["late"]);
    await settle();
    assert.deepEqual([log.at(-1), queue.size, claims], ["late given back", 0, 2]);
  }
});

Deno.test("where the next piece waits for the tick, an end claims nothing", async () => {
  const { queue, ends, settle } = setUp(["a", "b", "c"], { claimsAfterEach: false });
  await queue.tick();
  ends.get("a")!.resolve();
  await settle();
  assert.deepEqual(queue.working, ["b"]);
  await queue.close(1000);
});

Deno.test("a piece that is stopped ends alone, and its end can be waited for", async () => {
  const { queue, log } = setUp(["a", "b"]);
  await queue.tick();
  queue.stop("a");
  await queue.endOf("a");
  assert.deepEqual([log, queue.working], [["a given back"], ["b"]]);
  queue.stop("a");
  assert.deepEqual([queue.endOf("a"), queue.find("a"), queue.find("b")], [
    ...[undefined, undefined],
    "b",
  ]);
  await queue.close(1000);
});

Deno.test("one claim is under way at a time, and one more after those that came meanwhile", async () => {
  const gates: PromiseWithResolvers<string[]>[] = [];
  const { queue } = setUp([], {
    claim: () => {
      const gate = Promise.withResolvers<string[]>();
      gates.push(gate);
      return gate.promise;
    },
  });
  const asked = [queue.claim(), queue.claim(), queue.claim()];
  assert.equal(gates.length, 1);
  gates[0]!.resolve([]);
  while (gates.length < 2) await Promise.resolve();
  gates[1]!.resolve([]);
  await Promise.all(asked);
  assert.equal(gates.length, 2);
});

Deno.test("what is added while it claims is claimed too", async () => {
  const waiting: string[] = [];
  const { queue } = setUp(waiting);
  const first = queue.claim();
  waiting.push("late");
  await Promise.all([first, queue.claim()]);
  assert.deepEqual(queue.working, ["late"]);
  await queue.close(1000);
});

Deno.test("a piece whose claim is lost is stopped, and others go on", async () => {
  const { queue, log, lost, settle } = setUp(["a", "b"]);
  await queue.tick();
  lost.add("a");
  await queue.tick();
  await settle();
  assert.deepEqual([log, queue.working], [["a given back"], ["b"]]);
  await queue.close(1000);
});

Deno.test("a queue that closes gives back what it works on, and what is added then", async () => {
  const { queue, log } = setUp(["a", "b", "c"]);
  await queue.tick();
  await queue.close(1000);
  assert.deepEqual(log, ["a given back", "b given back"]);
  await queue.add("added");
  await queue.tick();
  assert.deepEqual([log.at(-1), queue.size], ["added given back", 0]);
});

Deno.test("draining claims nothing more, and waits no longer than it may", async () => {
  const { queue, log, ends, settle } = setUp(["a", "b", "c"]);
  await queue.tick();
  ends.get("a")!.resolve();
  await queue.drain(20);
  assert.deepEqual([log, queue.working], [["a done"], ["b"]]);
  ends.get("b")!.resolve();
  await settle();
  assert.equal(queue.size, 0);
});

Deno.test("draining waits for all work, also where the claim under way fails", async () => {
  const second = Promise.withResolvers<string[]>();
  const claims = [Promise.resolve(["a", "b"]), second.promise];
  const { queue, log, ends, settle } = setUp([], {
    room: () => 1,
    claim: () => claims.shift()!,
  });
  queue.wake();
  await settle();
  const drained = queue.drain(Infinity).then(() => log.push("drained"));
  second.reject(new Error("away"));
  await settle();
  for (const id of ["a", "b"]) {
    ends.get(id)!.resolve();
    await settle();
  }
  await drained;
  assert.deepEqual(log, ["a done", "b done", "drained"]);
});

for (const end of ["close", "drain"] as const) {
  Deno.test(`${end} waits for a claim under way, until its work is given back in the store`, async () => {
    const claimed = Promise.withResolvers<string[]>();
    const written = Promise.withResolvers<void>();
    const log: string[] = [];
    let claims = 0;
    const queue = new WorkQueue<string>({
      idOf: (id) => id,
      room: () => 1,
      claim: () => ++claims === 1 ? claimed.promise : Promise.resolve(["never"]),
      renew: () => Promise.resolve(new Set()),
      work: async (id, { signal }) => {
        assert.equal(signal.aborted, true);
        await written.promise;
        log.push(`${id} given back`);
      },
      claimsAfterEach: true,
    });
    queue.wake();
    const ended = queue[end](Infinity).then(() => log.push("ended"));
    claimed.resolve(["late"]);
    await new Promise((resolve) => setTimeout(resolve, 0));
    written.resolve();
    await ended;
    await queue.claim();
    assert.deepEqual([log, claims], [["late given back", "ended"], 1]);
  });
}
