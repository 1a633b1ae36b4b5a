import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import { Fault } from "../shared/fault.ts";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { FakeReplays } from "../../tests/support/replay_store.ts";
import {
  request,
  seen,
  settle,
  settleDown,
  streamRun,
  type TestProcess,
  testProcess,
  wholeRun,
} from "../../tests/support/repeats.ts";
import type { IdempotentRequest } from "./idempotency.ts";
import type { Reply } from "../relay/reply.ts";

const requestIds = ["r1", "r2"];
const bodies = ["{}", '{"other":1}'];

/** One history: a few processes, requests that come, run, fail, stream, leave, in random order. */
class History {
  readonly random: Random;
  readonly timers = new FakeTimers();
  readonly store = new FakeReplays(this.timers.clock);
  readonly processes: TestProcess[];
  /** Statements and runs under way: each waits until it is let go. */
  readonly waiting: (() => void)[] = [];
  readonly open: Promise<void>[] = [];
  /** Calls that were completed, by request id and body. */
  readonly completed = new Map<string, Set<string>>();
  readonly running = new Map<string, number>();
  calls = 0;
  replays = 0;
  conflicts = 0;
  overlaps = 0;

  constructor(seed: number, readonly withOutages: boolean) {
    this.random = new Random(seed);
    this.store.delay = () => this.pause();
    this.processes = ["a", "b", "c"].map((name) =>
      testProcess({
        store: this.store.for(name),
        clock: this.timers.clock,
        setTimer: this.timers.later,
      })
    );
  }

  pick<T>(items: readonly T[]): T {
    return this.random.pick(items);
  }

  pause(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  async step(): Promise<void> {
    const dice = this.random.next();
    if (dice < 0.3) this.ask();
    else if (dice < 0.8 && this.waiting.length > 0) this.letGo();
    else if (dice < 0.95) this.timers.advance(100);
    else if (this.withOutages) this.store.isAway = !this.store.isAway;
    await settleDown(30);
  }

  letGo(): void {
    const [resolve] = this.waiting.splice(this.random.below(this.waiting.length), 1);
    resolve?.();
  }

  ask(): void {
    const connection = new AbortController();
    const asked = request({
      requestId: this.pick(requestIds),
      bodyText: this.random.next() < 0.85 ? bodies[0]! : bodies[1]!,
      signal: connection.signal,
    });
    if (this.random.next() < 0.1) void this.pause().then(() => connection.abort());
    this.open.push(this.follow(asked));
  }

  async follow(asked: IdempotentRequest): Promise<void> {
    const kind = nameOf(asked);
    try {
      const reply = await this.pick(this.processes).idempotent(asked, () => this.run(asked));
      const answer = await seen(reply).catch(() => undefined);
      if (answer?.replay === undefined) return;
      this.replays++;
      // Only an answer that was completed for this very body is returned again.
      assert.ok(this.completed.get(kind)?.has(answer.transaction!), `${answer.transaction}`);
      assert.equal(answer.text, `answer ${answer.transaction}`);
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      if (thrown.code === "idempotency_conflict") this.conflicts++;
      else assert.equal(thrown.code, "upstream_error");
    }
  }

  async run(asked: IdempotentRequest): Promise<Reply> {
    const id = `t${++this.calls}`;
    const { requestId, trace } = asked;
    const now = (this.running.get(requestId) ?? 0) + 1;
    this.running.set(requestId, now);
    if (now > 1) this.overlaps++;
    let isOver = false;
    const end = () => {
      if (!isOver) this.running.set(requestId, this.running.get(requestId)! - 1);
      isOver = true;
    };
    // The vendor call ends with its caller.
    asked.signal.addEventListener("abort", end);
    await this.pause();
    const dice = this.random.next();
    if (dice < 0.3) {
      end();
      settle(trace, id, "failed");
      throw new Fault("upstream_error");
    }
    if (asked.signal.aborted) {
      end();
      settle(trace, id, "cancelled");
      return { status: 499, headers: {}, body: null };
    }
    if (dice < 0.6) {
      end();
      this.complete(asked, id);
      return wholeRun(trace, id);
    }
    const vendor = streamRun(trace, id);
    vendor.say("answer ");
    void this.pause().then(() => {
      end();
      if (vendor.left || asked.signal.aborted) {
        settle(trace, id, "cancelled");
        if (!vendor.left) vendor.fail(new Error("nobody reads it"));
        return;
      }
      vendor.say(id);
      const isCut = dice > 0.9;
      if (!isCut) this.complete(asked, id);
      vendor.end(isCut ? "truncated" : "completed");
    });
    return vendor.reply;
  }

  complete(asked: IdempotentRequest, id: string): void {
    const kind = nameOf(asked);
    this.completed.set(kind, (this.completed.get(kind) ?? new Set()).add(id));
  }

  /** No new calls arrive, everything that waits continues, the store is available. */
  async finish(): Promise<void> {
    this.store.isAway = false;
    this.store.delay = () => Promise.resolve();
    let isDone = false;
    void Promise.all(this.open).then(() => isDone = true, () => isDone = true);
    for (let turn = 0; turn < 2000 && !isDone; turn++) {
      while (this.waiting.length > 0) this.letGo();
      this.timers.advance(100);
      await settleDown(30);
    }
    await Promise.all(this.open);
    assert.ok(isDone, "somebody waits for ever");
    for (let round = 0; round < 3; round++) {
      // Claims that could not be released have expired.
      this.timers.advance(30_000);
      for (const process of this.processes) await process.maintain();
    }
  }
}

function nameOf({ requestId, bodyText }: IdempotentRequest): string {
  return `${requestId} ${bodyText}`;
}

Deno.test("500 random histories: one call at a time, at most one completed, the same for all", async () => {
  let replays = 0;
  let conflicts = 0;
  for (let seed = 1; seed <= 500; seed++) {
    const history = new History(seed, false);
    for (let step = 0; step < 60; step++) await history.step();
    await history.finish();
    for (const requestId of requestIds) {
      const completed = bodies.flatMap((body) => [
        ...history.completed.get(`${requestId} ${body}`) ?? [],
      ]);
      assert.ok(completed.length <= 1, `seed ${seed}: ${completed.join()}`);
    }
    assert.equal(history.overlaps, 0, `seed ${seed}`);
    assert.deepEqual(history.processes.flatMap(({ complaints }) => complaints), []);
    replays += history.replays;
    conflicts += history.conflicts;
  }
  assert.ok(replays > 500 && conflicts > 500, `${replays} replays, ${conflicts} conflicts`);
});

Deno.test("500 random histories with outages: all agree afterwards, second calls are reported", async () => {
  let reported = 0;
  for (let seed = 1; seed <= 500; seed++) {
    const history = new History(seed, true);
    for (let step = 0; step < 60; step++) await history.step();
    await history.finish();
    assert.deepEqual(history.processes.map(({ unsaved }) => unsaved), [0, 0, 0], `seed ${seed}`);
    const duplicates = history.processes.flatMap(({ duplicates }) => duplicates);
    reported += duplicates.length;
    for (const { transactionId, originalId } of duplicates) {
      const stored = [...history.store.rows.values()].map((row) => row.answer?.transactionId);
      assert.ok(stored.includes(originalId), `seed ${seed}: what is kept stays`);
      assert.ok(!stored.includes(transactionId), `seed ${seed}: what is given back is not kept`);
    }
    for (const [kind, completed] of history.completed) {
      const remembered = [...history.store.rows.values()].flatMap(({ answer }) =>
        answer?.transactionId && completed.has(answer.transactionId) ? [answer.transactionId] : []
      );
      if (remembered.length === 0) continue;
      const given = duplicates.filter(({ transactionId }) => completed.has(transactionId));
      assert.equal(given.length + remembered.length, completed.size, `seed ${seed}: ${kind}`);
    }
  }
  assert.ok(reported > 20, `${reported} reported`);
});
