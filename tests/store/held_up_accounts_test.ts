import assert from "@std/assert";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import type { Database } from "../../src/database/database.ts";
import { replayIdOf } from "../../src/idempotency/request_fingerprint.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { within } from "../../src/base/deadline.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { Recorder } from "../../src/records/recorder.ts";
import { createReplayedWriter } from "../../src/records/replayed_calls.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { createThreadInsert, openWriteThread } from "../../src/records/store/write_thread.ts";
import type { InteractionStore, SettledCall } from "../../src/shared/interaction.ts";
import { createMigrated, onPostgres } from "../support/databases.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { withFolder } from "./children.ts";
import { interaction, newAccount } from "./samples.ts";

const lockedNames = ["balance", "request", "period", "sums"];

/** Accounts for each of which one row is locked, and one that is free. */
async function setUp(database: Database) {
  const ids: Record<string, number> = {};
  const ledger = createLedger(database);
  for (const name of [...lockedNames, "free"]) {
    ids[name] = await newAccount(database, name);
    await ledger.grant(ids[name]!, 1_000n);
  }
  const claim = {
    ...replayIdOf(
      { accountId: ids.request!, method: "POST", path: "/p", requestId: "r", bodyText: "{}" },
    ),
    claimId: "claim",
  };
  await createReplays(database, { processId: "p" }).claim(claim);
  const now = new Date();
  await createBudgetStore(database).set("budget", {
    ...{ accountId: ids.period!, scope: { kind: "account", name: "" }, per: "day" } as const,
    ...{ limitNanos: 1_000n, raised: null },
  }, { now, prior: () => Promise.resolve(0n) });
  const call = (name: string, id: string): SettledCall =>
    interaction(ids[name]!, id, {
      ...{ status: "completed", costNanos: 10n },
      // What is charged locks the balance, even where the sums are locked.
      chargedNanos: name === "sums" ? 0n : 10n,
      ...name === "request" ? { repeat: { key: claim.key, claimId: claim.claimId } } : {},
    });
  return { ids, ledger, call };
}

const locks = (ids: Record<string, number>) => [
  `select from account_balances where account_id = ${ids.balance} for update`,
  `select from replays where account_id = ${ids.request} for update`,
  "select from budget_periods for update",
  `select from usage_sums where account_id = ${ids.sums} for update`,
];

/** Records through a recorder while the rows are locked; the others are stored meanwhile. */
async function holdsUpNoOthers(
  database: Database,
  insert: InteractionStore["insert"],
): Promise<void> {
  const { ids, ledger, call } = await setUp(database);
  const stored: string[] = [];
  const recorder = new Recorder({
    store: { insert },
    log: { info() {}, warn() {}, error: assert.fail },
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    stored: (some) => stored.push(...some),
  });
  const recordAll = (prefix: string) => {
    for (const name of Object.keys(ids)) recorder.record(call(name, `${prefix} ${name}`));
  };
  recordAll("before");
  await recorder.drain();
  await database.transaction(async (tx) => {
    for (const lock of locks(ids)) await tx.query(lock);
    recordAll("first");
    for (const id of ["first free", "second free"]) {
      const endMs = Date.now() + 60_000;
      while (!stored.includes(id) && Date.now() < endMs) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.ok(stored.includes(id), `${id} waits for other accounts`);
      if (id === "first free") recordAll("second");
    }
    assert.deepEqual(stored.filter((id) => !id.startsWith("before") && !id.endsWith("free")), []);
  });
  await recorder.drain();
  assert.equal(stored.length, 15);
  for (const [name, id] of Object.entries(ids)) {
    const { balanceNanos } = await ledger.show(id);
    assert.equal(balanceNanos, name === "sums" ? 1_000n : 970n, name);
  }
  assert.deepEqual(await ledger.check(), []);
  const [period] = await database.query("select spent_nanos from budget_periods", []);
  assert.equal(period?.spent_nanos, 30n);
  recorder.close();
}

onPostgres("records wait only for locked rows of their own account", async (database) => {
  await holdsUpNoOthers(database, createRecords(database).insert);
});

async function countStored(database: Database, accountId: number): Promise<number> {
  const [row] = await database.query(
    "select count(*) as count from interactions where account_id = $1",
    [accountId],
  );
  return Number(row!.count);
}

onPostgres(
  "more records of a locked account than memory has room for hold up no others",
  (database) =>
    withFolder(async (folder) => {
      const { ids, ledger, call } = await setUp(database);
      const insert = createRecords(database).insert;
      const log = { info() {}, warn() {}, error: assert.fail };
      const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
      const startRun = async () => {
        const journal = await openJournal(folder, { sync: "interval", segmentBytes: 20_000 });
        const recorder = new Recorder({
          ...{ store: { insert }, log, pause, spillSpace: journal },
          stored: (some) => journal.stored(some),
          memory: { rows: 20, chars: 16 * 1024 * 1024 },
        });
        return { journal, recorder };
      };
      const first = await startRun();
      const record = (name: string, count: number, prefix: string) => {
        for (let at = 0; at < count; at++) {
          const ended = call(name, `${prefix} ${name} ${at}`);
          first.journal.begin({ ...ended, responseText: null });
          void first.journal.end(ended);
          first.recorder.record(ended);
        }
      };
      await database.transaction(async (tx) => {
        await tx.query(locks(ids)[0]!);
        record("balance", 100, "first");
        record("free", 10, "first");
        await within(60_000, first.recorder.drain(ids.free), "late");
        record("balance", 100, "second");
        record("free", 10, "second");
        await within(60_000, first.recorder.drain(ids.free), "late");
        assert.equal(
          await countStored(database, ids.free!),
          20,
          "they wait for the locked account",
        );
        assert.equal(first.recorder.waiting, 200);
        assert.ok(first.recorder.inMemory.length <= 10, String(first.recorder.inMemory.length));
      });
      // The process is killed while it writes those that it has read again.
      while (first.recorder.waiting > 150) await pause(1);
      first.recorder.close();
      const second = await startRun();
      await second.journal.replay(createReplayedWriter(second));
      assert.equal(await countStored(database, ids.balance!), 200);
      assert.equal((await ledger.show(ids.balance!)).balanceNanos, 1_000n - 200n * 10n);
      assert.deepEqual(await ledger.check(), []);
      second.recorder.close();
      await second.journal.close();
      await first.journal.close();
    }),
);

const { available } = postgresAvailability();

Deno.test({
  name: "so do those that the thread writes (postgres)",
  ignore: !available,
  fn: async () => {
    const created = await createMigrated();
    const database = await openPostgres(created.url);
    const thread = openWriteThread(database);
    try {
      const urls = { main: created.url };
      const onDropped = () => Promise.resolve();
      await holdsUpNoOthers(database, createThreadInsert({ thread, urls, onDropped }));
    } finally {
      await thread.close();
      await database.close();
      await created.drop();
    }
  },
});
