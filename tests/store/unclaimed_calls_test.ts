/** Calls whose id could not be claimed, since the store was away: charged once with their repeats. */
import assert from "@std/assert";
import { refundCharge } from "../../src/credit/store/refund_charge.ts";
import { createLedger, postAll } from "../../src/credit/store/ledger.ts";
import { chargeOnce } from "../../src/credit/store/charge_once.ts";
import type { Database } from "../../src/database/database.ts";
import { type Claim, replayIdOf } from "../../src/idempotency/request_fingerprint.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createRecords } from "../../src/records/store/records.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { erase, request } from "./erasing.ts";
import { interaction, newAccount, untilOneWaits } from "./samples.ts";

const charge = 1_000n;
const hourMs = 3_600_000;

async function setUp(database: Database) {
  const accountId = await newAccount(database);
  const ledger = createLedger(database);
  await ledger.grant(accountId, 1_000_000n);
  const records = createRecords(database);
  const store = createReplays(database, { processId: "process" });
  const analytics = createAnalyticsStore(database);
  const createdAt = new Date();
  const claimOf = (claimId: string, bodyText = "{}"): Claim => ({
    ...replayIdOf({ accountId, method: "POST", path: "/p", requestId: "r1", bodyText }),
    claimId,
  });
  const call = (id: string, repeat: Claim, more: Partial<SettledCall> = {}): SettledCall =>
    interaction(accountId, id, {
      ...{ createdAt, status: "completed", repeat },
      ...{ chargedNanos: charge, costNanos: charge, ...more },
    });
  /** As the process that answered `id` does where it lives to see that another one answered too. */
  const refund = (id: string, originalId: string | null, note = "twice") =>
    refundCharge(
      database,
      { accountId, transactionId: id, note, claim: claimOf(id), originalId },
      analytics,
    );
  return {
    ...{ accountId, store, claimOf, refund },
    callOf: (id: string) => call(id, claimOf(id)),
    write: (...ids: string[]) => records.insert(ids.map((id) => call(id, claimOf(id)))),
    writeWith: (id: string, more: Partial<SettledCall>, bodyText?: string) =>
      records.insert([call(id, claimOf(id, bodyText), more)]),
    finish: (id: string, bodyText?: string) => store.finish(claimOf(id, bodyText), answer(id)),
    /** A call whose id was claimed, as the store knows. */
    claimed: async (id: string) => {
      const { key, claimId } = claimOf(id);
      await store.claim(claimOf(id));
      return () => records.insert([call(id, claimOf(id), { repeat: { key, claimId } })]);
    },
    charged: async () => {
      const rows = await database.query(
        `select transaction_id, charged_nanos from interactions where charged_nanos > 0
         order by transaction_id`,
        [],
      );
      const { balanceNanos } = await ledger.show(accountId);
      assert.equal(
        balanceNanos,
        1_000_000n - charge * BigInt(rows.length),
        "rows and ledger agree",
      );
      assert.deepEqual(await ledger.check(), []);
      return rows.map(({ transaction_id }) => String(transaction_id));
    },
  };
}

const answer = (transactionId: string) => ({
  ...{ status: 200, headers: {}, body: new Uint8Array([1]), streamed: false, transactionId },
});

eachDatabase(
  "two unclaimed calls of one request are one charge, in any order",
  async (database) => {
    const { write, finish, charged, refund } = await setUp(database);
    await write("x", "y");
    assert.deepEqual(await charged(), ["x"]);
    await write("y", "x");
    assert.deepEqual(await charged(), ["x"], "written again");
    assert.deepEqual(await finish("y"), { state: "stored", isChargedElsewhere: true });
    await refund("y", null);
    assert.deepEqual(await finish("x"), { state: "duplicate", transactionId: "y" });
    await refund("x", "y");
    await write("x", "y");
    assert.deepEqual(await charged(), ["x"], "both processes live to see it");
  },
);

for (const first of ["answer", "record"]) {
  eachDatabase(
    `a journal that is recovered after a repeat is not charged again; the ${first} comes first`,
    async (database) => {
      const { write, finish, charged } = await setUp(database);
      const steps = [() => finish("y"), () => write("y")];
      for (const step of first === "answer" ? steps : steps.reverse()) await step();
      await write("x");
      assert.deepEqual(await charged(), ["y"]);
    },
  );
}

eachDatabase(
  "a repeat that was claimed before the journal is recovered is one charge with it",
  async (
    database,
  ) => {
    const { write, store, claimed, claimOf, finish, charged } = await setUp(database);
    const writeY = await claimed("y");
    await write("x");
    await writeY();
    assert.deepEqual(await charged(), ["x"]);
    // It came to nothing: the line is as long as the store knows the first call.
    await store.release(claimOf("y"));
    const writeZ = await claimed("z");
    await writeZ();
    assert.deepEqual(await finish("z"), { state: "stored", isChargedElsewhere: true });
    assert.deepEqual(await charged(), ["x"]);
  },
);

eachDatabase("a repeat after the journal is recovered is one charge with it", async (database) => {
  const { write, claimed, charged } = await setUp(database);
  await write("x");
  await (await claimed("y"))();
  assert.deepEqual(await charged(), ["x"]);
});

eachDatabase("what is no repeat is charged by itself", async (database) => {
  const { accountId, write, writeWith, finish, store, charged } = await setUp(database);
  // The first call was an answer of the cache, failed, or was paid for by the caller.
  await writeWith("a", { cache: "hit", chargedNanos: 0n, costNanos: 0n });
  await writeWith("b", { status: "failed", chargedNanos: 0n });
  await writeWith("c", { mode: "stored_key", chargedNanos: 0n });
  // A day before; with another body.
  await writeWith("d", { createdAt: new Date(Date.now() - 25 * hourMs) });
  await writeWith("e", {}, '{"other": 1}');
  await write("f");
  // An answer with another body, and one that is older than a day.
  await finish("f");
  await writeWith("g", {}, '{"other": 2}');
  await database.query("update replays set until = clock_timestamp() - interval '1 s'", []);
  await write("h");
  assert.deepEqual(await charged(), ["d", "e", "f", "g", "h"]);
  // Erased, on either side.
  const otherId = '{"other": 3}';
  await database.query("delete from replays", []);
  await writeWith("i", {}, otherId);
  await erase(database, request(accountId, { transactionIds: ["i"] }));
  await store.erase(["i"]);
  await writeWith("j", {}, otherId);
  await finish("j", otherId);
  await store.erase(["j"]);
  await writeWith("k", {}, otherId);
  assert.deepEqual(await charged(), ["d", "e", "f", "g", "h", "i", "j", "k"]);
});

eachDatabase("a process that answers again for want of room refunds one charge at most", async (
  database,
) => {
  const { write, store, claimOf, finish, charged, refund } = await setUp(database);
  await write("x");
  await write("y");
  assert.deepEqual(await charged(), ["x"]);
  // The first answer's texts are gone: its claim is released, and the second answer is stored.
  await store.release(claimOf("x"));
  assert.deepEqual(await finish("y"), { state: "stored" });
  await refund("x", "y");
  assert.deepEqual(await charged(), ["x"]);
});

eachDatabase("a call that was charged stays charged when its record is written again", async (
  database,
) => {
  const { write, store, finish, charged } = await setUp(database);
  await write("x");
  await store.erase(["x"]);
  await write("y");
  await finish("y");
  await write("x");
  assert.deepEqual(await charged(), ["x", "y"]);
  const entries = await database.query(
    "select operation_id from ledger_entries where kind = 'adjust'",
    [],
  );
  assert.deepEqual(entries, []);
});

onPostgres("two unclaimed calls that two processes write at once are one charge", async (
  database,
  open,
) => {
  const { callOf, write, charged } = await setUp(database);
  const records = createRecords(await open());
  const { done } = await database.transaction(async (tx) => {
    await chargeOnce(tx, [callOf("x")]);
    let isOver = false;
    const done = records.insert([callOf("y")]).finally(() => isOver = true);
    await untilOneWaits(tx, () => isOver);
    return { done };
  });
  await done;
  await write("x");
  assert.deepEqual(await charged(), ["x"]);
});

onPostgres("a claim that is released while another is added leaves that one", async (
  database,
  open,
) => {
  const { accountId, callOf, write, claimed, claimOf, charged } = await setUp(database);
  const other = createReplays(await open(), { processId: "other" });
  await claimed("y");
  const { released } = await database.transaction(async (tx) => {
    await chargeOnce(tx, [callOf("x")]);
    await postAll(tx, [{ interactionId: "x", accountId, leaseId: null, chargedNanos: charge }]);
    let isOver = false;
    const released = other.release(claimOf("y")).finally(() => isOver = true);
    await untilOneWaits(tx, () => isOver);
    return { released };
  });
  assert.equal(await released, true);
  await write("x");
  const writeZ = await claimed("z");
  await writeZ();
  assert.deepEqual(await charged(), ["x"]);
});

eachDatabase("a repeat waits for no clock that is ahead of the database's", async (database) => {
  const { writeWith, store, claimOf } = await setUp(database);
  await writeWith("x", { createdAt: new Date(Date.now() + hourMs) });
  assert.deepEqual(await store.claim(claimOf("y")), { state: "free" });
});
