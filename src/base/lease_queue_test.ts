import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { LeaseQueue, LeaseQueues } from "./lease_queue.ts";

/** A store of units that is asked for as many as wait, and answers when it is told to. */
class Units extends LeaseQueue<number, number> {
  free = 0;
  asked: number[][] = [];
  answer = Promise.withResolvers<number>();
  failures: unknown[] = [];
  tries = 0;

  protected serve(units: number): number | undefined {
    this.tries++;
    if (units > this.free) return undefined;
    this.free -= units;
    return units;
  }

  protected next() {
    if (this.waiting.length === 0) return this.isClosing ? this.#giveBack() : undefined;
    return async () => {
      this.asked.push([...this.waiting]);
      this.free += await this.answer.promise;
      this.answer = Promise.withResolvers();
      this.serveWaiters();
      if (this.free === 0) this.refuse((units) => units > 10 ? new Error("too many") : undefined);
    };
  }

  #giveBack() {
    if (this.free === 0) return undefined;
    return () => Promise.resolve(void (this.free = 0));
  }

  protected overdue(): Error {
    return new Error("overdue");
  }

  protected get isUnused(): boolean {
    return this.free === 0;
  }

  protected override onFailure(thrown: unknown): void {
    this.failures.push(thrown);
  }
}

function units({ clock, later } = new FakeTimers()): Units {
  return new Units(clock, later);
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

Deno.test("what the lease covers is served from memory, what comes behind waiting ones waits", async () => {
  const queue = units();
  queue.free = 3;
  assert.equal(await queue.request(2), 2);
  const order: number[] = [];
  const waiting = [5, 1].map((units) => queue.request(units).then((one) => order.push(one)));
  await turns();
  assert.deepEqual([queue.asked, order], [[[5]], []]);
  queue.answer.resolve(9);
  await Promise.all(waiting);
  assert.deepEqual([order, queue.asked.length, queue.free], [[5, 1], 1, 4]);
});

Deno.test("one operation at a time; who came meanwhile is in the next", async () => {
  const queue = units();
  const all = [queue.request(1), queue.request(2), queue.request(3)];
  await turns();
  assert.deepEqual(queue.asked, [[1]]);
  queue.answer.resolve(1);
  await turns();
  assert.deepEqual(queue.asked, [[1], [2, 3]]);
  queue.answer.resolve(5);
  assert.deepEqual(await Promise.all(all), [1, 2, 3]);
});

Deno.test("refused ones leave the queue, the others go on waiting", async () => {
  const queue = units();
  const large = queue.request(11);
  const small = queue.request(1);
  await turns();
  queue.answer.resolve(0);
  await assert.rejects(large, /too many/);
  assert.deepEqual(queue.asked, [[11], [1]]);
  queue.answer.resolve(1);
  assert.equal(await small, 1);
});

Deno.test("behind a slow store requests are served as soon as the lease covers them", async () => {
  const timers = new FakeTimers();
  const queue = units(timers);
  const order: number[] = [];
  const waiting = [9, 1, 5].map((units) => queue.request(units).then((one) => order.push(one)));
  queue.free = 1;
  timers.advance(499);
  await turns();
  assert.deepEqual(order, []);
  timers.advance(1);
  await turns();
  assert.deepEqual(order, [1]);
  queue.free = 5;
  timers.advance(50);
  await turns();
  assert.deepEqual(order, [1, 5]);
  queue.answer.resolve(9);
  await Promise.all(waiting);
  assert.deepEqual([order, timers.pending], [[1, 5, 9], 0]);
  // It has answered: who waits comes first again.
  const behind = [9, 1].map((units) => queue.request(units).then((one) => order.push(one)));
  queue.free = 1;
  behind.push(queue.request(1).then((one) => order.push(one)));
  await turns();
  assert.equal(order.length, 3);
  queue.answer.resolve(11);
  await Promise.all(behind);
});

Deno.test("behind a store that doesn't answer, only what the lease covers goes on", async () => {
  const timers = new FakeTimers();
  const queue = units(timers);
  const early = queue.request(9);
  timers.advance(9_999);
  const late = queue.request(1);
  timers.advance(100);
  for (const request of [early, late]) await assert.rejects(request, /overdue/);
  queue.free = 1;
  assert.equal(await queue.request(1), 1);
  const next = queue.request(2);
  queue.answer.resolve(3);
  assert.equal(await next, 2);
  assert.deepEqual([queue.asked, queue.free, timers.pending], [[[9]], 1, 0]);
});

Deno.test("behind a slow store a request costs the same however many wait", async () => {
  const timers = new FakeTimers();
  const queue = units(timers);
  const waiting = Promise.all(Array.from({ length: 1000 }, () => queue.request(1)));
  timers.advance(500);
  queue.tries = 0;
  for (let round = 0; round < 1000; round++) {
    queue.free = 1;
    await queue.request(1);
    // As at the end of a call, whose credit is free again.
    void queue.work();
  }
  assert.equal(queue.tries, 1000);
  queue.answer.resolve(1000);
  await waiting;
});

Deno.test("after a failure who can be served still is, the others fail, and the next one asks again", async () => {
  const queue = units();
  const all = Promise.allSettled([queue.request(7), queue.request(2)]);
  await turns();
  queue.free = 3;
  queue.answer.reject(new Error("away"));
  const [first, second] = await all;
  assert.equal(first.status === "rejected" && first.reason.message, "away");
  assert.equal(second.status === "fulfilled" && second.value, 2);
  assert.equal(queue.failures.length, 1);
  queue.answer = Promise.withResolvers();
  const again = queue.request(4);
  await turns();
  queue.answer.resolve(3);
  assert.equal(await again, 4);
  const last = queue.request(9);
  queue.free = 2;
  const closed = queue.close();
  queue.answer.reject(new Error("away"));
  await assert.rejects(last, /away/);
  await closed;
  assert.equal(queue.free, 0, "what is left is returned all the same");
});

Deno.test("each key has its own queue, which is removed when it is empty; leases are returned at the end", async () => {
  const queues = new LeaseQueues<string, Units>();
  const [one, two] = [queues.of("one", () => units()), queues.of("two", () => units())];
  assert.equal(queues.of("one", () => units()), one);
  one.free = 5;
  const waiting = two.request(1);
  queues.forgetUnused();
  assert.deepEqual([...queues.values()], [one, two]);
  two.answer.resolve(1);
  assert.equal(await waiting, 1);
  await turns();
  queues.forgetUnused();
  assert.deepEqual([...queues], [["one", one]]);
  await queues.close();
  const late = queues.of("late", () => Object.assign(units(), { free: 1 }));
  await turns();
  assert.deepEqual([one.free, late.free], [0, 0]);
});
