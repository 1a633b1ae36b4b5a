import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { dataTables, type ErasureFeed } from "./deletion.ts";
import { type Tombstone, tombstoneOf } from "./tombstone.ts";
import { createErasureIndex, createErasures } from "./erasures.ts";

function setUp() {
  const clock = new FakeClock();
  const news: ErasureFeed[] = [];
  const did: string[] = [];
  const held: { until?: Promise<void> } = {};
  let isAway = false;
  let isFull = false;
  let isLocked = false;
  const index = createErasureIndex(clock);
  const erasures = createErasures({
    index,
    store: {
      changeFeed: () => ({
        next: () =>
          isAway
            ? Promise.reject(new Error("away"))
            : Promise.resolve(news.shift() ?? { tombstones: [], transactionIds: [] }),
      }),
    },
    keep: (stones) => {
      did.push(`keep ${stones.length}`);
      return isFull ? Promise.reject(new Error("full")) : Promise.resolve();
    },
    eraseRejected: (stones) => Promise.resolve(void did.push(`reject ${stones.length}`)),
    forget: async (ids) => {
      did.push(`forget ${ids.join()}`);
      await held.until;
      if (isLocked) {
        throw new Error("locked");
      }
    },
    compactJournal: async () => {
      did.push("tidy");
      await held.until;
    },
  });
  const stone = (userId: string): Tombstone =>
    tombstoneOf({
      deletionId: userId,
      accountId: 1,
      tables: dataTables,
      selectors: { userIds: [userId] },
      requestedAt: clock.now(),
    }, "salt");
  const call = (userId: string) => ({
    accountId: 1,
    transactionId: `call of ${userId}`,
    createdAt: clock.now(),
    sessionId: null,
    userId,
  });
  return {
    clock,
    news,
    did,
    held,
    index,
    erasures,
    stone,
    call,
    setAway: (away: boolean) => isAway = away,
    setFull: (full: boolean) => isFull = full,
    setLocked: (locked: boolean) => isLocked = locked,
  };
}

Deno.test("a call under way is covered once its erasure is known, a later one is not", async () => {
  const { clock, news, index, erasures, stone, call } = setUp();
  clock.advance(1000);
  const [ann, bob] = [call("ann"), call("bob")];
  news.push({ tombstones: [stone("ann")], transactionIds: [] });
  assert.ok(!index.covers(ann));
  await erasures.refresh();
  assert.ok(index.covers(ann));
  assert.ok(!index.covers(bob));
  clock.advance(1000);
  assert.ok(!index.covers(call("ann")));
  clock.advance(24 * 60 * 60 * 1000);
  await erasures.refresh();
  assert.ok(!index.covers(ann), "no call takes this long");
});

Deno.test("calls that were compared before are compared with later tombstones only", () => {
  const { clock, index, stone, call } = setUp();
  clock.advance(1000);
  const [ann, bob] = [call("ann"), call("bob")];
  index.add([stone("ann")]);
  const { latest } = index;
  index.add([stone("bob")]);
  assert.deepEqual([ann, bob].map((one) => index.covers(one)), [true, true]);
  assert.deepEqual([ann, bob].map((one) => index.covers(one, latest)), [false, true]);
  assert.equal(index.covers(bob, index.latest), false);
});

Deno.test("a call that arrives after a deletion stands behind it, whatever the clock says", () => {
  const { clock, index, stone, call } = setUp();
  const arrive = (accountId = 1, behindMs = 0) => {
    const arrivedAt = new Date(clock.now().getTime() - behindMs);
    return index.arrivalOf(accountId, { arrivedAt, arrivedMs: clock.monotonicMs() });
  };
  const before = clock.now();
  index.add([{ ...stone("ann"), before: new Date(before.getTime() + 5000) }]);
  const ann = call("ann");
  assert.deepEqual(arrive(), before, "it was under way");
  assert.ok(index.covers(ann));
  clock.advance(1000);
  assert.equal(arrive().getTime() - before.getTime(), 5001);
  assert.ok(!index.covers({ ...ann, createdAt: arrive() }));
  assert.equal(arrive(1, 60_000).getTime() - before.getTime(), 5001);
  assert.deepEqual(arrive(2), clock.now(), "another account's");
  const arrivedBetween = { arrivedAt: before, arrivedMs: clock.monotonicMs() };
  index.add([{ ...stone("bob"), before }]);
  assert.equal(index.arrivalOf(1, arrivedBetween).getTime() - before.getTime(), 5001);
  const twoHours = 2 * 60 * 60 * 1000;
  assert.equal(arrive(1, twoHours).getTime(), clock.now().getTime() - twoHours);
  clock.advance(10_000);
  assert.deepEqual(arrive(), clock.now());
});

Deno.test("a call that arrives at the very time of a deletion stands behind it", () => {
  const { clock, index, stone, call } = setUp();
  const at = clock.now();
  index.add([{ ...stone("ann"), before: new Date(at.getTime() + 1000) }]);
  clock.advance(1000);
  const arrival = { arrivedAt: clock.now(), arrivedMs: clock.monotonicMs() };
  assert.ok(index.covers(call("ann")));
  assert.equal(index.arrivalOf(1, arrival).getTime() - at.getTime(), 1001);
});

Deno.test("the latest deletion decides, and one that names calls has no say", () => {
  const { clock, index, stone } = setUp();
  const at = clock.now().getTime();
  const later = (ms: number) => ({ ...stone("ann"), before: new Date(at + ms) });
  index.add([later(10), later(20), later(15)]);
  index.add([{ ...later(30), transactionIds: ["t1"] }]);
  clock.advance(1);
  const arrival = { arrivedAt: new Date(at), arrivedMs: clock.monotonicMs() };
  assert.equal(index.arrivalOf(1, arrival).getTime() - at, 21);
});

Deno.test("deletions are remembered for longer than any call takes, and then forgotten", () => {
  const { clock, index, stone, call } = setUp();
  const [ann, at] = [call("ann"), clock.now()];
  index.add([stone("ann")]);
  const arrival = () => ({ arrivedAt: at, arrivedMs: clock.monotonicMs() });
  const day = 24 * 60 * 60 * 1000;
  clock.advance(day - 1);
  index.prune();
  assert.ok(index.covers(ann));
  assert.equal(index.arrivalOf(1, arrival()).getTime() - at.getTime(), 1);
  clock.advance(1);
  index.prune();
  assert.ok(!index.covers(ann));
  assert.deepEqual(index.arrivalOf(1, arrival()), at);
});

Deno.test("of the calls that were not written the latest 10,000 are remembered", async () => {
  const { index, call } = setUp();
  await index.dropped(Array.from({ length: 10_000 }, (_, n) => `call of ${n}`));
  assert.ok(index.covers(call("0")));
  await index.dropped(["call of ann"]);
  assert.deepEqual(["0", "1", "ann"].map((user) => index.covers(call(user))), [false, true, true]);
});

Deno.test("what the news name is kept, forgotten and tidied, then tidied once more", async () => {
  const { news, did, erasures, stone } = setUp();
  news.push({ tombstones: [stone("ann")], transactionIds: ["t1"] });
  news.push({ tombstones: [], transactionIds: ["t2"] });
  await erasures.refresh();
  assert.deepEqual(did.splice(0), [
    ...["forget t1", "keep 1", "reject 1", "forget t2", "tidy"],
  ]);
  await erasures.refresh();
  assert.deepEqual(did.splice(0), ["tidy"]);
  await erasures.refresh();
  assert.deepEqual(did, []);
});

Deno.test("the news are read only when all they name is forgotten and tidied", async () => {
  const { news, did, held, erasures } = setUp();
  news.push({ tombstones: [], transactionIds: ["t1"] });
  for (const begun of [["forget t1"], ["forget t1", "tidy", "tidy"]]) {
    const gate = Promise.withResolvers<void>();
    held.until = gate.promise;
    let isRead = false;
    const reading = erasures.refresh().then(() => isRead = true);
    for (let turns = 0; turns < 50; turns++) await Promise.resolve();
    assert.deepEqual([did, isRead], [begun, false]);
    gate.resolve();
    await reading;
  }
});

Deno.test("a call that was not written is forgotten at once and never remembered", async () => {
  const { did, index, erasures, call } = setUp();
  await index.dropped(["call of ann"]);
  assert.deepEqual(did.splice(0), ["forget call of ann"]);
  assert.ok(index.covers(call("ann")));
  await erasures.refresh();
  await erasures.refresh();
  assert.deepEqual(did, ["tidy", "tidy"]);
});

Deno.test("dropping a call waits until it is forgotten", async () => {
  const { index } = setUp();
  const forgotten = Promise.withResolvers<void>();
  index.onDropped(() => forgotten.promise);
  let isDone = false;
  const done = index.dropped(["call of ann"]).then(() => isDone = true);
  for (let turns = 0; turns < 100; turns++) await Promise.resolve();
  assert.equal(isDone, false);
  forgotten.resolve();
  await done;
});

Deno.test("a tombstone of before the start meets the refused records, once the disk takes it", async () => {
  const { clock, news, did, index, erasures, stone, call, setFull } = setUp();
  const [ann, old] = [call("ann"), stone("ann")];
  clock.advance(1000);
  news.push({
    tombstones: [{ ...old, before: new Date(old.before.getTime() - 1) }],
    transactionIds: [],
  });
  setFull(true);
  await assert.rejects(erasures.refresh(), /full/);
  setFull(false);
  await erasures.refresh();
  assert.ok(!index.covers(ann), "no call under way is that old");
  assert.deepEqual(did.splice(0), ["keep 1", "keep 1", "reject 1", "tidy"]);
  for (const tidied of [["tidy"], []]) {
    await erasures.refresh();
    assert.deepEqual(did.splice(0), tidied);
  }
});

Deno.test("calls that can't be forgotten now are forgotten later, and hold up no other", async () => {
  const { news, did, index, erasures, stone, call, setLocked } = setUp();
  const ann = call("ann");
  news.push({ tombstones: [], transactionIds: ["t1"] });
  news.push({ tombstones: [stone("ann")], transactionIds: ["t2"] });
  setLocked(true);
  await assert.rejects(erasures.refresh(), /locked/);
  assert.ok(index.covers(ann));
  assert.deepEqual(did.splice(0), ["forget t1", "forget t2", "keep 1", "reject 1", "tidy"]);
  setLocked(false);
  await erasures.refresh();
  assert.deepEqual(did.splice(0), ["forget t1,t2", "tidy"]);
});

Deno.test("a store that was away is asked again, and its news are not lost", async () => {
  const { news, index, erasures, stone, call, setAway } = setUp();
  const ann = call("ann");
  news.push({ tombstones: [stone("ann")], transactionIds: [] });
  setAway(true);
  await assert.rejects(erasures.refresh(), /away/);
  setAway(false);
  await erasures.refresh();
  assert.ok(index.covers(ann));
});
