import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import type {
  CachedAnswer,
  CachedAnswerStore,
  CacheQuery,
  StoredCachedAnswer,
} from "./cached_answer.ts";
import { type CacheFill, type CacheFinding, ResponseCache } from "./response_cache.ts";

const call = {
  accountId: 1,
  transactionId: "t1",
  createdAt: new Date(0),
  sessionId: null,
  userId: null,
};

function answerOf(text: string): CachedAnswer {
  return {
    status: 200,
    headers: {},
    body: new TextEncoder().encode(text),
    streamed: false,
    ...{ vendor: "vendor-b", model: "m", finishReason: "stop", losses: [] },
  };
}

/** A store whose reads and writes the test can hold, refuse and count. */
class FakeAnswers implements CachedAnswerStore {
  readonly answers = new Map<string, StoredCachedAnswer>();
  readonly trimmed: number[] = [];
  readonly removed: [number, string][] = [];
  reads = 0;
  sweeps = 0;
  isAway = false;
  /** An error of its own, which may quote an answer. */
  isBroken = false;
  isErased = false;
  held: Promise<void> = Promise.resolve();

  async find({ key }: { key: string }): Promise<StoredCachedAnswer | undefined> {
    this.reads++;
    this.#fail();
    const found = this.answers.get(key);
    await this.held;
    return found;
  }

  async put({ key }: { key: string }, _call: unknown, answer: CachedAnswer): Promise<boolean> {
    await Promise.resolve();
    this.#fail();
    if (this.isErased) return false;
    this.answers.set(key, { ...answer, ageSeconds: 0 });
    return true;
  }

  #fail(): void {
    if (this.isAway) throw new Fault("store_unavailable");
    if (this.isBroken) throw new RangeError("the answer was: secret");
  }

  remove(accountId: number, transactionId: string): Promise<number> {
    this.removed.push([accountId, transactionId]);
    return Promise.resolve(0);
  }

  trim(accountId: number): Promise<number> {
    this.trimmed.push(accountId);
    return Promise.resolve(0);
  }

  sweep(): Promise<number> {
    this.sweeps++;
    return Promise.resolve(0);
  }
}

function setUp(isErased = () => false) {
  const store = new FakeAnswers();
  const timers = new FakeTimers();
  const warned: string[] = [];
  const cache = new ResponseCache({
    store,
    isErased,
    setTimer: timers.later,
    log: {
      warn: (message, { reason } = {}) => void warned.push(`${message}: ${reason}`),
      error() {},
    },
  });
  return { store, timers, cache, warned };
}

function query(more: Partial<CacheQuery> = {}): CacheQuery {
  return {
    key: "k",
    accountId: 1,
    ttlSeconds: 60,
    signal: new AbortController().signal,
    ...more,
  };
}

/** Everything that can go on without the test has gone on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

function fillOf(finding: CacheFinding): CacheFill {
  return finding.state === "miss" ? finding.fill : assert.fail(finding.state);
}

function textOf(finding: CacheFinding): string {
  return finding.state === "hit"
    ? new TextDecoder().decode(finding.answer.body)
    : assert.fail(finding.state);
}

Deno.test("of fifty equal calls one asks the vendor, and the others get its answer", async () => {
  const { cache } = setUp();
  const calls = Array.from({ length: 50 }, () => cache.find(query()));
  const fill = fillOf(await Promise.race(calls));
  await settle();
  fill.store(call, answerOf("yes"));
  const findings = await Promise.all(calls);
  assert.equal(findings.filter(({ state }) => state === "miss").length, 1);
  const texts = findings.filter(({ state }) => state === "hit").map(textOf);
  assert.deepEqual(texts, Array.from({ length: 49 }, () => "yes"));
  assert.equal(textOf(await cache.find(query())), "yes");
});

Deno.test("where the vendor fails the others ask it one after the other", async () => {
  const { cache } = setUp();
  let asking = 0;
  let most = 0;
  let asked = 0;
  const one = async () => {
    const finding = await cache.find(query());
    if (finding.state === "hit") return "hit";
    const fill = fillOf(finding);
    asked++;
    most = Math.max(most, ++asking);
    await settle();
    asking--;
    if (asked === 4) {
      fill.store(call, answerOf("at last"));
      return "answered";
    }
    fill.abandon();
    return "failed";
  };
  const ends = await Promise.all(Array.from({ length: 20 }, one));
  assert.equal(most, 1);
  assert.deepEqual(
    ["failed", "answered", "hit"].map((end) => ends.filter((one) => one === end).length),
    [3, 1, 16],
  );
});

Deno.test("an answer that can't be stored lets those who wait go on at once", async () => {
  const { cache } = setUp();
  const fill = fillOf(await cache.find(query()));
  const waiting = [cache.find(query()), cache.find(query())];
  fill.skip();
  const states = (await Promise.all(waiting)).map(({ state }) => state);
  assert.deepEqual(states, ["miss", "miss"]);
});

Deno.test("a waiting caller that leaves doesn't affect the others", async () => {
  const { cache } = setUp();
  const fill = fillOf(await cache.find(query()));
  const leaving = new AbortController();
  const [left, stays] = [cache.find(query({ signal: leaving.signal })), cache.find(query())];
  await settle();
  leaving.abort();
  assert.equal((await left).state, "left");
  fill.store(call, answerOf("yes"));
  assert.equal(textOf(await stays), "yes");
});

Deno.test("a caller that leaves while the store is read asks no vendor", async () => {
  const { cache, store } = setUp();
  const gate = Promise.withResolvers<void>();
  store.held = gate.promise;
  const leaving = new AbortController();
  const left = cache.find(query({ signal: leaving.signal }));
  leaving.abort();
  gate.resolve();
  assert.equal((await left).state, "left");
});

Deno.test("calls with other keys don't wait", async () => {
  const { cache } = setUp();
  fillOf(await cache.find(query()));
  fillOf(await cache.find(query({ key: "other" })));
});

Deno.test("a read that began before an answer was stored is made again", async () => {
  const { cache, store } = setUp();
  const gate = Promise.withResolvers<void>();
  store.held = gate.promise;
  const [first, second] = [cache.find(query()), cache.find(query())];
  await settle();
  assert.equal(store.reads, 2, "each reads for itself");
  store.held = Promise.resolve();
  const fill = fillOf(await cache.find(query()));
  fill.store(call, answerOf("yes"));
  await settle();
  gate.resolve();
  assert.deepEqual([textOf(await first), textOf(await second)], ["yes", "yes"]);
});

Deno.test("the answer of an erased call is never returned", async () => {
  const { cache, store } = setUp();
  store.isErased = true;
  const fill = fillOf(await cache.find(query()));
  const waiting = cache.find(query());
  fill.store(call, answerOf("erased"));
  fillOf(await waiting);
});

Deno.test("while the store is away calls go on, and those who wait share one answer", async () => {
  const { cache, store } = setUp();
  store.isAway = true;
  const fill = fillOf(await cache.find(query()));
  const waiting = cache.find(query());
  await settle();
  fill.store(call, answerOf("yes"));
  assert.equal(textOf(await waiting), "yes");
  // Nothing of it stays in memory.
  fillOf(await cache.find(query()));
});

Deno.test("a store that fails otherwise is logged by its error's kind, and an answer that it refused isn't shared", async () => {
  const { cache, store, warned } = setUp();
  store.isAway = true;
  fillOf(await cache.find(query({ key: "other" }))).store(call, answerOf("no"));
  await settle();
  assert.deepEqual(warned, [], "being away is no failure of its own");
  store.isAway = false;
  store.isBroken = true;
  const fill = fillOf(await cache.find(query()));
  assert.deepEqual(warned, ["the response cache could not be read: RangeError"]);
  const waiting = cache.find(query());
  await settle();
  fill.store(call, answerOf("secret"));
  await settle();
  assert.equal(warned[1], "an answer could not be stored in the response cache: RangeError");
  fillOf(await waiting);
});

Deno.test("an answer that was erased meanwhile isn't shared while the store is away", async () => {
  let erased = false;
  const { cache, store } = setUp(() => erased);
  store.isAway = true;
  const fill = fillOf(await cache.find(query()));
  const waiting = cache.find(query());
  await settle();
  fill.store(call, answerOf("erased"));
  erased = true;
  fillOf(await waiting);
});

Deno.test("an answer that was removed from the store meanwhile isn't shared", async () => {
  const { cache, store } = setUp();
  const fill = fillOf(await cache.find(query()));
  const waiting = cache.find(query());
  await settle();
  store.answers.set = () => store.answers;
  fill.store(call, answerOf("removed"));
  fillOf(await waiting);
});

Deno.test("what a call stored is forgotten by its account and id", async () => {
  const { cache, store } = setUp();
  await cache.forget(7, "t1");
  assert.deepEqual(store.removed, [[7, "t1"]]);
});

Deno.test("waiting callers get the answer even where the store is too slow to read it", async () => {
  const { cache, store, timers } = setUp();
  const fill = fillOf(await cache.find(query()));
  const waiting = cache.find(query());
  await settle();
  fill.store(call, answerOf("yes"));
  store.held = new Promise(() => {});
  await settle();
  timers.advance(2000);
  assert.equal(textOf(await waiting), "yes");
});

Deno.test("a store that doesn't answer within two seconds is not waited for", async () => {
  const { cache, store, timers } = setUp();
  store.held = new Promise(() => {});
  const finding = cache.find(query());
  await settle();
  timers.advance(1999);
  assert.equal(await Promise.race([finding, settle()]), undefined);
  timers.advance(1);
  fillOf(await finding);
});

Deno.test("what was written for an account is trimmed by the job", async () => {
  const { cache, store } = setUp();
  fillOf(await cache.find(query({ accountId: 7 }))).store(call, answerOf("yes"));
  await cache.drain();
  assert.deepEqual(store.trimmed, []);
  await cache.sweep();
  assert.equal(store.sweeps, 1, "expired answers go too");
  await cache.sweep();
  assert.deepEqual(store.trimmed, [7]);
});

Deno.test("much that is written for an account is trimmed at once", async () => {
  const { cache, store } = setUp();
  for (let index = 0; index < 1000; index++) {
    fillOf(await cache.find(query({ key: `${index}` }))).store(call, answerOf("yes"));
    await cache.drain();
  }
  assert.deepEqual(store.trimmed, [1]);
});

Deno.test("large answers of an account are trimmed once they come to 32 MiB", async () => {
  const { cache, store, warned } = setUp();
  const body = new Uint8Array(8 * 1024 * 1024);
  const write = async (n: number) => {
    const fill = fillOf(await cache.find(query({ key: `k${n}` })));
    fill.store(call, { ...answerOf(""), body, ...(n === 2 ? { record: body } : {}) });
    await cache.drain();
  };
  await write(1);
  await write(2);
  assert.deepEqual(store.trimmed, []);
  await write(3);
  assert.deepEqual(store.trimmed, [1], "what records hold counts too");
  await write(4);
  assert.deepEqual(store.trimmed, [1], "counted from zero");
  store.trim = () => Promise.reject(new RangeError("secret"));
  for (const n of [5, 6, 7]) await write(n);
  assert.deepEqual(warned, ["the response cache could not be trimmed: RangeError"]);
});

Deno.test("an answer at which the store hangs holds up the end of the process for five seconds at most", async () => {
  const { cache, store, timers } = setUp();
  store.put = () => new Promise(() => {});
  fillOf(await cache.find(query())).store(call, answerOf("yes"));
  const drained = cache.drain();
  timers.advance(5_000);
  await drained;
});

Deno.test("only the first outcome that a call reports counts", async () => {
  const { cache } = setUp();
  const fill = fillOf(await cache.find(query()));
  fill.abandon();
  const next = fillOf(await cache.find(query()));
  fill.store(call, answerOf("late"));
  fill.skip();
  await cache.drain();
  const waiting = cache.find(query());
  await settle();
  next.store(call, answerOf("next"));
  assert.equal(textOf(await waiting), "next");
});
