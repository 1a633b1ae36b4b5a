import assert from "@std/assert";
import type { Interaction } from "../../src/shared/interaction.ts";
import { Recorder } from "../../src/records/recorder.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { withFolder } from "./children.ts";
import { collect, interaction, newAccount } from "./samples.ts";

const refusal = "a row that the store refuses is charged and kept in a file, others are stored";

eachDatabase(refusal, (database) => refusesOne(database, database));

onPostgres(
  `with a database for rows, ${refusal}`,
  async (database, open) => await refusesOne(database, await open()),
);

async function refusesOne(database: Database, rows: Database): Promise<void> {
  await withFolder(async (folder) => {
    const account = await newAccount(database);
    const ledger = createLedger(database);
    await ledger.grant(account, 1_000n);
    const store = createRecords(database, createAnalyticsStore(rows, database));
    const journal = await openJournal(folder, { sync: "always" });
    const lines: string[] = [];
    const log = { info() {}, warn() {}, error: (message: string) => void lines.push(message) };
    const recorder = new Recorder({
      store,
      log,
      pause: () => Promise.reject(new Error("the store is there")),
      stored: (ids) => journal.stored(ids),
      reject: (row, reason) => journal.reject(row, reason),
      spillSpace: journal,
    });
    for (let at = 0; at < 20; at++) {
      // The column takes whole milliseconds.
      const latencyMs = at === 7 ? 0.5 : 5;
      const row = interaction(account, `call-${at}`, { chargedNanos: 10n, latencyMs });
      await journal.end(row);
      recorder.record(row);
    }
    await recorder.drain();
    const ids = (await collect(store.read({ accountId: account }))).map((row) => row.transactionId);
    assert.deepEqual(
      ids.toSorted(),
      Array.from({ length: 20 }, (_, at) => `call-${at}`).filter((id) => id !== "call-7")
        .toSorted(),
    );
    assert.equal((await ledger.show(account)).balanceNanos, 1_000n - 20n * 10n);
    assert.deepEqual(await ledger.check(), []);
    const kept = JSON.parse(await Deno.readTextFile(`${folder}/rejected.jsonl`));
    assert.equal(kept.interaction.transactionId, "call-7");
    assert.match(kept.reason, /invalid input syntax/);
    assert.equal(lines.length, 1);
    await journal.close();
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["rejected.jsonl"]);
  });
}

eachDatabase(
  "numbers that no column takes cost nothing but their own row, which is told and kept",
  (database) =>
    withFolder(async (folder) => {
      const account = await newAccount(database);
      const ledger = createLedger(database);
      await ledger.grant(account, 1_000n);
      const journal = await openJournal(folder, { sync: "always" });
      const told: unknown[] = [];
      const log = {
        info() {},
        warn() {},
        error: (_message: string, fields?: { transaction?: unknown }) =>
          void told.push(fields?.transaction),
      };
      const recorder = new Recorder({
        store: createRecords(database),
        log,
        pause: () => Promise.reject(new Error("the store is there")),
        stored: (ids) => journal.stored(ids),
        reject: (row, reason) => journal.reject(row, reason),
        spillSpace: journal,
      });
      const odd: Readonly<Record<number, Partial<Interaction>>> = {
        3: { inputTokens: 1e30 },
        5: { outputTokens: -1e19, totalTokens: 0.1 },
        7: { costNanos: 10n ** 30n },
        // Not even the ledger takes this one.
        9: { chargedNanos: 10n ** 30n },
        11: { latencyMs: Infinity },
      };
      for (let at = 0; at < 20; at++) {
        const row = interaction(account, `call-${at}`, { chargedNanos: 10n, ...odd[at] });
        await journal.end(row);
        recorder.record(row);
      }
      await recorder.drain();
      const ids = new Set<string>();
      for (const row of await collect(createRecords(database).read({ accountId: account }))) {
        ids.add(row.transactionId);
      }
      const missing = Array.from({ length: 20 }, (_, at) => `call-${at}`).filter((id) =>
        !ids.has(id)
      );
      assert.deepEqual(missing, Object.keys(odd).map((at) => `call-${at}`));
      assert.deepEqual(told, missing);
      const lines = (await Deno.readTextFile(`${folder}/rejected.jsonl`)).trimEnd().split("\n");
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).interaction.transactionId),
        missing,
      );
      assert.equal((await ledger.show(account)).balanceNanos, 1_000n - 19n * 10n);
      assert.deepEqual(await ledger.check(), []);
      await journal.close();
      assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["rejected.jsonl"]);
    }),
);

eachDatabase(
  "a table that is missing refuses no row: the records wait for it",
  async (database) => {
    const account = await newAccount(database);
    const store = createRecords(database);
    await database.query("alter table interactions rename to elsewhere");
    const row = interaction(account, "call-1", { chargedNanos: 10n });
    await assert.rejects(store.insert([row]), { code: "store_unavailable" });
    assert.equal((await createLedger(database).show(account)).balanceNanos, 0n);
    await database.query("alter table elsewhere rename to interactions");
    await store.insert([row]);
    assert.equal((await createLedger(database).show(account)).balanceNanos, -10n);
  },
);
