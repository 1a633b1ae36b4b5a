import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import {
  isConflict,
  never,
  request,
  seen,
  settleDown,
  setUpIdempotency,
  testProcess,
  wholeRun,
} from "../../tests/support/repeats.ts";

Deno.test("another process waits by asking, and runs when the first fails", async () => {
  const { one, two, store, pass } = setUpIdempotency(["a", "b"]);
  const first = request();
  const gate = Promise.withResolvers<void>();
  const failed = one.idempotent(
    first,
    () => gate.promise.then(() => Promise.reject(new Fault("upstream_error"))),
  );
  void failed.catch(() => {});
  await settleDown();
  const second = request();
  const repeat = two.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
  await settleDown();
  const before = store.statements;
  await pass(500);
  assert.equal(store.statements - before, 5, "every 100 ms");
  gate.resolve();
  await assert.rejects(failed);
  // It must not claim for a request that doesn't run: it would then wait for its own claim.
  await two.maintain();
  await pass(200);
  assert.equal((await seen(await repeat)).text, "answer t2");
});

Deno.test("of two processes that wait one runs when the first fails, and the other gets its answer", async () => {
  const { one, two, three, pass } = setUpIdempotency(["a", "b", "c"]);
  const gate = Promise.withResolvers<void>();
  const failed = one.idempotent(request(), async () => {
    await gate.promise;
    return { status: 502, headers: {}, body: "failed" };
  });
  let runs = 0;
  const repeats = [two, three].map((process) => {
    const asked = request();
    return process.idempotent(asked, () => {
      runs++;
      return Promise.resolve(wholeRun(asked.trace, "t2"));
    });
  });
  await pass(150);
  gate.resolve();
  await failed;
  await pass(500);
  const answers = await Promise.all(repeats.map(async (repeat) => (await seen(await repeat)).text));
  assert.deepEqual([runs, answers], [1, ["answer t2", "answer t2"]]);
});

Deno.test("a process that dies loses its claim after 30 s, one that lives does not", async () => {
  const { one, two, make, pass } = setUpIdempotency(["a", "b"]);
  for (const lives of [true, false]) {
    const requestId = `lives: ${lives}`;
    const first = request({ requestId });
    const gate = Promise.withResolvers<void>();
    const answer = one.idempotent(first, async () => {
      await gate.promise;
      return wholeRun(first.trace, "t1");
    });
    await settleDown();
    const second = request({ requestId });
    let ran = false;
    const repeat = two.idempotent(second, () => {
      ran = true;
      return Promise.resolve(wholeRun(second.trace, "t2"));
    });
    for (let seconds = 0; seconds < 40; seconds += 10) {
      if (lives) await one.maintain();
      await pass(10_000);
    }
    assert.equal(ran, !lives);
    if (!lives) continue;
    gate.resolve();
    await answer;
    await pass(200);
    assert.equal((await seen(await repeat)).text, "answer t1");
  }
  // Under its own name it need not wait for what it held before it died.
  const dying = request({ requestId: "restart" });
  void one.idempotent(dying, () => new Promise(() => {}));
  await settleDown();
  const restarted = make("a");
  const again = request({ requestId: "restart" });
  const reply = await restarted.idempotent(
    again,
    () => Promise.resolve(wholeRun(again.trace, "t3")),
  );
  assert.equal((await seen(reply)).text, "answer t3");
});

Deno.test("while the store is away a process repeats what it knows, and stores it afterwards", async () => {
  const { one, two, store } = setUpIdempotency(["a", "b"]);
  const early = request({ requestId: "early" });
  await one.idempotent(early, () => Promise.resolve(wholeRun(early.trace, "t0")));
  store.isAway = true;
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  for (const [requestId, text] of [["early", "answer t0"], ["request-1", "answer t1"]] as const) {
    assert.equal((await seen(await one.idempotent(request({ requestId }), never))).text, text);
    const other = request({ requestId, bodyText: "{}" });
    await assert.rejects(one.idempotent(other, never), isConflict);
  }
  assert.equal(one.unsaved, 1);
  await assert.rejects(one.maintain());
  store.isAway = false;
  await one.maintain();
  assert.equal(one.unsaved, 0);
  assert.equal((await seen(await two.idempotent(request(), never))).text, "answer t1");
});

Deno.test("a call that began while the store was away is claimed when it is back", async () => {
  const { one, two, store, pass } = setUpIdempotency(["a", "b"]);
  store.isAway = true;
  const first = request();
  const gate = Promise.withResolvers<void>();
  const answer = one.idempotent(first, async () => {
    await gate.promise;
    return wholeRun(first.trace, "t1");
  });
  await settleDown();
  store.isAway = false;
  await one.maintain();
  const repeat = two.idempotent(request(), never).then(seen);
  await settleDown();
  gate.resolve();
  await answer;
  await pass(200);
  assert.equal((await repeat).text, "answer t1");
});

Deno.test("while the store is away another process is believed to be at work for 30 s", async () => {
  const { one, two, store, pass } = setUpIdempotency(["a", "b"]);
  void one.idempotent(request(), () => new Promise(() => {}));
  await settleDown();
  let runs = 0;
  const second = request();
  const repeat = two.idempotent(second, () => {
    runs++;
    return Promise.resolve(wholeRun(second.trace, "t2"));
  });
  await pass(1000);
  store.isAway = true;
  await pass(29_850);
  assert.equal(runs, 0);
  await pass(200);
  assert.equal(runs, 1);
  await repeat;
});

Deno.test("a late claim is given back where its request fails, also if that was while it was claimed", async () => {
  for (const failsMeanwhile of [true, false]) {
    const { one, store } = setUpIdempotency();
    store.isAway = true;
    const vendor = Promise.withResolvers<never>();
    const answer = one.idempotent(request(), () => vendor.promise);
    await settleDown();
    store.isAway = false;
    const fail = async () => {
      vendor.reject(new Fault("upstream_error"));
      await assert.rejects(answer, Fault);
    };
    let statements = 0;
    if (failsMeanwhile) store.delay = () => ++statements === 2 ? fail() : Promise.resolve();
    await one.maintain();
    assert.equal(store.rows.size, failsMeanwhile ? 0 : 1);
    if (!failsMeanwhile) await fail();
    await one.drain();
    assert.equal(store.rows.size, 0);
  }
});

Deno.test("an answer that the store has lacked for a day is stored no more", async () => {
  const { one, store, timers } = setUpIdempotency();
  store.isAway = true;
  const asked = request();
  await one.idempotent(asked, () => Promise.resolve(wholeRun(asked.trace, "t1")));
  assert.equal(one.unsaved, 1);
  store.isAway = false;
  timers.advance(24 * 3_600_000);
  await one.maintain();
  assert.deepEqual([one.unsaved, store.rows.size], [0, 0]);
});

Deno.test("what two processes answered while they did not see each other is reported", async () => {
  const processes = setUpIdempotency(["a", "b"]);
  const { one, two, store } = processes;
  await answerTwice(processes);
  await one.maintain();
  await two.maintain();
  assert.deepEqual(one.duplicates, []);
  const found = two.duplicates.map(({ claim, settled, ...rest }) => ({
    ...{ ...rest, settled: settled?.transactionId, key: claim.key },
  }));
  const key = [...store.rows.keys()][0];
  const duplicate = { accountId: 1, transactionId: "t2", originalId: "t1", settled: "t2", key };
  assert.deepEqual(found, [duplicate]);
  assert.equal((await seen(await two.idempotent(request(), never))).text, "answer t1");
});

Deno.test("what two processes answered is reported also if the second answer was erased before it was stored", async () => {
  const processes = setUpIdempotency(["a", "b"]);
  const { one, two, store } = processes;
  await answerTwice(processes);
  await one.maintain();
  assert.equal(await two.erase(["t2"]), 0);
  store.isAway = true;
  await assert.rejects(two.maintain());
  store.isAway = false;
  await two.maintain();
  assert.deepEqual(two.duplicates.map(({ transactionId }) => transactionId), ["t2"]);
  assert.equal(two.unsaved, 0);
  assert.equal((await seen(await two.idempotent(request(), never))).text, "answer t1");
});

/** Answers so much that earlier answers have no room. */
async function fillMemory(process: ReturnType<typeof testProcess>): Promise<void> {
  const body = new Uint8Array(16 * 1024 * 1024);
  for (const id of ["l1", "l2", "l3", "l4"]) {
    const large = request({ requestId: id });
    await process.idempotent(large, () => Promise.resolve({ ...wholeRun(large.trace, id), body }));
  }
}

Deno.test("what two processes answered is reported also if there was no room for the second answer", async () => {
  const processes = setUpIdempotency(["a", "b"]);
  const { one, two, store } = processes;
  await answerTwice(processes);
  store.isAway = true;
  await fillMemory(two);
  store.isAway = false;
  await one.maintain();
  await two.maintain();
  const found = two.duplicates.map(({ transactionId, originalId }) => [transactionId, originalId]);
  assert.deepEqual(found, [["t2", "t1"]]);
  assert.equal(two.unsaved, 0);
  assert.equal((await seen(await two.idempotent(request(), never))).text, "answer t1");
});

Deno.test("what was answered twice gives one charge back also if the other process answers later", async () => {
  const { one, two, store } = setUpIdempotency(["a", "b"]);
  store.isAway = true;
  const [first, second] = [request(), request()];
  await two.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
  await fillMemory(two);
  store.isAway = false;
  const made = Promise.withResolvers<void>();
  const answer = one.idempotent(first, () => made.promise.then(() => wholeRun(first.trace, "t1")));
  await settleDown();
  await two.maintain();
  assert.deepEqual([two.duplicates, two.unsaved], [[], 1]);
  made.resolve();
  await answer;
  await two.maintain();
  assert.deepEqual(two.duplicates.map(({ transactionId }) => transactionId), ["t2"]);
  assert.deepEqual([two.unsaved, two.complaints], [0, []]);
});

Deno.test("what was answered twice for want of room gives one charge back", async () => {
  const { one, store } = setUpIdempotency();
  store.isAway = true;
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  await fillMemory(one);
  const second = request();
  await one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
  store.isAway = false;
  await one.maintain();
  assert.deepEqual(one.duplicates.map(({ transactionId }) => transactionId), ["t1"]);
  assert.equal(one.unsaved, 0);
  assert.equal((await seen(await one.idempotent(request(), never))).text, "answer t2");
});

Deno.test("what was answered twice for want of room gives one charge back, with a claim of the first call too, and where the process ends", async () => {
  for (const isClaimed of [false, true]) {
    for (const ends of [false, true]) {
      const { timers, store } = setUpIdempotency();
      const ours = store.for("a");
      const one = testProcess({
        ...{ clock: timers.clock, setTimer: timers.later },
        // What is large takes longer to be stored than to be looked for.
        store: { ...ours, finish: (...all) => settleDown().then(() => ours.finish(...all)) },
      });
      store.isAway = !isClaimed;
      const [first, second] = [request(), request()];
      await one.idempotent(first, () => {
        store.isAway = true;
        return Promise.resolve(wholeRun(first.trace, "t1"));
      });
      await fillMemory(one);
      await one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
      store.isAway = false;
      await (ends ? one.drain() : one.maintain());
      const given = one.duplicates.map(({ transactionId }) => transactionId);
      assert.deepEqual(given, ["t1"], JSON.stringify({ isClaimed, ends }));
      if (!ends) await one.maintain();
      assert.equal(one.unsaved, 0);
    }
  }
});

Deno.test("what was answered twice for want of room gives a charge back also if it is erased then", async () => {
  const { one, store } = setUpIdempotency();
  store.isAway = true;
  const [first, second] = [request(), request()];
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  await fillMemory(one);
  await one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
  store.isAway = false;
  await one.erase(["t1"]);
  await one.maintain();
  assert.deepEqual(one.duplicates.map(({ transactionId }) => transactionId), ["t1"]);
  assert.equal(one.unsaved, 0);
});

Deno.test("an erased second answer still gives its charge back when the request was answered a third time", async () => {
  const processes = setUpIdempotency(["a", "b"]);
  const { one, two, store } = processes;
  await answerTwice(processes);
  await one.maintain();
  await two.erase(["t2"]);
  store.isAway = true;
  const third = request();
  await two.idempotent(third, () => Promise.resolve(wholeRun(third.trace, "t3")));
  store.isAway = false;
  await two.maintain();
  const returned = two.duplicates.map(({ transactionId }) => transactionId);
  assert.deepEqual(returned.toSorted(), ["t2", "t3"]);
  assert.equal(two.unsaved, 0);
});

Deno.test("a repeat of an erased answer is a call of its own: nothing is refunded for it", async () => {
  const { one, store } = setUpIdempotency();
  store.isAway = true;
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  store.isAway = false;
  await one.erase(["t1"]);
  const second = request();
  await one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
  await one.maintain();
  assert.deepEqual(one.duplicates, []);
  assert.equal(one.unsaved, 0);
});

Deno.test("an erased answer that the store lacks gives its claim back at once", async () => {
  const { one, two, store } = setUpIdempotency(["a", "b"]);
  await eraseUnstored(one, store);
  await one.maintain();
  assert.equal(one.unsaved, 0);
  const repeat = request();
  const reply = two.idempotent(repeat, () => Promise.resolve(wholeRun(repeat.trace, "t2")));
  let text: string | undefined;
  void reply.then(seen).then((answer) => text = answer.text);
  await settleDown();
  assert.equal(text, "answer t2", "it doesn't wait for the claim to expire");
});

Deno.test("nothing is refunded where another process takes the claim of an erased answer", async () => {
  const { timers, store, two } = setUpIdempotency(["a", "b"]);
  const [made, second] = [Promise.withResolvers<void>(), request()];
  let repeat: Promise<unknown> | undefined;
  const ours = store.for("a");
  const one = testProcess({
    ...{ clock: timers.clock, setTimer: timers.later },
    store: {
      ...ours,
      async release(claim) {
        const isFreed = await ours.release(claim);
        repeat = two.idempotent(
          second,
          () => made.promise.then(() => wholeRun(second.trace, "t2")),
        );
        await settleDown();
        return isFreed;
      },
    },
  });
  await eraseUnstored(one, store);
  await one.maintain();
  made.resolve();
  await repeat;
  await one.maintain();
  assert.deepEqual([one.duplicates, two.duplicates, one.unsaved], [[], [], 0]);
});

Deno.test("a second answer that was erased while it was made gives its charge back", async () => {
  const { timers, store, one } = setUpIdempotency();
  const two = testProcess({
    ...{ store: store.for("b"), clock: timers.clock, setTimer: timers.later },
    isErased: ({ transactionId }) => transactionId === "t2",
  });
  await answerTwice({ one, two, store });
  await one.maintain();
  await two.maintain();
  assert.deepEqual(two.duplicates.map(({ transactionId }) => transactionId), ["t2"]);
  assert.equal(two.unsaved, 0);
  assert.equal((await seen(await two.idempotent(request(), never))).text, "answer t1");
});

Deno.test("a process ends once a second charge is refunded, or five seconds later", async () => {
  const { timers, store, one, pass } = setUpIdempotency();
  const given = Promise.withResolvers<void>();
  const two = testProcess({
    ...{ store: store.for("b"), clock: timers.clock, setTimer: timers.later },
    onDuplicate: () => given.promise,
  });
  await answerTwice({ one, two, store });
  await one.maintain();
  let hasEnded = false;
  void two.drain().then(() => hasEnded = true);
  await pass(4900);
  assert.equal(hasEnded, false);
  await pass(200);
  assert.equal(hasEnded, true);
  const later = two.drain();
  given.resolve();
  await later;
});

Deno.test("an answer that is erased while it is created is stored nowhere, and its claim is released", async () => {
  const { timers, store } = setUpIdempotency();
  const one = testProcess({
    ...{ store: store.for("a"), clock: timers.clock, setTimer: timers.later },
    isErased: () => true,
  });
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  await one.drain();
  assert.equal(store.rows.size, 0);
  assert.deepEqual([one.unsaved, one.duplicates.length], [0, 0]);
});

Deno.test("a caller that waits for an answer that is erased in the meantime gets one of its own", async () => {
  const { timers, store } = setUpIdempotency();
  const one = testProcess({
    ...{ store: store.for("a"), clock: timers.clock, setTimer: timers.later },
    isErased: ({ transactionId }) => transactionId === "t1",
  });
  const made = Promise.withResolvers<void>();
  const [first, second] = [request(), request()];
  const replies = [
    one.idempotent(first, () => made.promise.then(() => wholeRun(first.trace, "t1"))),
    one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2"))),
  ];
  made.resolve();
  const answers = await Promise.all(replies.map((reply) => reply.then(seen)));
  assert.deepEqual(answers.map(({ text }) => text), ["answer t1", "answer t2"]);
});

Deno.test("an erased answer that the store lacks is never stored, nor returned again", async () => {
  const { one, two, store } = setUpIdempotency(["a", "b"]);
  store.isAway = true;
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  await assert.rejects(one.erase(["t1"]));
  const again = request();
  const reply = await one.idempotent(again, () => Promise.resolve(wholeRun(again.trace, "t2")));
  assert.equal((await seen(reply)).text, "answer t2");
  await assert.rejects(one.erase(["t2"]));
  store.isAway = false;
  await one.maintain();
  const third = request();
  const fresh = await two.idempotent(third, () => Promise.resolve(wholeRun(third.trace, "t3")));
  assert.equal((await seen(fresh)).text, "answer t3");
  assert.equal(one.unsaved, 0);
});

Deno.test("an erased answer doesn't stay in the store if it got there behind the erasure, with its confirmation lost", async () => {
  const { timers, store } = setUpIdempotency();
  const inner = store.for("a");
  const erased = Promise.withResolvers<void>();
  const finish: typeof inner.finish = async (claim, answer) => {
    await erased.promise;
    await inner.finish(claim, answer);
    throw new Fault("store_unavailable");
  };
  const clocks = { clock: timers.clock, setTimer: timers.later };
  const one = testProcess({ store: { ...inner, finish }, ...clocks });
  const first = request();
  const reply = one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  await settleDown();
  assert.equal(await one.erase(["t1"]), 0);
  erased.resolve();
  await reply;
  await one.maintain();
  assert.equal(store.rows.size, 0);
  assert.equal(one.unsaved, 0);
});

Deno.test("a store that hangs holds the end of an answer for a second", async () => {
  const { one, store, pass } = setUpIdempotency();
  const first = request();
  const answer = one.idempotent(first, () => {
    store.delay = () => new Promise(() => {});
    return Promise.resolve(wholeRun(first.trace, "t1"));
  });
  let isDone = false;
  void answer.then(() => isDone = true);
  await pass(900);
  assert.equal(isDone, false);
  await pass(200);
  assert.equal(isDone, true);
  const before = store.statements;
  void one.drain();
  await settleDown();
  assert.equal(store.statements, before, "it isn't stored twice at a time");
});

Deno.test("an erased answer is never returned again, wherever it was stored", async () => {
  const { one, store } = setUpIdempotency();
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  assert.equal(await one.erase(["t0"]), 0);
  assert.equal(await one.erase(["t1", "t2"]), 1);
  store.isAway = true;
  const second = request();
  const reply = await one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
  assert.equal((await seen(reply)).replay, undefined);
});

Deno.test("an answer that another process has erased is not returned from memory, even before this one learns of it", async () => {
  const { one, two } = setUpIdempotency(["a", "b"]);
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  assert.equal(await two.erase(["t1"]), 1);
  const second = request();
  const reply = await one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
  assert.equal((await seen(reply)).replay, undefined);
});

/** Answers as `t1`, which the store claims but doesn't get, and is erased then. */
async function eraseUnstored(
  one: Pick<ReturnType<typeof setUpIdempotency>["one"], "idempotent" | "erase">,
  store: ReturnType<typeof setUpIdempotency>["store"],
): Promise<void> {
  const first = request();
  await one.idempotent(first, () => {
    store.isAway = true;
    return Promise.resolve(wholeRun(first.trace, "t1"));
  });
  store.isAway = false;
  await one.erase(["t1"]);
}

/** Two processes that don't see each other answer one request, as `t1` and `t2`. */
async function answerTwice(
  { one, two, store }: Pick<ReturnType<typeof setUpIdempotency>, "one" | "two" | "store">,
): Promise<void> {
  store.isAway = true;
  for (const [where, id] of [[one, "t1"], [two, "t2"]] as const) {
    const asked = request();
    await where.idempotent(asked, () => Promise.resolve(wholeRun(asked.trace, id)));
  }
  store.isAway = false;
}

Deno.test("an answer that repeats an erased call's text is never returned, not from memory either", async () => {
  const { one, store } = setUpIdempotency();
  store.isAway = true;
  const answered = async (id: string, run = true) => {
    const asked = request();
    const made = () => {
      asked.trace.answerSources = ["t0"];
      return Promise.resolve(wholeRun(asked.trace, id));
    };
    return (await seen(await one.idempotent(asked, run ? made : never))).text;
  };
  assert.equal(await answered("t1"), "answer t1");
  assert.equal(await answered("t2", false), "answer t1");
  await assert.rejects(one.erase(["t0"]));
  assert.equal(await answered("t3"), "answer t3");
  store.isAway = false;
  await one.maintain();
  assert.equal(await one.erase(["t0"]), 1);
  assert.equal(store.rows.size, 0);
});

Deno.test("an answer that repeats a call which was erased meanwhile is forgotten once that is known", async () => {
  const { one, store } = setUpIdempotency();
  store.erasedCalls.add("t0");
  for (const id of ["t1", "t2"]) {
    const asked = request();
    asked.trace.answerSources = ["t0"];
    const reply = await one.idempotent(asked, () => Promise.resolve(wholeRun(asked.trace, id)));
    assert.equal((await seen(reply)).text, `answer ${id}`);
    await settleDown();
    store.isAway = true;
  }
});
