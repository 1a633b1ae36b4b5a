import assert from "@std/assert";
import { createLog } from "../base/log.ts";
import { readMeasures } from "../shared/metrics.ts";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import type { Message } from "./channel.ts";
import { type WorkerEvents, WorkerGroup, type WorkerGroupDeps } from "./worker_group.ts";

/** A worker that is made of messages. */
class FakeWorker {
  readonly got: Message[] = [];
  isKilled = false;

  constructor(
    readonly index: number,
    readonly greets: boolean,
    readonly events: WorkerEvents,
    readonly pid: number,
  ) {}

  send(message: Message): void {
    this.got.push(message);
  }

  kill(): void {
    this.isKilled = true;
  }

  ready(): void {
    this.events.message({ notice: { kind: "ready", address: "http://127.0.0.1:1" } });
  }

  end(code: number | null, signal: string | null = null): void {
    this.events.ended({ code, signal });
  }

  /** Answers the last question that it got. */
  answer(value: unknown): void {
    const asked = this.got.findLast((message) => "question" in message) as { id: number };
    this.events.message({ id: asked.id, value });
  }

  failTo(reason: string): void {
    const asked = this.got.findLast((message) => "question" in message) as { id: number };
    this.events.message({ id: asked.id, failed: { message: reason } });
  }

  ask(id: number, question: string, terms = {}): void {
    this.events.message({ id, question, ...terms });
  }

  answerTo(id: number): Message | undefined {
    return this.got.find((message) => "id" in message && message.id === id);
  }
}

function setup(count: number, more: Partial<WorkerGroupDeps> = {}) {
  const timers = new FakeTimers();
  const spawned: FakeWorker[] = [];
  const lines: string[] = [];
  const group = new WorkerGroup({
    count,
    spawn(index, isFirst, events) {
      const worker = new FakeWorker(index, isFirst, events, 1000 + spawned.length);
      spawned.push(worker);
      return worker;
    },
    ownMetrics: ({ running, restarts }) =>
      readMeasures({
        gateway_workers: { help: "W", read: () => running },
        gateway_worker_restarts_total: { help: "R", kind: "counter", read: () => restarts },
      }),
    clock: timers.clock,
    log: createLog((line) => lines.push(line), () => new Date(0)),
    setTimer: timers.later,
    beat: () => {},
    ...more,
  });
  return { timers, spawned, lines, group };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

/** All workers are ready. */
async function started(count: number, more: Partial<WorkerGroupDeps> = {}) {
  const world = setup(count, more);
  const starting = world.group.start();
  world.spawned[0]!.ready();
  await settle();
  for (const worker of world.spawned.slice(1)) worker.ready();
  assert.equal(await starting, "http://127.0.0.1:1");
  return world;
}

Deno.test("the first worker starts alone and greets; the others start when it is ready", async () => {
  const { spawned, group } = setup(3);
  const starting = group.start();
  await settle();
  assert.deepEqual(spawned.map(({ index, greets }) => [index, greets]), [[1, true]]);
  spawned[0]!.ready();
  await settle();
  assert.deepEqual(spawned.map(({ index, greets }) => [index, greets]), [[1, true], [2, false], [
    3,
    false,
  ]]);
  spawned[1]!.ready();
  spawned[2]!.ready();
  await starting;
});

Deno.test("a worker that ends before it is ready fails the start, and none is started again", async () => {
  for (const failing of [0, 1]) {
    const { spawned, group, timers } = setup(2);
    const starting = group.start();
    if (failing === 1) spawned[0]!.ready();
    await settle();
    spawned[failing]!.end(1);
    await assert.rejects(starting, new RegExp(`worker ${failing + 1} ended`));
    const stopping = group.stop();
    for (const worker of spawned) if (worker !== spawned[failing]) worker.end(0);
    await stopping;
    timers.advance(60_000);
    assert.equal(spawned.length, failing + 1);
  }
});

Deno.test("a worker that ends while the others start fails the start too", async () => {
  const { spawned, group, timers } = setup(2);
  const starting = group.start();
  spawned[0]!.ready();
  await settle();
  spawned[0]!.end(1);
  spawned[1]!.ready();
  await assert.rejects(starting, /worker 1 ended while the others started/);
  timers.advance(1_000);
  assert.equal(spawned.length, 2);
});

Deno.test("a worker that a signal ends during the start is started again, and the start goes on", async () => {
  const { spawned, group, timers, lines } = setup(3);
  const starting = group.start();
  let isOver = false;
  starting.finally(() => isOver = true).catch(() => {});
  spawned[0]!.end(null, "SIGKILL");
  timers.advance(100);
  assert.deepEqual([spawned[1]!.index, spawned[1]!.greets], [1, true]);
  spawned[1]!.ready();
  await settle();
  const [first, second, third] = spawned.slice(1);
  assert.deepEqual([second!.index, third!.index], [2, 3]);
  // Before it is ready, after that, and as somebody asked one worker to end.
  second!.end(null, "SIGKILL");
  third!.ready();
  first!.end(0);
  timers.advance(200);
  assert.deepEqual(spawned.slice(4).map(({ index, greets }) => [index, greets]), [[2, false], [
    1,
    false,
  ]]);
  await settle();
  assert.equal(isOver, false);
  spawned[4]!.ready();
  assert.equal(await starting, "http://127.0.0.1:1");
  const count = (text: string) => lines.filter((line) => line.includes(text)).length;
  assert.equal(count("a worker ended; restarting it"), 3);
  // The first two; the third, which had been ready, is still on its way.
  assert.equal(count("a worker is back"), 2);
});

Deno.test("a start is over when it's stopped while a worker waits to be started again", async () => {
  for (const end of ["stop", "abort"] as const) {
    const { spawned, group, timers } = setup(2);
    const starting = group.start();
    spawned[0]!.end(null, "SIGKILL");
    const ending = group[end]();
    await assert.rejects(starting, /the workers are stopped/);
    await ending;
    timers.advance(60_000);
    assert.equal(spawned.length, 1);
  }
});

Deno.test("an abort kills all and starts none again, of those that had ended before either", async () => {
  const { spawned, group, timers } = await started(3);
  spawned[2]!.end(1);
  group.abort();
  assert.deepEqual(spawned.map(({ isKilled }) => isKilled), [true, true, false]);
  for (const worker of spawned.slice(0, 2)) worker.end(null, "SIGKILL");
  timers.advance(60_000);
  assert.equal(spawned.length, 3);
});

Deno.test("a worker that ends is started again in its place, after growing pauses, and the log says so", async () => {
  const { spawned, group, timers, lines } = await started(2);
  spawned[1]!.end(null, "SIGKILL");
  timers.advance(99);
  assert.equal(spawned.length, 2);
  timers.advance(1);
  assert.deepEqual([spawned[2]!.index, spawned[2]!.greets], [2, false]);
  assert.match(lines.join("\n"), /worker=2 pid=1001 signal=SIGKILL in_ms=100/);
  spawned[2]!.end(1);
  timers.advance(199);
  assert.equal(spawned.length, 3);
  timers.advance(1);
  assert.equal(spawned.length, 4);
  spawned[3]!.ready();
  await settle();
  assert.match(lines.at(-1)!, /a worker is back worker=2 pid=1003/);
  assert.equal(lines.filter((line) => line.includes("a worker is back")).length, 1);
  assert.equal(spawned.filter(({ index }) => index === 1).length, 1, "the other one goes on");
  const stopping = group.stop();
  spawned[0]!.end(0);
  spawned[3]!.end(0);
  assert.equal(await stopping, true);
});

Deno.test("a stop notifies all workers, waits for all, restarts none, and reports an unclean one", async () => {
  const { spawned, group, timers } = await started(3);
  spawned[2]!.end(1);
  let isOver = false;
  const stopping = group.stop().finally(() => isOver = true);
  for (const worker of spawned.slice(0, 2)) {
    assert.deepEqual(worker.got, [{ notice: { kind: "stop" } }]);
  }
  spawned[0]!.end(0);
  await settle();
  assert.equal(isOver, false);
  spawned[1]!.end(1);
  assert.equal(await stopping, false);
  timers.advance(60_000);
  assert.equal(spawned.length, 3);
});

Deno.test("a stop while the first worker starts lets it end and starts no others", async () => {
  const { group, spawned } = setup(2);
  const started = group.start();
  const stopped = group.stop();
  assert.deepEqual(spawned[0]!.got, [{ notice: { kind: "stop" } }]);
  spawned[0]!.ready();
  await assert.rejects(started, /the workers are stopped/);
  spawned[0]!.end(0);
  assert.equal(await stopped, true);
  assert.equal(spawned.length, 1);
});

Deno.test("a worker that becomes ready during a stop doesn't complete the start", async () => {
  const { group, spawned } = setup(2);
  const started = group.start();
  spawned[0]!.ready();
  await settle();
  const stopped = group.stop();
  spawned[1]!.ready();
  await assert.rejects(started, /the workers are stopped/);
  for (const one of spawned) one.end(0);
  assert.equal(await stopped, true);
});

Deno.test("a question goes to the others, and who ends meanwhile is left out", async () => {
  const { spawned } = await started(3);
  spawned[0]!.ask(5, "flush", { accountId: 7, timeoutMs: 50 });
  await settle();
  assert.equal(spawned[0]!.got.length, 0);
  assert.deepEqual(spawned[1]!.got, [
    { id: 1, question: "flush", accountId: 7, timeoutMs: 50 },
  ]);
  spawned[1]!.answer("stored");
  spawned[2]!.end(null, "SIGKILL");
  await settle();
  assert.deepEqual(spawned[0]!.answerTo(5), { id: 5, value: ["stored"] });
});

Deno.test("a failure in another worker reaches the one that asked", async () => {
  const { spawned } = await started(2);
  spawned[0]!.ask(6, "flush");
  await settle();
  spawned[1]!.failTo("the store is away");
  await settle();
  assert.deepEqual(spawned[0]!.answerTo(6), { id: 6, failed: { message: "the store is away" } });
});

Deno.test("metrics of a worker that is busy count as they were last seen", async () => {
  const { spawned, timers } = await started(2);
  const records = async (count: number) =>
    await readMeasures({ gateway_shed_total: { help: "S", kind: "counter", read: () => count } });
  const text = async (id: number, answering: () => void) => {
    spawned[0]!.ask(id, "metrics");
    await settle();
    spawned[0]!.answer(JSON.parse(JSON.stringify(await records(3))));
    answering();
    await settle();
    const answered = spawned[0]!.answerTo(id);
    if (!answered || !("value" in answered)) throw new Error("the metrics are not answered");
    return String(answered.value);
  };
  const other = await records(4);
  const first = await text(11, () => spawned[1]!.answer(JSON.parse(JSON.stringify(other))));
  assert.match(first, /^gateway_shed_total 7$/m);
  assert.match(first, /^gateway_workers 2$/m);
  assert.match(await text(12, () => timers.advance(2_000)), /^gateway_shed_total 7$/m);
});

Deno.test("a worker that says nothing for 30 s is killed; a pause of the machine is none", async () => {
  let beats = 0;
  const { spawned, timers, lines } = await started(2, { beat: () => beats++ });
  for (let at = 0; at < 5; at++) {
    timers.advance(5_000);
    spawned[0]!.events.message({ notice: { kind: "alive" } });
  }
  assert.deepEqual(spawned.map(({ isKilled }) => isKilled), [false, false]);
  timers.advance(10_000);
  assert.deepEqual(spawned.map(({ isKilled }) => isKilled), [false, true]);
  assert.match(lines.join("\n"), /a worker is silent; killing it worker=2/);
  assert.equal(beats, 7);
  // No timer ran for an hour, and then the first that does is the parent's.
  timers.clock.advance(3_600_000);
  timers.advance(5_000);
  assert.equal(spawned[0]!.isKilled, false);
});

Deno.test("a worker that freezes as it starts again is killed, however long one takes that says something", async () => {
  const { spawned, timers } = await started(2);
  const alive = (...workers: number[]) => {
    for (const at of workers) spawned[at]!.events.message({ notice: { kind: "alive" } });
    timers.advance(5_000);
  };
  spawned[1]!.end(1);
  timers.advance(100);
  for (let at = 0; at < 10; at++) alive(0, 2);
  assert.equal(spawned[2]!.isKilled, false);
  for (let at = 0; at < 6; at++) alive(0);
  assert.deepEqual(spawned.map(({ isKilled }) => isKilled), [false, false, true]);
});

Deno.test("a stop kills workers that are frozen, one that starts too, and waits for those that say something", async () => {
  const { spawned, timers, group } = await started(3);
  spawned[2]!.end(1);
  timers.advance(100);
  const stopping = group.stop();
  for (let at = 0; at < 7; at++) {
    spawned[0]!.events.message({ notice: { kind: "alive" } });
    timers.advance(5_000);
  }
  assert.deepEqual(spawned.map(({ isKilled }) => isKilled), [false, true, false, true]);
  for (const at of [1, 3]) spawned[at]!.end(null, "SIGKILL");
  spawned[0]!.end(0);
  assert.equal(await stopping, false);
  assert.equal(timers.pending, 0);
});
