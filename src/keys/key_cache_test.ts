import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { Account } from "./account.ts";
import type { ApiKey, Principal } from "./api_key.ts";
import { mintKey } from "./credential.ts";
import { Fault } from "../shared/fault.ts";
import { KeyCache } from "./key_cache.ts";
import { type ChangeList, type Held, type KeyChanges, maxListedChanges } from "./key_changes.ts";

const clockOfKeys = new FakeClock();

/** A store in memory that counts look-ups; `hold` keeps them waiting until it is called again. */
class FakeStore {
  readonly rows = new Map<string, Principal>();
  readonly changes: { id: string; changedAt: Date }[] = [];
  readonly accountChanges: { id: number; changedAt: Date }[] = [];
  /** Held rows that a look asked about, by statement. */
  readonly askedAbout: number[] = [];
  readonly asked: (Date | null)[] = [];
  lookUps = 0;
  away = false;
  gate: Promise<void> | undefined;

  constructor(readonly clock: FakeClock) {}

  async findByHash(hash: string): Promise<Principal | undefined> {
    this.lookUps++;
    if (this.away) throw new Fault("store_unavailable");
    // What a database answers is what stood there when it read, not when the answer arrives.
    const read = this.rows.get(hash);
    await this.gate;
    return read;
  }

  changedSince(since: Date | null): Promise<KeyChanges> {
    this.asked.push(since);
    if (this.away) return Promise.reject(new Fault("store_unavailable"));
    const list = <Id>(all: { id: Id; changedAt: Date }[]): ChangeList<Id> => {
      const changes = since === null ? [] : all.filter((one) => one.changedAt >= since);
      return changes.length > maxListedChanges ? "many" : changes;
    };
    const [keys, accounts] = [list(this.changes), list(this.accountChanges)];
    return Promise.resolve({ now: this.clock.now(), keys, accounts });
  }

  async changedKeys(held: readonly Held<string>[], since: Date) {
    const found = await this.#changed(held, this.changes, since);
    const rows = new Map([...this.rows.values()].map((row) => [row.key.id, row]));
    const read = found.map(({ id, changedAt }) => ({ principal: rows.get(id)!, changedAt }));
    await this.gate;
    return read;
  }

  async changedAccounts(held: readonly Held<number>[], since: Date) {
    const found = await this.#changed(held, this.accountChanges, since);
    return found.map(({ id, changedAt }) => {
      const { account } = [...this.rows.values()].find((row) => row.account.id === id)!;
      return { account, changedAt };
    });
  }

  #changed<Id>(
    held: readonly Held<Id>[],
    all: readonly { id: Id; changedAt: Date }[],
    since: Date,
  ): Promise<{ id: Id; changedAt: Date }[]> {
    if (this.away) return Promise.reject(new Fault("store_unavailable"));
    this.askedAbout.push(held.length);
    const last = new Map(all.map((one) => [one.id, one]));
    const found = held.flatMap(({ id, changedAt }) => {
      const change = last.get(id);
      const isNew = change && change.changedAt >= since && change.changedAt.getTime() !== changedAt;
      return isNew ? [change] : [];
    });
    this.lookUps += found.length;
    return Promise.resolve(found);
  }

  changeAccount(more: Partial<Account>): void {
    for (const [hash, row] of this.rows) {
      if (row.account.id !== 1) continue;
      this.rows.set(hash, { ...row, account: { ...row.account, ...more } });
    }
    this.accountChanges.push({ id: 1, changedAt: this.clock.now() });
  }

  change(hash: string, more: Partial<ApiKey>): void {
    const row = this.rows.get(hash)!;
    this.rows.set(hash, { ...row, key: { ...row.key, ...more } });
    this.changes.push({ id: row.key.id, changedAt: this.clock.now() });
  }
}

function setup() {
  const clock = new FakeClock();
  const store = new FakeStore(clock);
  const ring = new KeyCache({ store, clock, isShared: true });
  const codeOf = (value: string) =>
    ring.verify(value).then(() => "ok", (thrown) => thrown instanceof Fault ? thrown.code : thrown);
  const add = (more: Partial<ApiKey> = {}) => {
    const minted = mintKey(clockOfKeys);
    store.rows.set(minted.hash, principal(minted.id, more));
    return { value: minted.value.reveal(), hash: minted.hash, id: minted.id };
  };
  const hold = () => {
    let release = () => {};
    store.gate = new Promise((resolve) => release = resolve);
    return () => {
      store.gate = undefined;
      release();
    };
  };
  return { clock, store, ring, codeOf, add, hold };
}

function principal(id: string, more: Partial<ApiKey>): Principal {
  const createdAt = new Date(0);
  return {
    key: {
      id,
      accountId: 1,
      name: "k",
      prefix: "dmt_",
      scopes: [],
      models: [],
      onDisconnect: "cancel",
      translationMode: "default",
      promptCache: true,
      capDayNanos: null,
      capMonthNanos: null,
      createdAt,
      expiresAt: null,
      revokedAt: null,
      ...more,
    },
    account: { id: 1, name: "a", tier: "free", requestsPerMinute: 60, burst: 100, createdAt },
  };
}

Deno.test("a known key is verified without the store, for as long as it stands", async () => {
  const { store, ring, add, clock } = setup();
  const key = add();
  assert.equal((await ring.verify(key.value)).key.id, key.id);
  clock.advance(24 * 3_600_000);
  store.away = true;
  assert.equal((await ring.verify(key.value)).key.id, key.id);
  assert.equal(store.lookUps, 1);
});

Deno.test("calls with one unseen key at the same time make one look-up", async () => {
  const { store, ring, add } = setup();
  const { value } = add();
  await Promise.all([ring.verify(value), ring.verify(value), ring.verify(value)]);
  assert.equal(store.lookUps, 1);
});

Deno.test("what can't be a key is refused without a look-up", async () => {
  const { store, codeOf, add } = setup();
  const { value } = add();
  const tampered = value.slice(0, -1) + (value.endsWith("a") ? "b" : "a");
  for (const wrong of ["", "dmt_", "sk-proj-x", tampered, value + " ", value.toUpperCase()]) {
    assert.equal(await codeOf(wrong), "invalid_api_key", wrong);
  }
  assert.equal(store.lookUps, 0);
});

Deno.test("a made-up key asks the store once in five seconds", async () => {
  const { store, codeOf, clock } = setup();
  const value = mintKey(clockOfKeys).value.reveal();
  for (let call = 0; call < 50; call++) {
    assert.equal(await codeOf(value), "invalid_api_key");
    clock.advance(99);
  }
  assert.equal(store.lookUps, 1);
  clock.advance(50);
  await codeOf(value);
  assert.equal(store.lookUps, 2);
});

Deno.test("of made-up keys the oldest are forgotten beyond 10,000", async () => {
  const { store, codeOf } = setup();
  const keys = Array.from({ length: 10_001 }, () => mintKey(clockOfKeys).value.reveal());
  for (const key of keys) await codeOf(key);
  for (const key of [keys.at(-1)!, keys[0]!]) await codeOf(key);
  assert.equal(store.lookUps, 10_002);
});

Deno.test("a key made after it was tried works five seconds later", async () => {
  const { store, codeOf, clock } = setup();
  const minted = mintKey(clockOfKeys);
  const value = minted.value.reveal();
  await codeOf(value);
  store.rows.set(minted.hash, principal(minted.id, {}));
  assert.equal(await codeOf(value), "invalid_api_key");
  clock.advance(5000);
  assert.equal(await codeOf(value), "ok");
});

Deno.test("a store that is away is store_unavailable, never a refused key, and isn't remembered", async () => {
  const { store, codeOf, add } = setup();
  const { value } = add();
  store.away = true;
  assert.equal(await codeOf(value), "store_unavailable");
  store.away = false;
  assert.equal(await codeOf(value), "ok");
});

Deno.test("a revoked or expired row is refused", async () => {
  const { codeOf, add, clock } = setup();
  assert.equal(await codeOf(add({ revokedAt: clock.now() }).value), "invalid_api_key");
  assert.equal(await codeOf(add({ expiresAt: clock.now() }).value), "invalid_api_key");
});

Deno.test("a remembered key ends at its time of expiry, without a look-up", async () => {
  const { codeOf, add, clock, store } = setup();
  const { value } = add({ expiresAt: new Date(clock.now().getTime() + 1000) });
  assert.equal(await codeOf(value), "ok");
  clock.advance(999);
  assert.equal(await codeOf(value), "ok");
  clock.advance(1);
  assert.equal(await codeOf(value), "invalid_api_key");
  assert.equal(store.lookUps, 1);
});

Deno.test("an evicted key is read again, others stay", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const gone = add();
  const stays = add();
  await codeOf(gone.value);
  await codeOf(stays.value);
  store.change(gone.hash, { revokedAt: clock.now() });
  assert.equal(await codeOf(gone.value), "ok");
  ring.evict([gone.id, "unknown"]);
  assert.equal(await codeOf(gone.value), "invalid_api_key");
  assert.equal(await codeOf(stays.value), "ok");
  assert.equal(store.lookUps, 3);
});

Deno.test("a revocation that overtakes a look-up is not undone by it", async () => {
  const { store, codeOf, add, ring, hold, clock } = setup();
  const { value, hash, id } = add();
  const release = hold();
  const verifying = codeOf(value);
  await Promise.resolve();
  // The look-up has read the old row and waits; now the row changes and the key is evicted.
  store.change(hash, { revokedAt: clock.now() });
  ring.evict([id]);
  release();
  assert.equal(await verifying, "invalid_api_key");
  assert.equal(await codeOf(value), "invalid_api_key");
});

Deno.test("a negative answer that an eviction overtakes is asked again", async () => {
  const { store, codeOf, ring, hold } = setup();
  const minted = mintKey(clockOfKeys);
  const release = hold();
  const verifying = codeOf(minted.value.reveal());
  await Promise.resolve();
  store.rows.set(minted.hash, principal(minted.id, {}));
  ring.evict(["any"]);
  release();
  assert.equal(await verifying, "ok");
});

Deno.test("an eviction of nothing makes nobody look again", async () => {
  const { store, codeOf, add, ring, hold } = setup();
  const { value } = add();
  const release = hold();
  const verifying = codeOf(value);
  await Promise.resolve();
  ring.evict([]);
  release();
  assert.equal(await verifying, "ok");
  assert.equal(store.lookUps, 1);
});

Deno.test("another process's revocation is refused after the next look at the store", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const { value, hash } = add();
  await ring.refresh();
  await codeOf(value);
  store.change(hash, { revokedAt: clock.now() });
  await ring.refresh();
  assert.equal(await codeOf(value), "invalid_api_key");
});

Deno.test("a change that became visible late, with an earlier time, is found all the same", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const { value, hash } = add();
  await ring.refresh();
  await codeOf(value);
  const committedLate = store.change.bind(store, hash, { revokedAt: clock.now() });
  clock.advance(30_000);
  await ring.refresh();
  clock.advance(-30_000);
  committedLate();
  clock.advance(30_250);
  await ring.refresh();
  assert.equal(await codeOf(value), "invalid_api_key");
});

Deno.test("a change that was seen evicts once, a second change of the same key again", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const { value, hash } = add();
  await ring.refresh();
  await codeOf(value);
  clock.advance(250);
  store.change(hash, { name: "renamed" });
  for (let look = 0; look < 4; look++) {
    await ring.refresh();
    await codeOf(value);
    clock.advance(250);
  }
  assert.equal(store.lookUps, 2);
  store.change(hash, { revokedAt: clock.now() });
  await ring.refresh();
  assert.equal(await codeOf(value), "invalid_api_key");
});

Deno.test("a key that changed is read again at once: a store that goes away then stops nobody", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const { value, hash } = add();
  await ring.refresh();
  await codeOf(value);
  store.change(hash, { name: "renamed" });
  clock.advance(250);
  await ring.refresh();
  store.away = true;
  assert.equal(await codeOf(value), "ok");
});

Deno.test("an eviction here that comes while a changed key is read again wins", async () => {
  const { store, codeOf, add, ring, clock, hold } = setup();
  const { value, hash, id } = add();
  await ring.refresh();
  await codeOf(value);
  store.change(hash, { name: "renamed" });
  clock.advance(250);
  const release = hold();
  const looking = ring.refresh();
  await new Promise((resolve) => setTimeout(resolve));
  store.change(hash, { revokedAt: clock.now() });
  ring.evict([id]);
  release();
  await looking;
  assert.equal(await codeOf(value), "invalid_api_key");
});

Deno.test("a row that was read before an eviction doesn't replace one that was read after it", async () => {
  const { store, codeOf, add, ring, clock, hold } = setup();
  const { value, hash, id } = add();
  const other = add();
  await ring.refresh();
  await codeOf(value);
  await codeOf(other.value);
  store.change(hash, { name: "renamed" });
  clock.advance(250);
  const release = hold();
  const looking = ring.refresh();
  await new Promise((resolve) => setTimeout(resolve));
  store.gate = undefined;
  store.change(hash, { revokedAt: clock.now() });
  store.change(other.hash, { revokedAt: clock.now() });
  ring.evict([id]);
  assert.equal(await codeOf(value), "invalid_api_key");
  release();
  await looking;
  assert.equal(await codeOf(value), "invalid_api_key");
  clock.advance(250);
  const releaseAgain = hold();
  const lookingAgain = ring.refresh();
  await new Promise((resolve) => setTimeout(resolve));
  ring.evict([id]);
  releaseAgain();
  await lookingAgain;
  assert.equal(
    await codeOf(other.value),
    "invalid_api_key",
    "its own change was read all the same",
  );
});

Deno.test("what changed while the store was away is asked for when it is back", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const { value, hash } = add();
  await ring.refresh();
  await codeOf(value);
  store.away = true;
  clock.advance(1000);
  store.change(hash, { revokedAt: clock.now() });
  clock.advance(600_000);
  await assert.rejects(ring.refresh(), { name: "Fault" });
  store.away = false;
  await ring.refresh();
  assert.equal(await codeOf(value), "invalid_api_key");
});

Deno.test("the first look asks for the time only, each later one goes back a minute", async () => {
  const { store, ring, clock } = setup();
  const first = clock.now().getTime();
  await ring.refresh();
  clock.advance(250);
  await ring.refresh();
  assert.deepEqual(store.asked, [null, new Date(first - 60_000)]);
});

Deno.test("a flood of wrong keys from a limited address costs the store a look a second", async () => {
  const clock = new FakeClock();
  const store = new FakeStore(clock);
  let lists = 0;
  const ring = new KeyCache({
    store,
    clock,
    isShared: true,
    usableHashes: () => Promise.resolve((lists++, [...store.rows.keys()])),
  });
  const limited = () => true;
  const wrong = () => ring.verify(mintKey(clock).value.reveal(), limited).catch(() => "refused");
  for (let n = 0; n < 100; n++) assert.equal(await wrong(), "refused");
  assert.deepEqual([store.lookUps, lists], [0, 1]);
  // A key made meanwhile is known within a second, though nobody has seen it yet.
  const key = mintKey(clock);
  store.rows.set(key.hash, principal(key.id, {}));
  clock.advance(1000);
  const found = await ring.verify(key.value.reveal(), limited);
  assert.equal(found.key.id, key.id);
  for (let n = 0; n < 100; n++) assert.equal(await wrong(), "refused");
  await ring.verify(key.value.reveal(), limited);
  assert.deepEqual([store.lookUps, lists], [1, 2]);
  // A new key is known at once to callers from elsewhere.
  const newer = mintKey(clock);
  store.rows.set(newer.hash, principal(newer.id, {}));
  await assert.rejects(ring.verify(newer.value.reveal(), limited));
  assert.equal((await ring.verify(newer.value.reveal())).key.id, newer.id);
  assert.deepEqual([store.lookUps, lists], [2, 2]);
});

Deno.test("an account that changes is read once for all its keys, which go on without the store", async () => {
  const { store, ring, add, clock } = setup();
  const keys = Array.from({ length: 1000 }, () => add());
  await ring.refresh();
  for (const { value } of keys) await ring.verify(value);
  store.lookUps = 0;
  clock.advance(250);
  store.changeAccount({ tier: "enterprise", requestsPerMinute: 6000 });
  for (let look = 0; look < 4; look++) {
    await ring.refresh();
    clock.advance(1000);
  }
  assert.deepEqual([store.lookUps, store.askedAbout], [1, [1]]);
  store.away = true;
  for (const { value } of keys) {
    const { account } = await ring.verify(value);
    assert.deepEqual([account.tier, account.requestsPerMinute], ["enterprise", 6000]);
  }
});

Deno.test("beside changes of many accounts one that is held is read, and no other", async () => {
  const { store, ring, add, clock } = setup();
  const { value } = add();
  const other = add();
  const held = store.rows.get(other.hash)!;
  store.rows.set(other.hash, { ...held, account: { ...held.account, id: 200_000 } });
  await ring.refresh();
  for (const key of [value, other.value]) await ring.verify(key);
  clock.advance(250);
  for (let id = 2; id < 100_000; id++) store.accountChanges.push({ id, changedAt: clock.now() });
  store.changeAccount({ tier: "enterprise" });
  await ring.refresh();
  assert.equal((await ring.verify(value)).account.tier, "enterprise");
  assert.equal((await ring.verify(other.value)).account.tier, "free");
  assert.deepEqual(store.askedAbout, [2]);
});

Deno.test("a look-up that a change of its account overtakes is made again", async () => {
  const { store, ring, add, clock, hold } = setup();
  const { value } = add();
  await ring.refresh();
  const release = hold();
  const verifying = ring.verify(value);
  await Promise.resolve();
  store.changeAccount({ tier: "enterprise" });
  clock.advance(250);
  await ring.refresh();
  release();
  assert.equal((await verifying).account.tier, "enterprise");
});

Deno.test("beside a bulk import a revoked key is refused at the next look, and only held keys are asked about", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const keys = Array.from({ length: 3 }, () => add());
  await ring.refresh();
  for (const { value } of keys) await codeOf(value);
  for (let n = 0; n < 100_000; n++) store.changes.push({ id: `new ${n}`, changedAt: clock.now() });
  for (let look = 0; look < 3; look++) {
    clock.advance(1000);
    await ring.refresh();
  }
  store.change(keys[1]!.hash, { revokedAt: clock.now() });
  clock.advance(1000);
  await ring.refresh();
  assert.deepEqual(await Promise.all(keys.map(({ value }) => codeOf(value))), [
    ...["ok", "invalid_api_key", "ok"],
  ]);
  assert.deepEqual([store.lookUps, store.askedAbout], [4, [3, 3, 3, 3]]);
});

Deno.test("a change of many keys is read once for each that is held, 500 at a time", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const keys = Array.from({ length: 1200 }, () => add());
  await ring.refresh();
  for (const { value } of keys) await codeOf(value);
  store.lookUps = 0;
  clock.advance(1000);
  for (const { hash } of keys) store.change(hash, { revokedAt: clock.now() });
  await ring.refresh();
  assert.deepEqual([store.lookUps, store.askedAbout], [1200, [500, 500, 200]]);
  for (const { value } of keys) assert.equal(await codeOf(value), "invalid_api_key");
  clock.advance(1000);
  await ring.refresh();
  assert.equal(store.lookUps, 1200);
});

Deno.test("changes that a cut look has not read are read by the next", async () => {
  const { store, codeOf, add, ring, clock } = setup();
  const { value, hash } = add();
  await ring.refresh();
  await codeOf(value);
  clock.advance(1000);
  store.change(hash, { name: "renamed" });
  store.changeAccount({ tier: "enterprise" });
  const { changedAccounts } = store;
  store.changedAccounts = () => Promise.reject(new Fault("store_unavailable"));
  await assert.rejects(ring.refresh(), { name: "Fault" });
  assert.equal((await ring.verify(value)).key.name, "renamed");
  store.changedAccounts = changedAccounts;
  clock.advance(600_000);
  await ring.refresh();
  assert.equal((await ring.verify(value)).account.tier, "enterprise");
});

Deno.test("after a pause of the process, its first call learns what was revoked meanwhile", async () => {
  const { clock, store, ring, codeOf, add } = setup();
  const key = add();
  await ring.refresh();
  assert.equal(await codeOf(key.value), "ok");
  store.change(key.hash, { revokedAt: clock.now() });
  clock.advance(10_000);
  const calls = [codeOf(key.value), codeOf(key.value)];
  assert.deepEqual(await Promise.all(calls), ["invalid_api_key", "invalid_api_key"]);
  assert.equal(store.asked.length, 2, "the calls share one look");
});

Deno.test("while the store is away, calls with a key in memory wait for it once", async () => {
  const { clock, store, ring, codeOf, add } = setup();
  const key = add();
  await ring.refresh();
  assert.equal(await codeOf(key.value), "ok");
  store.away = true;
  clock.advance(10_000);
  for (let n = 0; n < 5; n++) assert.equal(await codeOf(key.value), "ok");
  assert.equal(store.asked.length, 2);
  store.away = false;
  store.change(key.hash, { revokedAt: clock.now() });
  await ring.refresh();
  assert.equal(await codeOf(key.value), "invalid_api_key");
});

Deno.test("calls wait once for a store that takes seconds to answer, until it is fast again", async () => {
  const { clock, store, ring, codeOf, add } = setup();
  const key = add();
  await ring.refresh();
  assert.equal(await codeOf(key.value), "ok");
  let answerMs = 3_000;
  const look = store.changedSince.bind(store);
  store.changedSince = (since) => (clock.advance(answerMs), look(since));
  for (let n = 0; n < 5; n++) {
    await ring.refresh();
    assert.equal(await codeOf(key.value), "ok");
  }
  assert.equal(
    store.asked.length,
    7,
    "the first refresh, five more, and one that a call waits for",
  );
  answerMs = 10;
  await ring.refresh();
  store.change(key.hash, { revokedAt: clock.now() });
  clock.advance(10_000);
  assert.equal(await codeOf(key.value), "invalid_api_key");
});
