import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import {
  isConflict,
  never,
  request,
  seen,
  settle,
  settleDown,
  setUpIdempotency,
  streamRun,
  type TestProcess,
  testProcess,
  wholeRun,
} from "../../tests/support/repeats.ts";
import type { IdempotentRequest } from "./idempotency.ts";
import type { ReplayStore } from "./request_fingerprint.ts";
import { maxStoredBytes } from "../base/answer_bytes.ts";
import type { Reply } from "../relay/reply.ts";

Deno.test("20 concurrent requests run once and get one answer, 19 of them as a replay", async () => {
  const { one, store } = setUpIdempotency();
  let runs = 0;
  const gate = Promise.withResolvers<void>();
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const asked = request();
      const answer = one.idempotent(asked, async () => {
        runs++;
        assert.equal(asked.trace.repeat?.fingerprint, undefined, "claimed");
        await gate.promise;
        return wholeRun(asked.trace, "t1");
      });
      if (index === 19) gate.resolve();
      return await seen(await answer);
    }),
  );
  assert.equal(runs, 1);
  assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set(["answer t1"]));
  assert.equal(answers.filter(({ replay }) => replay === "true").length, 19);
  assert.equal(answers[0]!.replay, undefined);
  assert.deepEqual(new Set(answers.slice(1).map((one) => one.transaction)), new Set(["t1"]));
  assert.equal(store.statements, 2, "one claim, one answer stored");
});

Deno.test("20 streamed ones get the first's bytes as a stream, once it is complete", async () => {
  const { one } = setUpIdempotency();
  const first = request();
  const vendor = streamRun(first.trace, "t1");
  const opened = await one.idempotent(first, () => Promise.resolve(vendor.reply));
  const reader = (opened.body as ReadableStream<Uint8Array>).getReader();
  const repeats = Array.from({ length: 19 }, () => one.idempotent(request(), never).then(seen));
  vendor.say("data: 1\n\n");
  assert.equal(text((await reader.read()).value), "data: 1\n\n", "not held back");
  let answered = 0;
  for (const repeat of repeats) void repeat.then(() => answered++);
  await settleDown();
  assert.equal(answered, 0);
  vendor.say("data: [DONE]\n\n");
  vendor.end();
  assert.equal(text((await reader.read()).value), "data: [DONE]\n\n");
  assert.equal((await reader.read()).done, true);
  for (const answer of await Promise.all(repeats)) {
    assert.deepEqual(answer, {
      status: 200,
      type: "text/event-stream",
      text: "data: 1\n\ndata: [DONE]\n\n",
      replay: "true",
      transaction: "t1",
      streamed: true,
    });
  }
});

Deno.test("another body is 409 at once, while the first runs, here and elsewhere, and after", async () => {
  const { one, two, pass } = setUpIdempotency(["a", "b"]);
  const first = request();
  const gate = Promise.withResolvers<void>();
  const answer = one.idempotent(first, async () => {
    await gate.promise;
    return wholeRun(first.trace, "t1");
  });
  await settleDown();
  const other = () => request({ bodyText: '{"model": "m"}' });
  await assert.rejects(one.idempotent(other(), never), isConflict);
  const waiting = two.idempotent(request(), never).then(seen);
  await settleDown();
  await assert.rejects(two.idempotent(other(), never), isConflict);
  gate.resolve();
  await answer;
  await pass(200);
  assert.equal((await waiting).text, "answer t1");
  for (const where of [one, two]) {
    await assert.rejects(where.idempotent(other(), never), isConflict);
  }
});

Deno.test("until it is known whose the id is, another body waits, and gets nothing that isn't its own", async () => {
  const { one, two, store } = setUpIdempotency(["a", "b"]);
  const [mine, other] = [request(), request({ bodyText: '{"model": "m"}' })];
  const both = (first: IdempotentRequest, second: IdempotentRequest, run = never) => {
    const answers = [one.idempotent(first, run), one.idempotent(second, never).then(seen)] as const;
    for (const answer of answers) answer.catch(() => {});
    return answers;
  };
  const gate = Promise.withResolvers<void>();
  const [running, refused] = both(mine, other, async () => {
    await gate.promise;
    return wholeRun(mine.trace, "t1");
  });
  await assert.rejects(refused, isConflict, "as soon as the first one runs");
  gate.resolve();
  await running;
  const elsewhere = request({ requestId: "request-2" });
  await two.idempotent(elsewhere, () => Promise.resolve(wholeRun(elsewhere.trace, "t2")));
  const different = { ...elsewhere, bodyText: other.bodyText };
  const [replayed, refusedToo] = both(elsewhere, different);
  assert.equal((await seen(await replayed)).text, "answer t2");
  await assert.rejects(refusedToo, isConflict);
  const third = request({ requestId: "request-3" });
  await two.idempotent(third, () => Promise.resolve(wholeRun(third.trace, "t3")));
  const [refusedFirst, replayedToo] = both({ ...third, bodyText: other.bodyText }, third);
  await assert.rejects(refusedFirst, isConflict);
  assert.equal((await replayedToo).text, "answer t3");
  assert.equal(store.rows.size, 3);
});

Deno.test("an id is free for another account, method, path or query form", async () => {
  const { one, store } = setUpIdempotency();
  const first = request();
  await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  // By this a call is recorded that no answer is stored of, since its process died.
  const { key, claimId } = [...store.rows.values()][0]!.claim;
  assert.deepEqual(first.trace.repeat, { key, claimId });
  const others = [{ accountId: 2 }, { method: "PUT" }, { path: "/other" }, { requestId: "r2" }];
  for (const [index, more] of others.entries()) {
    const asked = request(more);
    const reply = await one.idempotent(
      asked,
      () => Promise.resolve(wholeRun(asked.trace, `o${index}`)),
    );
    assert.equal((await seen(reply)).text, `answer o${index}`);
  }
  await assert.rejects(one.idempotent(request({ query: "alt=sse" }), never), isConflict);
});

/** Ways in which a first attempt comes to nothing. */
const failures: Record<string, (asked: IdempotentRequest) => Promise<Reply>> = {
  "it throws": (asked) => {
    settle(asked.trace, "t1", "failed");
    return Promise.reject(new Fault("upstream_error"));
  },
  "its status is no 2xx": (asked) => {
    settle(asked.trace, "t1", "failed");
    return Promise.resolve({ status: 400, headers: {}, body: "no" });
  },
  "it has no call, and its status is no 2xx": () =>
    Promise.resolve({ status: 300, headers: {}, body: "no" }),
  "its caller left before the answer": (asked) => {
    settle(asked.trace, "t1", "cancelled");
    return Promise.resolve({ status: 200, headers: {}, body: "half" });
  },
  "it is too large": (asked) =>
    Promise.resolve(wholeRun(asked.trace, "t1", "x".repeat(maxStoredBytes + 1))),
};

for (const [name, fail] of Object.entries(failures)) {
  Deno.test(`after a first attempt one of those who wait runs, the rest get its answer: ${name}`, async () => {
    const { one, store } = setUpIdempotency();
    const first = request();
    const gate = Promise.withResolvers<void>();
    const failed = one.idempotent(first, () => gate.promise.then(() => fail(first)))
      .catch(() => {});
    await settleDown();
    let runs = 0;
    const repeats = Array.from({ length: 5 }, () => {
      const asked = request();
      return one.idempotent(asked, () => {
        runs++;
        return Promise.resolve(wholeRun(asked.trace, "t2"));
      }).then(seen);
    });
    gate.resolve();
    await failed;
    const answers = await Promise.all(repeats);
    assert.equal(runs, 1);
    assert.equal(answers.filter(({ replay }) => replay === "true").length, 4);
    assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set(["answer t2"]));
    await one.drain();
    assert.deepEqual([...store.rows.values()].map((row) => row.answer?.transactionId), ["t2"]);
  });
}

Deno.test("an answer that no call made is given again without a call's id, one byte long too", async () => {
  const { one } = setUpIdempotency();
  for (const text of [".", ""]) {
    const asked = () => request({ requestId: `with '${text}'` });
    const reply = { status: 200, headers: { "content-type": "text/plain" }, body: text };
    await one.idempotent(asked(), () => Promise.resolve(reply));
    assert.deepEqual(await seen(await one.idempotent(asked(), never)), {
      ...{ status: 200, type: "text/plain", text, replay: "true" },
      ...{ transaction: undefined, streamed: false },
    });
  }
});

Deno.test("of a request that keeps nothing no answer is stored, streamed or whole: a repeat runs", async () => {
  for (const streams of [true, false]) {
    const { one, store } = setUpIdempotency();
    const run = async (id: string) => {
      const asked = request({ keepsNothing: true });
      const reply = await one.idempotent(asked, () => {
        if (!streams) return Promise.resolve(wholeRun(asked.trace, id));
        const vendor = streamRun(asked.trace, id);
        vendor.say(`answer ${id}`);
        vendor.end();
        return Promise.resolve(vendor.reply);
      });
      return (await seen(reply)).text;
    };
    assert.deepEqual([await run("t1"), await run("t2")], ["answer t1", "answer t2"]);
    await one.drain();
    assert.deepEqual([store.rows.size, one.unsaved], [0, 0]);
  }
});

Deno.test("a repeat waits for a stream of which nothing is stored, and then runs", async () => {
  const { one } = setUpIdempotency();
  const [first, second] = [request({ keepsNothing: true }), request({ keepsNothing: true })];
  const vendor = streamRun(first.trace, "t1");
  const reply = await one.idempotent(first, () => Promise.resolve(vendor.reply));
  let runs = 0;
  const repeat = one.idempotent(second, () => {
    runs++;
    return Promise.resolve(wholeRun(second.trace, "t2"));
  });
  await settleDown();
  assert.equal(runs, 0);
  vendor.end();
  await seen(reply);
  assert.equal((await seen(await repeat)).text, "answer t2");
});

Deno.test("a repeat gets a long stream although the first caller reads nothing of it", async () => {
  const { one } = setUpIdempotency();
  const first = request();
  const vendor = streamRun(first.trace, "t1");
  await one.idempotent(first, () => Promise.resolve(vendor.reply));
  const piece = "x".repeat(50_000);
  for (let count = 0; count < 4; count++) vendor.say(piece);
  vendor.end();
  assert.equal((await seen(await one.idempotent(request(), never))).text, piece.repeat(4));
});

Deno.test("of an answer with a length the last piece waits for the store, for a second at most", async () => {
  for (const isStored of [true, false]) {
    const { one, store, pass } = setUpIdempotency();
    const first = request();
    const vendor = streamRun(first.trace, "t1");
    let isHeld = true;
    const large = { headers: { "content-length": "8" }, hold: () => () => void (isHeld = false) };
    const reply = await one.idempotent(first, () => Promise.resolve({ ...vendor.reply, ...large }));
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    const writing = Promise.withResolvers<void>();
    store.delay = () => writing.promise;
    vendor.say("one ");
    vendor.say("last");
    vendor.end();
    assert.equal(text((await reader.read()).value), "one ");
    let last: string | undefined;
    void reader.read().then(({ value }) => last = text(value));
    await settleDown();
    assert.deepEqual([last, isHeld], [undefined, true], "not yet stored");
    if (isStored) writing.resolve();
    await pass(isStored ? 0 : 1_000);
    await settleDown();
    assert.deepEqual([last, isHeld], ["last", false]);
  }
});

Deno.test("a cut stream, a broken one and a too large one free the id", async () => {
  const endings: ((vendor: ReturnType<typeof streamRun>) => void)[] = [
    (vendor) => vendor.end("truncated"),
    (vendor) => vendor.fail(new Error("broken")),
    (vendor) => {
      for (let piece = 0; piece <= 16; piece++) vendor.say("x".repeat(1024 * 1024));
      vendor.end();
    },
  ];
  for (const end of endings) {
    const { one, store } = setUpIdempotency();
    const first = request();
    const vendor = streamRun(first.trace, "t1");
    const reply = await one.idempotent(first, () => Promise.resolve(vendor.reply));
    vendor.say("data: 1\n\n");
    end(vendor);
    await seen(reply).catch(() => {});
    await one.drain();
    assert.equal(store.rows.size, 0);
    const second = request();
    const again = await one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
    assert.equal((await seen(again)).replay, undefined);
  }
});

for (const how of ["its stream is cancelled", "its connection is gone"] as const) {
  Deno.test(`a first caller who leaves in mid-stream frees the id: ${how}`, async () => {
    const { one, store } = setUpIdempotency();
    const connection = new AbortController();
    const first = request({ signal: connection.signal });
    const vendor = streamRun(first.trace, "t1");
    const reply = await one.idempotent(first, () => Promise.resolve(vendor.reply));
    const body = reply.body as ReadableStream<Uint8Array>;
    vendor.say("data: 1\n\n");
    const second = request();
    const repeat = one.idempotent(second, () => Promise.resolve(wholeRun(second.trace, "t2")));
    await settleDown();
    if (how === "its stream is cancelled") {
      await body.cancel();
      assert.equal(vendor.left, true);
    } else {
      connection.abort();
    }
    assert.equal((await seen(await repeat)).text, "answer t2");
    await one.drain();
    assert.equal([...store.rows.values()][0]?.answer?.transactionId, "t2");
  });
}

Deno.test("a caller that leaves before the end of a complete stream gets it with a retry", async () => {
  const { one } = setUpIdempotency();
  const first = request();
  const vendor = streamRun(first.trace, "t1");
  const reply = await one.idempotent(first, () => Promise.resolve(vendor.reply));
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  vendor.say("one ");
  await reader.read();
  vendor.say("two");
  vendor.end();
  await reader.cancel();
  const again = await seen(await one.idempotent(request(), never));
  assert.deepEqual([again.text, again.replay], ["one two", "true"]);
});

Deno.test("a stream that goes on without its caller is read to its end, and given to a retry", async () => {
  const { one } = setUpIdempotency();
  const first = request();
  first.trace.outlivesCaller = true;
  const vendor = streamRun(first.trace, "t1");
  const reply = await one.idempotent(first, () => Promise.resolve(vendor.reply));
  vendor.say("one ");
  await (reply.body as ReadableStream<Uint8Array>).cancel();
  assert.equal(vendor.left, false);
  vendor.say("two");
  vendor.end();
  const again = await seen(await one.idempotent(request(), never));
  assert.deepEqual([again.text, again.replay], ["one two", "true"]);
});

Deno.test("the answer to a call that isn't settled is kept only if it acknowledges the call", async () => {
  for (const isAcknowledged of [false, true]) {
    const { one, store } = setUpIdempotency();
    const first = request();
    await one.idempotent(first, () => {
      Object.assign(first.trace, { transactionId: "t1", isAcknowledged });
      return Promise.resolve({ status: 200, headers: {}, body: "queued" });
    });
    await one.drain();
    assert.equal(store.rows.size, isAcknowledged ? 1 : 0);
  }
});

Deno.test("a waiting caller may leave, and the others still get the answer", async () => {
  const { one, two, pass } = setUpIdempotency(["a", "b"]);
  const first = request();
  const gate = Promise.withResolvers<void>();
  const answer = one.idempotent(first, async () => {
    await gate.promise;
    return wholeRun(first.trace, "t1");
  });
  await settleDown();
  for (const where of [one, two]) {
    const connection = new AbortController();
    const impatient = where.idempotent(request({ signal: connection.signal }), never);
    await settleDown();
    const patient = where.idempotent(request(), never).then(seen);
    await settleDown();
    connection.abort();
    assert.equal((await impatient).status, 499);
    if (where === two) gate.resolve();
    if (where === two) await pass(300);
    if (where === two) assert.equal((await patient).text, "answer t1");
  }
  await answer;
});

function text(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** A process whose store answers some statements otherwise. */
function processOn(answers: Partial<ReplayStore>): TestProcess {
  const { timers, store } = setUpIdempotency();
  const ofProcess = { ...store.for("a"), ...answers };
  return testProcess({ store: ofProcess, clock: timers.clock, setTimer: timers.later });
}

const defect = () => Promise.reject(new Error("no such column"));

Deno.test("a call waits five seconds for a store that hangs, and its claim counts from when it is made", async () => {
  for (const fails of [false, true]) {
    const { one, two, store, pass } = setUpIdempotency(["a", "b"]);
    const [hangs, vendor] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    store.delay = () => hangs.promise;
    let runs = 0;
    const first = request();
    const answer = one.idempotent(first, async () => {
      runs++;
      await vendor.promise;
      return wholeRun(first.trace, "t1");
    });
    void answer.catch(() => {});
    await pass(4_950);
    assert.equal(runs, 0);
    await pass(50);
    assert.equal(runs, 1);
    assert.match(first.trace.repeat?.fingerprint ?? "", /^[0-9a-f]{64}$/, "not claimed yet");
    if (fails) {
      vendor.reject(new Fault("upstream_error"));
      await assert.rejects(answer);
    }
    store.delay = () => Promise.resolve();
    hangs.resolve();
    await settleDown();
    assert.equal(store.rows.size, fails ? 0 : 1, "nobody waits for the claim of a failed call");
    if (fails) continue;
    const repeat = two.idempotent(request(), never).then(seen);
    await settleDown();
    vendor.resolve();
    await answer;
    await pass(200);
    assert.equal((await repeat).text, "answer t1");
  }
});

Deno.test("an id that the store hangs at keeps no other claim from being renewed", async () => {
  const { timers, store, pass } = setUpIdempotency();
  const ofProcess = store.for("a");
  const asked: string[] = [];
  const one = testProcess({
    ...{ clock: timers.clock, setTimer: timers.later },
    store: {
      ...ofProcess,
      claim(claim) {
        if (claim.accountId === 1) return ofProcess.claim(claim);
        asked.push("claim");
        return new Promise(() => {});
      },
      renew(claims) {
        asked.push(`renew ${claims.length}`);
        return ofProcess.renew(claims);
      },
    },
  });
  const vendor = () => new Promise<Reply>(() => {});
  for (const accountId of [1, 2]) void one.idempotent(request({ accountId }), vendor);
  await pass(5_000);
  for (const renewals of [["renew 1", "claim"], ["renew 1"]]) {
    asked.length = 0;
    let isDone = false;
    void one.maintain().then(() => isDone = true);
    await pass(1_100);
    assert.deepEqual([isDone, asked], [true, renewals]);
  }
});

Deno.test("a late claim that fails keeps no other claim and no answer from the store", async () => {
  const { timers, store } = setUpIdempotency();
  const ofProcess = store.for("a");
  let isAway = true;
  const away = () => Promise.reject(new Fault("store_unavailable"));
  const one = testProcess({
    ...{ clock: timers.clock, setTimer: timers.later },
    store: {
      ...ofProcess,
      claim: (claim) => isAway || claim.accountId === 1 ? away() : ofProcess.claim(claim),
      finish: (claim, answer) => isAway ? away() : ofProcess.finish(claim, answer),
    },
  });
  const vendor = () => new Promise<Reply>(() => {});
  for (const accountId of [1, 2]) void one.idempotent(request({ accountId }), vendor);
  const answered = request({ accountId: 3 });
  await one.idempotent(answered, () => Promise.resolve(wholeRun(answered.trace, "t1")));
  isAway = false;
  await assert.rejects(one.maintain(), { code: "store_unavailable" });
  assert.deepEqual([store.rows.size, one.unsaved], [2, 0]);
});

Deno.test("ids that the store hangs at keep no other answer from it, and no end of the process for long", async () => {
  const { timers, store, pass } = setUpIdempotency();
  const ofProcess = store.for("a");
  let isAway = true;
  const stored: number[] = [];
  const unlessAway = () =>
    isAway ? Promise.reject(new Fault("store_unavailable")) : new Promise<never>(() => {});
  const one = testProcess({
    ...{ clock: timers.clock, setTimer: timers.later },
    store: {
      ...ofProcess,
      claim: unlessAway,
      async finish({ accountId }) {
        if (isAway || accountId === 3) return await unlessAway();
        stored.push(accountId);
        return { state: "stored" };
      },
    },
  });
  const vendor = () => new Promise<Reply>(() => {});
  void one.idempotent(request({ accountId: 1 }), vendor);
  for (const accountId of [2, 3, 4]) {
    const answered = request({ accountId });
    await one.idempotent(answered, () => Promise.resolve(wholeRun(answered.trace, "t1")));
  }
  isAway = false;
  void one.maintain();
  await settleDown();
  assert.deepEqual(stored, [2], "the claim hangs, and this answer doesn't wait for it");
  let hasEnded = false;
  void one.drain().then(() => hasEnded = true);
  await settleDown();
  assert.deepEqual([stored, hasEnded], [[2, 4], false]);
  await pass(5_000);
  assert.equal(hasEnded, true);
});

Deno.test("the end of the process waits for an answer that is just being stored again", async () => {
  const { timers, store } = setUpIdempotency();
  const ofProcess = store.for("a");
  const written = Promise.withResolvers<void>();
  let writes = 0;
  const one = testProcess({
    ...{ clock: timers.clock, setTimer: timers.later },
    store: {
      ...ofProcess,
      async finish(claim, answer) {
        if (++writes === 1) throw new Fault("store_unavailable");
        await written.promise;
        return await ofProcess.finish(claim, answer);
      },
    },
  });
  const asked = request();
  await one.idempotent(asked, () => Promise.resolve(wholeRun(asked.trace, "t1")));
  void one.maintain();
  await settleDown();
  const drained = one.drain().then(() => one.unsaved);
  await settleDown();
  written.resolve();
  assert.deepEqual([await drained, writes], [0, 2]);
});

Deno.test("where the store refuses a claim, no call is made", async () => {
  await assert.rejects(processOn({ claim: defect }).idempotent(request(), never), /no such column/);
});

Deno.test("an answer that the store refuses reaches its caller, and is dropped with a line in the log", async () => {
  const one = processOn({ finish: defect });
  const first = request();
  const reply = await one.idempotent(first, () => Promise.resolve(wholeRun(first.trace, "t1")));
  assert.equal((await seen(reply)).text, "answer t1");
  assert.deepEqual([one.unsaved, one.complaints], [0, ["idempotent answer not stored"]]);
});

Deno.test("where a claim can't be released, the answer is the caller's, with a line in the log", async () => {
  const one = processOn({ release: defect });
  const failed = { status: 500, headers: {}, body: "failed" };
  const reply = await one.idempotent(request(), () => Promise.resolve(failed));
  assert.equal(reply.status, 500);
  await one.drain();
  assert.deepEqual(one.complaints, ["a claim could not be released"]);
});

Deno.test("a second charge after a process's death is reported, if the answer is a call's", async () => {
  for (const isCall of [true, false]) {
    const one = processOn({
      finish: () => Promise.resolve({ state: "stored", isChargedElsewhere: true }),
    });
    const first = request();
    await one.idempotent(
      first,
      () => Promise.resolve(wholeRun(isCall ? first.trace : {}, "t1")),
    );
    const reported = one.duplicates.map(({ transactionId, originalId }) => [
      transactionId,
      originalId,
    ]);
    assert.deepEqual(reported, isCall ? [["t1", null]] : []);
  }
});
