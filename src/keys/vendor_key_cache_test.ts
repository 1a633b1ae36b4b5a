import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { Secret } from "../base/secret.ts";
import { Fault } from "../shared/fault.ts";
import type { VendorKeyChange, VendorKeyRead, VendorKeyState } from "./vendor_key.ts";
import { createRegistry } from "../vendors/registry.ts";
import { VendorKeyCache } from "./vendor_key_cache.ts";

function setup() {
  const clock = new FakeClock();
  const rows = new Map<string, VendorKeyChange & { changedAt: Date }>();
  const lines: string[] = [];
  const store = {
    looks: 0,
    asked: [] as (Date | null)[],
    away: false,
    masterKeyMatches: true,
    gate: undefined as Promise<void> | undefined,
    async changedSince(since: Date | null): Promise<VendorKeyRead> {
      store.looks++;
      store.asked.push(since);
      if (store.away) throw new Fault("store_unavailable");
      const { masterKeyMatches } = store;
      const changes = [...rows.values()].filter((row) => since === null || row.changedAt >= since);
      const look = { now: clock.now(), masterKeyMatches, changes };
      await store.gate;
      return look;
    },
  };
  const ring = new VendorKeyCache({
    store,
    registry: createRegistry({}, []),
    log: createLog((line) => lines.push(line), () => clock.now()),
  });
  const put = (accountId: number, vendor: string, state: VendorKeyState) => {
    const key = `${accountId} ${vendor}`;
    const revision = (rows.get(key)?.revision ?? 0n) + 1n;
    rows.set(key, { accountId, vendor, revision, state, changedAt: clock.now() });
  };
  const set = (accountId: number, vendor: string, value: string) =>
    put(accountId, vendor, { kind: "stored", key: new Secret(value) });
  const find = async (accountId: number, vendor: string) =>
    (await ring.find(accountId, vendor))?.reveal();
  return { clock, store, ring, rows, lines, put, set, find };
}

const broken = { kind: "unreadable", reason: "it was changed" } as const;

Deno.test("a stored key is found for its account and vendor alone", async () => {
  const { set, find } = setup();
  set(1, "vendor-b", "b1");
  set(11, "vendor-b", "b11");
  set(1, "vendor-c", "c1");
  assert.equal(await find(1, "vendor-b"), "b1");
  assert.equal(await find(11, "vendor-b"), "b11");
  assert.equal(await find(1, "vendor-c"), "c1");
  assert.equal(await find(11, "vendor-c"), undefined);
  assert.equal(await find(2, "vendor-b"), undefined);
});

Deno.test("vendor-e takes the key stored for vendor-d; no other vendor takes another's", async () => {
  const { set, find } = setup();
  set(1, "vendor-d", "d1");
  assert.equal(await find(1, "vendor-d"), "d1");
  assert.equal(await find(1, "vendor-e"), "d1");
  for (const other of ["vendor-a", "vendor-b", "vendor-c", "vendor-f", "vendor-g", "unknown"]) {
    assert.equal(await find(1, other), undefined, other);
  }
});

Deno.test("after the first look no call asks the store, with a key or without", async () => {
  const { set, find, store } = setup();
  set(1, "vendor-b", "b1");
  await Promise.all([find(1, "vendor-b"), find(2, "vendor-b"), find(3, "vendor-d")]);
  for (let account = 1; account < 100; account++) await find(account, "vendor-b");
  assert.equal(store.looks, 1, "calls that come together share the first look");
});

Deno.test("another process's change and removal show after the next look", async () => {
  const { set, put, find, ring, clock } = setup();
  set(1, "vendor-b", "old");
  await ring.refresh();
  clock.advance(250);
  set(1, "vendor-b", "new");
  set(2, "vendor-a", "a2");
  await ring.refresh();
  assert.deepEqual([await find(1, "vendor-b"), await find(2, "vendor-a")], ["new", "a2"]);
  put(1, "vendor-b", { kind: "removed" });
  await ring.refresh();
  assert.deepEqual([await find(1, "vendor-b"), await find(2, "vendor-a")], [undefined, "a2"]);
});

Deno.test("each look goes back a minute, so a change that became visible late is found", async () => {
  const { store, set, find, ring, clock } = setup();
  const first = clock.now().getTime();
  await ring.refresh();
  clock.advance(30_000);
  await ring.refresh();
  assert.deepEqual(store.asked, [null, new Date(first - 60_000)]);
  clock.advance(-25_000);
  set(1, "vendor-b", "committed late");
  clock.advance(25_250);
  await ring.refresh();
  assert.equal(await find(1, "vendor-b"), "committed late");
});

Deno.test("a look that a newer one overtook undoes nothing", async () => {
  const { store, set, find, ring } = setup();
  set(1, "vendor-b", "old");
  let release = () => {};
  store.gate = new Promise((resolve) => release = resolve);
  const slow = ring.refresh();
  store.gate = undefined;
  set(1, "vendor-b", "new");
  await ring.refresh();
  release();
  await slow;
  assert.equal(await find(1, "vendor-b"), "new");
});

Deno.test("a store that is away leaves known keys usable, and absence known", async () => {
  const { store, set, find, ring } = setup();
  set(1, "vendor-b", "b1");
  await ring.refresh();
  store.away = true;
  await assert.rejects(ring.refresh(), { code: "store_unavailable" });
  assert.equal(await find(1, "vendor-b"), "b1");
  assert.equal(await find(2, "vendor-b"), undefined);
});

Deno.test("before the first read no caller is treated as without a key: it would be charged", async () => {
  const { store, set, find } = setup();
  set(1, "vendor-b", "b1");
  store.away = true;
  await assert.rejects(find(1, "vendor-b"), { code: "store_unavailable" });
  store.away = false;
  assert.equal(await find(1, "vendor-b"), "b1");
});

Deno.test("a key that doesn't open fails its calls clearly, is logged once, and others go on", async () => {
  const { put, set, find, ring, lines } = setup();
  put(1, "vendor-b", broken);
  set(1, "vendor-c", "c1");
  for (let look = 0; look < 3; look++) await ring.refresh();
  await assert.rejects(find(1, "vendor-b"), {
    code: "internal_error",
    message: /vendor-b can't be opened/,
  });
  assert.equal(await find(1, "vendor-c"), "c1");
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /can't be opened account=1 vendor=vendor-b reason="it was changed"/);
  set(1, "vendor-b", "stored again");
  await ring.refresh();
  assert.equal(await find(1, "vendor-b"), "stored again");
});

Deno.test("a process with an old master key says so where a key doesn't open", async () => {
  const { store, put, find, ring } = setup();
  put(1, "vendor-b", broken);
  store.masterKeyMatches = false;
  await ring.refresh();
  const message = /can't be opened\. Tell the operator: this process has another MASTER_KEY/;
  await assert.rejects(find(1, "vendor-b"), { code: "internal_error", message });
});

Deno.test("a key that was replaced and doesn't open isn't answered with the old one", async () => {
  const { put, set, find, ring } = setup();
  set(1, "vendor-b", "old, perhaps leaked");
  await ring.refresh();
  put(1, "vendor-b", broken);
  await ring.refresh();
  await assert.rejects(find(1, "vendor-b"), { code: "internal_error" });
});

Deno.test("a rotated master key is noticed once, and known keys go on working", async () => {
  const { store, rows, set, put, find, ring, lines, clock } = setup();
  set(1, "vendor-b", "b1");
  await ring.refresh();
  store.masterKeyMatches = false;
  const row = rows.get("1 vendor-b")!;
  // The same revision, sealed under a key that this process doesn't have.
  rows.set("1 vendor-b", { ...row, state: broken });
  put(2, "vendor-b", broken);
  for (let look = 0; look < 3; look++) await ring.refresh();
  assert.equal(await find(1, "vendor-b"), "b1");
  await assert.rejects(find(2, "vendor-b"), { code: "internal_error" });
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, / error vendor keys are now sealed under another MASTER_KEY/);
  // The file of a shared data directory holds the new one now; all that failed is tried again.
  clock.advance(600_000);
  await ring.refresh();
  store.masterKeyMatches = true;
  const state = { kind: "stored", key: new Secret("b2") } as const;
  rows.set("2 vendor-b", { ...rows.get("2 vendor-b")!, state });
  for (let look = 0; look < 2; look++) await ring.refresh();
  assert.equal(await find(2, "vendor-b"), "b2");
  assert.equal(lines.length, 1);
});
