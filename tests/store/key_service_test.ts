import assert from "@std/assert";
import type { ApiKey, NewApiKey } from "../../src/keys/api_key.ts";
import type { KeyFilter } from "../../src/keys/key_service.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { commandLine } from "../../src/audit/audit.ts";
import { createAuditLog } from "../../src/audit/store/audit.ts";
import type { Database } from "../../src/database/database.ts";
import {
  carrySpend,
  createReadSpend,
  insertKeyCharges,
  sweepKeyCharges,
} from "../../src/credit/store/spend.ts";
import { createKeyChanges } from "../../src/keys/store/key_changes.ts";
import { createKeyService, revokeKeysOf } from "../../src/keys/store/key_service.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { interaction } from "./samples.ts";

const limits = { tier: "pro", requestsPerMinute: 600, burst: 1000 } as const;
const now = new Date("2026-11-21T00:00:00Z");

function newKey(accountId: number, id: string): NewApiKey {
  return {
    id,
    accountId,
    name: `key ${id}`,
    prefix: "dmt_abcd",
    hash: `hash of ${id}`,
    scopes: ["chat"],
    models: [],
    onDisconnect: "drain",
    translationMode: "default",
    capDayNanos: 5n,
    capMonthNanos: null,
    expiresAt: null,
  };
}

async function setUp(database: Database) {
  const accounts = createAccounts(database);
  const account = await accounts.create({ name: "ours", ...limits });
  const other = await accounts.create({ name: "other", ...limits });
  return {
    account,
    other,
    desk: createKeyService(database, { analytics: createAnalyticsStore(database), carrySpend }),
    keys: createApiKeys(database),
  };
}

eachDatabase("a key is listed with its environment and last use", async (database) => {
  const { account, other, desk: keyService, keys } = await setUp(database);
  for (const [id, name] of [["ben", "Ben"], ["ann", "Ann"]] as const) {
    await database.query(
      `insert into people (id, issuer, subject, name, created_at, signed_in_at)
       values ($1, 'idp', $1, $2, $3, $3)`,
      [id, name, now],
    );
  }
  await keyService.create(newKey(account.id, "a"), { environment: "staging", madeBy: "ann" });
  await keys.insert(newKey(account.id, "b"));
  await keys.insert(newKey(other.id, "c"));
  const usedAt = new Date("2026-11-20T10:00:00Z");
  const calls = [new Date("2026-11-19T10:00:00Z"), usedAt].map((createdAt) =>
    interaction(account.id, createdAt.toISOString(), { createdAt, apiKeyId: "a" })
  );
  await createAnalyticsStore(database).insert(calls);
  const [b, a, ...more] = await keyService.list(account.id);
  assert.deepEqual([a?.id, a?.environment, a?.lastUsedAt], ["a", "staging", usedAt]);
  assert.deepEqual(a?.madeBy, { id: "ann", name: "person 'Ann' (…ann)" });
  assert.deepEqual([b?.id, b?.environment, b?.lastUsedAt, more], ["b", "", null, []]);
  assert.equal(b?.madeBy, null);
  assert.equal(await keyService.find(account.id, "c"), undefined);
});

eachDatabase("a form offers the newest keys, and reads no calls for them", async (database) => {
  const { account, other, keys } = await setUp(database);
  const lastUses = () => Promise.reject(new Error("last uses were read"));
  const service = createKeyService(database, { analytics: { lastUses }, carrySpend });
  for (const id of ["a", "b", "c", "d"]) await keys.insert(newKey(account.id, id));
  await keys.insert(newKey(other.id, "e"));
  await keys.revoke("c");
  const offered = async (filter: Parameters<typeof service.offered>[1]) =>
    (await service.offered(account.id, filter)).map(({ id }) => id);
  assert.deepEqual(await offered({ limit: 3 }), ["d", "c", "b"]);
  assert.deepEqual(await offered({ limit: 10, isInUse: true }), ["d", "b", "a"]);
});

eachDatabase(
  "keys are listed in pages, by name or value, by cap and by maker",
  async (database) => {
    const { account, other, keys, desk: keyService } = await setUp(database);
    const list = async (filter: KeyFilter) =>
      (await keyService.list(account.id, filter)).map(({ id }) => id);
    for (const id of ["a", "b", "c", "d", "e"]) {
      const capDayNanos = id === "b" || id === "c" ? 1n : null;
      const key = {
        ...newKey(account.id, id),
        name: `Shop_${id}`,
        prefix: `dmt_${id}`,
        capDayNanos,
      };
      await keyService.create(key, { environment: "", madeBy: id < "c" ? "ann" : "ben" });
    }
    await keys.insert(newKey(other.id, "f"));
    const all = await keyService.list(account.id);
    assert.deepEqual(all.map(({ id }) => id), ["e", "d", "c", "b", "a"]);
    for (const [at, key] of all.entries()) {
      assert.deepEqual(
        await list({ after: key, limit: 2 }),
        all.slice(at + 1, at + 3).map(({ id }) => id),
      );
    }
    assert.deepEqual(await list({ search: "shop_C" }), ["c"]);
    assert.deepEqual(await list({ search: "shop%c" }), [], "no pattern");
    assert.deepEqual(await list({ search: "dmt_d and all that follows" }), ["d"]);
    assert.deepEqual(await list({ search: "\0\ud800" }), [], "what no text of the database has");
    assert.deepEqual(await list({ search: "mt_" }), [], "a value is searched by its beginning");
    const made = async (accountId: number, personIds: string[]) =>
      (await keyService.madeBy(accountId, personIds)).map(({ personId, prefix }) =>
        `${prefix} of ${personId}`
      );
    assert.deepEqual(await made(account.id, ["ann"]), ["dmt_b of ann", "dmt_a of ann"]);
    assert.deepEqual(await made(account.id, []), []);
    assert.deepEqual(await made(other.id, ["ann"]), [], "another account's");
    await keyService.revoke(account.id, "c");
    assert.deepEqual(await list({ isCapped: true }), ["b"]);
    await database.query("update api_keys set expires_at = created_at where id = 'e'", []);
    assert.deepEqual(await list({ isInUse: true, limit: 2 }), ["d", "b"]);
    assert.deepEqual(await made(account.id, ["ben"]), ["dmt_d of ben"], "those in use");
    const names = await keyService.names(account.id, ["a", "f", "none", "\0"]);
    assert.deepEqual([...names], [["a", "Shop_a"]], "another account's keys have no name");
  },
);

eachDatabase("another account's key can't be revoked or rotated", async (database) => {
  const { account, other, desk: keyService } = await setUp(database);
  await keyService.create(newKey(account.id, "a"), { environment: "" });
  assert.equal(await keyService.revoke(other.id, "a"), false);
  const times = { oldEndsAt: now, now };
  assert.equal(await keyService.rotate(other.id, "a", () => newKey(other.id, "n"), times), false);
  assert.equal((await keyService.find(account.id, "a"))?.expiresAt, null);
  assert.deepEqual(await keyService.list(other.id), []);
  assert.equal(await keyService.revoke(account.id, "a"), true);
  assert.equal(await keyService.revoke(account.id, "a"), false);
});

onPostgres(
  "a key that is rotated or revoked at the same moment is not rotated",
  async (database) => {
    const { account, desk: keyService } = await setUp(database);
    const rotate = (id: string, next: string) => () =>
      keyService.rotate(account.id, id, () => newKey(account.id, next), { oldEndsAt: now, now });
    const held = "select from api_keys for update";
    for (const id of ["a", "b"]) {
      await keyService.create(newKey(account.id, id), {
        environment: "",
      });
    }
    const twice = await startInTurn(database, held, rotate("a", "c"), rotate("a", "d"));
    assert.deepEqual(twice, [true, false]);
    const revoke = () => keyService.revoke(account.id, "b");
    assert.deepEqual(await startInTurn(database, held, revoke, rotate("b", "e")), [true, false]);
  },
);

eachDatabase("a rotated key ends with the overlap, or when it would anyway", async (database) => {
  const { account, desk: keyService } = await setUp(database);
  await keyService.create(newKey(account.id, "a"), { environment: "production" });
  const oldEndsAt = new Date(now.getTime() + 1000);
  const later = new Date(now.getTime() + 9000);
  const noted: [string, Date][] = [];
  const audit = (made: ApiKey, endsAt: Date) => {
    noted.push([made.id, endsAt]);
    return {
      accountId: account.id,
      actor: commandLine,
      at: now,
      action: "",
      subject: "",
      detail: "",
    };
  };
  const rotate = (id: string, next: string, ends: Date, at = now) =>
    keyService.rotate(account.id, id, () => newKey(account.id, next), {
      ...{ oldEndsAt: ends, now: at, audit },
    });
  assert.ok(await rotate("a", "b", oldEndsAt));
  const [old, next] = await Promise.all(["a", "b"].map((id) => keyService.find(account.id, id)));
  assert.deepEqual([old?.expiresAt, old?.isReplaced], [oldEndsAt, true]);
  assert.deepEqual([next?.environment, next?.replaces], ["production", "a"]);
  assert.equal(next?.isReplaced, false);
  // Once replaced is enough: a third key would belong to nobody.
  assert.equal(await rotate("a", "c", later), false);
  await keyService.create({ ...newKey(account.id, "short"), expiresAt: oldEndsAt }, {
    environment: "",
  });
  assert.equal(await rotate("short", "d", later, oldEndsAt), false);
  assert.ok(await rotate("short", "d", later));
  assert.deepEqual((await keyService.find(account.id, "short"))?.expiresAt, oldEndsAt);
  assert.deepEqual(noted, [["b", oldEndsAt], ["d", oldEndsAt]], "when the old key does end");
  assert.equal(await keyService.find(account.id, "c"), undefined);
});

eachDatabase(
  "whatever ends or changes a key, processes that hold it are told",
  async (database) => {
    const { account, other, desk: keyService } = await setUp(database);
    const make = (accountId: number, id: string, madeBy: string) =>
      keyService.create(newKey(accountId, id), { environment: "", madeBy });
    for (const id of ["revoked", "rotated", "capped", "ann's"]) await make(account.id, id, "ann");
    await make(account.id, "ben's", "ben");
    await make(other.id, "ann's elsewhere", "ann");
    const changes = createKeyChanges(database);
    /** The keys that are listed as changed by what is done. */
    const changedBy = async (act: () => Promise<unknown>) => {
      const { now: since } = await changes.changedSince(null);
      // The time has milliseconds: the next one begins after every change so far.
      while ((await changes.changedSince(null)).now <= since);
      const { now: from } = await changes.changedSince(null);
      assert.ok(await act());
      const { keys } = await changes.changedSince(from);
      return keys === "many" ? keys : keys.map(({ id }) => id).sort();
    };
    const times = { oldEndsAt: now, now };
    const rotate = (id: string) =>
      keyService.rotate(account.id, id, () => newKey(account.id, "new"), times);
    assert.deepEqual(await changedBy(() => keyService.revoke(account.id, "revoked")), ["revoked"]);
    assert.deepEqual(await changedBy(() => rotate("rotated")), ["new", "rotated"]);
    assert.equal(await rotate("revoked"), false, "a revoked key gets no successor");
    const change = { name: "less", capDayNanos: 1n };
    const lower = () => keyService.change(account.id, "capped", change);
    assert.deepEqual(await changedBy(lower), ["capped"]);
    for (const id of ["rotated", "capped"]) await keyService.revoke(account.id, id);
    const note = { accountId: account.id, actor: { personId: null, name: "owner" }, at: now };
    const audit = () => ({ ...note, action: "key.revoked", subject: "", detail: "" });
    const removed = () => database.transaction((tx) => revokeKeysOf(tx, account.id, "ann", audit));
    // Of a person who is removed only the keys made in that account.
    assert.deepEqual(await changedBy(removed), ["ann's"]);
  },
);

eachDatabase("a cap that is lowered while the key's page is open holds for the next key", async (
  database,
) => {
  const { account, desk: keyService } = await setUp(database);
  await keyService.create(newKey(account.id, "a"), { environment: "" });
  const shown = (await keyService.find(account.id, "a"))!;
  const lowered = { name: "lower", capDayNanos: 2n, capMonthNanos: 3n };
  assert.ok(await keyService.change(account.id, "a", lowered));
  const as = (old: ApiKey) => ({ ...old, id: "b", hash: "b" });
  const times = { oldEndsAt: now, now };
  assert.ok(await keyService.rotate(account.id, shown.id, as, times));
  const { name, capDayNanos, capMonthNanos } = (await keyService.find(account.id, "b"))!;
  assert.deepEqual({ name, capDayNanos, capMonthNanos }, lowered);
});

eachDatabase("what a key was charged counts under the caps of the one that replaces it", async (
  database,
) => {
  const { account, desk: keyService } = await setUp(database);
  const readSpend = createReadSpend(database);
  const spentBy = async (id: string) => (await readSpend([id], now)).get(id);
  await keyService.create(newKey(account.id, "a"), { environment: "" });
  const charge = (transactionId: string, createdAt: Date, chargedNanos: bigint) => ({
    ...interaction(account.id, transactionId, { apiKeyId: "a", createdAt, chargedNanos }),
    ...{ leaseIds: [], fromLeaseNanos: 0n },
  });
  const yesterday = new Date(now.getTime() - 1);
  await database.transaction((tx) =>
    insertKeyCharges(tx, [charge("t1", yesterday, 3n), charge("t2", now, 4n)])
  );
  const times = { oldEndsAt: now, now };
  assert.ok(await keyService.rotate(account.id, "a", () => newKey(account.id, "b"), times));
  assert.deepEqual(await spentBy("b"), { dayNanos: 4n, monthNanos: 7n });
  assert.ok(await keyService.rotate(account.id, "b", () => newKey(account.id, "c"), times));
  assert.deepEqual(await spentBy("c"), { dayNanos: 4n, monthNanos: 7n });
  // They end as other charges do.
  await sweepKeyCharges(database, new Date("2027-01-15T00:00:00Z"));
  assert.deepEqual(await database.query("select 1 from key_spend"), []);
});

eachDatabase("acts are listed by account, the latest first, page by page", async (database) => {
  const { account, other } = await setUp(database);
  const log = createAuditLog(database, () => now);
  const actor = { personId: "p", name: "Ann" };
  for (const [accountId, subject] of [[account.id, "1"], [other.id, "x"], [account.id, "2"]]) {
    await log.record({
      accountId: Number(accountId),
      actor,
      action: "api_key.created",
      subject: `${subject}`,
      detail: "",
    });
  }
  const [latest] = await log.list(account.id, { before: null, limit: 1 });
  assert.deepEqual([latest?.subject, latest?.actor, latest?.at], ["2", actor, now]);
  const rest = await log.list(account.id, { before: latest!.id, limit: 10 });
  assert.deepEqual(rest.map(({ subject }) => subject), ["1"]);
});
