import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { within } from "../../src/base/deadline.ts";
import { sha256Hex } from "../../src/base/hash.ts";
import { dataTables } from "../../src/erasure/deletion.ts";
import type { Database } from "../../src/database/database.ts";
import { createDeletions } from "../../src/erasure/store/deletions.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { createRetention } from "../../src/erasure/store/retention.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createVacuum, noteDirty } from "../../src/erasure/store/vacuum.ts";
import { onPostgres } from "../support/databases.ts";
import { copyMigrated } from "../support/new_database.ts";
import { filesWith } from "../support/files_with.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { interaction, newAccount } from "./samples.ts";

const canary = `canary-${crypto.randomUUID()}`;
const people = `person-${crypto.randomUUID()}`;

/** Calls with the canary everywhere, in short, long and repetitive texts, between others. */
async function fill(database: Database, account: number): Promise<void> {
  const texts = [canary, canary.repeat(3), `${canary} ${"word ".repeat(3000)}`];
  const rows = Array.from({ length: 60 }, (_, at) => {
    const said = at % 3 === 0;
    const text = said ? texts[at % 9 / 3]! : `other ${at} ${"word ".repeat(at * 50)}`;
    return interaction(account, `t${at}`, {
      requestText: JSON.stringify(text),
      responseText: JSON.stringify(text),
      userId: said ? people : `user ${at}`,
      retained: {
        response: {
          responseId: `r${at}`,
          inputItemsText: JSON.stringify([text]),
          answerText: JSON.stringify(text),
          itemIds: [],
          sources: [],
        },
        reasoning: [{ callId: `c${at}`, reasoningText: JSON.stringify(text) }],
      },
    });
  });
  await createAnalyticsStore(database).insert(rows);
}

async function erase(database: Database, account: number): Promise<void> {
  const store = createDeletions({ main: database, analytics: createAnalyticsStore(database) }, {
    newSalt: () => "salt",
    workerId: "a/1",
  });
  const wanted = {
    deletionId: "d1",
    accountId: account,
    tables: dataTables,
    selectors: { userIds: [people] },
    reason: null,
    requestedAt: new Date("2026-11-21T12:00:00Z"),
  };
  const tombstone = await store.add(wanted, "claimed");
  while (!(await store.eraseBatch({ tombstone, selectors: wanted.selectors })).isLast);
  await store.finish("d1");
}

Deno.test("after a scrub erased text is in no file of the embedded database", async () => {
  const directory = temporaryDirectory("scrub");
  await copyMigrated(`${directory}/database`);
  let database = await openEmbedded(`${directory}/database`);
  const account = await newAccount(database);
  await fill(database, account);
  await database.query("analyze");
  assert.notDeepEqual(
    await filesWith(directory, [canary]),
    [],
    "the search finds it while it is there",
  );
  await erase(database, account);
  assert.notDeepEqual(await filesWith(directory, [canary]), [], "erasing alone leaves it in files");
  const scrub = createVacuum(database, createAnalyticsStore(database));
  assert.ok(await scrub.due());
  assert.equal(await scrub.isBusy(), false);
  const report = await scrub.scrub("erased");
  assert.deepEqual(report.notRewritten, []);
  assert.deepEqual(await filesWith(directory, [canary, people]), []);
  assert.equal(await scrub.due(), undefined);
  // What was not erased is all there, also after the next start.
  await database.close();
  database = await openEmbedded(`${directory}/database`);
  const [row] = await database.query(
    `select count(*) as calls, (select count(*) from kept_responses) as kept,
       (select count(*) from interaction_payloads where request like '%other%') as payloads
     from interactions`,
    [],
  );
  assert.deepEqual(row, { calls: 40n, kept: 40n, payloads: 40n });
  await database.close();
  assert.deepEqual(await filesWith(directory, [canary, people]), []);
});

Deno.test("what is erased for its age leaves the embedded database's files, once a day", async () => {
  const directory = temporaryDirectory("scrub");
  await copyMigrated(`${directory}/database`);
  const database = await openEmbedded(`${directory}/database`);
  const account = await newAccount(database);
  const [early, late] = [0, 1].map((hours) => new Date(Date.UTC(2026, 10, 20, hours)));
  const store = createAnalyticsStore(database);
  for (const createdAt of [early, late] as [Date, Date]) {
    const content = Buffer.alloc(100_000, `${canary} ${createdAt.toISOString()} `);
    await store.insert([interaction(account, createdAt.toISOString(), {
      ...{ createdAt, requestText: JSON.stringify(canary) },
      media: [{ sha256: sha256Hex(content), mimeType: "image/png", content }],
    })]);
  }
  const retention = createRetention(database, store);
  const scrub = createVacuum(database, createAnalyticsStore(database));
  const nothing = new Date(Date.UTC(2026, 10, 1));
  await retention.erasePayloads(nothing);
  await retention.eraseUsage(nothing);
  assert.equal(await scrub.due(), undefined, "nothing was that old");

  await retention.erasePayloads(new Date(early!.getTime() + 1));
  assert.ok(await scrub.due(), "the first time at once");
  // As a scrub leaves it.
  await database.query(
    "update scrubs set due_since = null, relations = '{}', scrubbed_at = clock_timestamp()",
  );
  await retention.erasePayloads(new Date(late!.getTime() + 1));
  await retention.eraseUsage(new Date(late!.getTime() + 1));
  assert.equal(await scrub.due(), undefined, "it was scrubbed today");
  assert.notDeepEqual(await filesWith(directory, [canary]), []);
  await database.query("update scrubs set due_since = due_since - interval '1 day'");
  assert.ok(await scrub.due());
  assert.ok((await scrub.scrub("erased")).rewritten.includes("media"));
  assert.deepEqual(await filesWith(directory, [canary]), []);

  // A deletion doesn't wait for the day to be over.
  await fill(database, account);
  await retention.erasePayloads(new Date("2026-11-25T00:00:00Z"));
  assert.equal(await scrub.due(), undefined);
  await erase(database, account);
  assert.ok(await scrub.due());
  await database.close();
});

Deno.test("a process that ends while it erases for age leaves the scrub due", async () => {
  const directory = temporaryDirectory("scrub");
  await copyMigrated(`${directory}/database`);
  const database = await openEmbedded(`${directory}/database`);
  const account = await newAccount(database);
  const store = createAnalyticsStore(database);
  const limit = new Date(Date.UTC(2026, 10, 20));
  for (const [day, text] of [[19, canary], [21, "kept"]] as const) {
    await store.insert([interaction(account, `call ${day}`, {
      ...{ createdAt: new Date(Date.UTC(2026, 10, day)), requestText: JSON.stringify(text) },
    })]);
  }
  const ending = createRetention(database, {
    ...store,
    async erasePayloadsBefore(before) {
      await store.erasePayloadsBefore(before);
      throw new Error("killed");
    },
  });
  await assert.rejects(ending.erasePayloads(limit), /killed/);
  // The next run finds nothing to erase.
  await createRetention(database, store).erasePayloads(limit);
  const scrub = createVacuum(database, store);
  assert.equal(await scrub.due(), undefined, "a run that goes on would not be over");
  await database.query("update scrubs set due_since = due_since - interval '1 hour'");
  assert.ok(await scrub.due());
  const { rewritten } = await scrub.scrub("erased");
  assert.ok(rewritten.includes("interaction_payloads_2026_11"), rewritten.join());
  assert.deepEqual(await filesWith(directory, [canary]), []);
  await database.close();
});

/** Rewriting all tables takes seconds; here a scrub only changes what is noted of it. */
function withoutRewriting(database: Database): Database {
  return {
    ...database,
    query: (sql, ...more) =>
      sql.startsWith("vacuum") ? Promise.resolve([]) : database.query(sql, ...more),
  };
}

Deno.test("a deletion's scrub that ends while retention runs leaves retention's own", async () => {
  const directory = temporaryDirectory("scrub");
  await copyMigrated(`${directory}/database`);
  const database = await openEmbedded(`${directory}/database`);
  const account = await newAccount(database);
  const store = createAnalyticsStore(database);
  await store.insert([interaction(account, "old", {
    ...{ createdAt: new Date(Date.UTC(2026, 10, 19)), requestText: JSON.stringify(canary) },
  })]);
  const scrub = createVacuum(database, store);
  const notedOnly = withoutRewriting(database);
  const scrubBetween = createVacuum(notedOnly, createAnalyticsStore(notedOnly));
  const during = (end: () => void) =>
    createRetention(database, {
      ...store,
      async erasePayloadsBefore(before) {
        await noteDirty(database, ["interactions_2026_11"]);
        assert.ok(await scrub.due());
        await scrubBetween.scrub("erased");
        const erased = await store.erasePayloadsBefore(before);
        end();
        return erased;
      },
    });
  const passes = async () => {
    await database.query(
      "update scrubs set due_since = due_since - interval '1 day', run_due = run_due - interval '1 day'",
    );
  };
  await during(() => {}).erasePayloads(new Date(Date.UTC(2026, 9, 1)));
  await passes();
  assert.equal(await scrub.due(), undefined, "the run has erased nothing");
  const killed = during(() => {
    throw new Error("killed");
  });
  await assert.rejects(killed.erasePayloads(new Date(Date.UTC(2026, 10, 20))), /killed/);
  assert.equal(await scrub.due(), undefined, "a run that goes on would not be over");
  await passes();
  assert.ok(await scrub.due());
  await scrub.scrub("erased");
  assert.deepEqual(await filesWith(directory, [canary]), []);
  assert.equal(await scrub.due(), undefined);
  await database.close();
});

Deno.test("a deletion that comes as retention begins keeps its scrub", async () => {
  const directory = temporaryDirectory("scrub");
  await copyMigrated(`${directory}/database`);
  const database = await openEmbedded(`${directory}/database`);
  const store = createAnalyticsStore(database);
  // The deletion comes behind each statement of retention in turn, until there are no more of them.
  for (let statements = 1, comes = true; comes; statements++) {
    await database.query("delete from scrubs");
    comes = false;
    let left = statements;
    const one = async <T>(done: Promise<T>): Promise<T> => {
      const result = await done;
      if (--left !== 0) return result;
      comes = true;
      await noteDirty(database, ["interactions_2026_11"]);
      return result;
    };
    const main: Database = {
      ...database,
      query: (...args) => one(database.query(...args)),
      transaction: (...args) => one(database.transaction(...args)),
    };
    await createRetention(main, store).erasePayloads(new Date(Date.UTC(2026, 9, 1)));
    if (comes) assert.ok(await createVacuum(database, store).due(), `statement ${statements}`);
  }
  await database.close();
});

onPostgres("what is erased while a scrub runs waits for the next one", async (database) => {
  let erases = true;
  const scrub = createVacuum(database, {
    ...createAnalyticsStore(database),
    async rewriteFiles() {
      if (erases) await noteDirty(database, ["media"]);
      return { rewritten: [], notRewritten: [], isAllDone: true };
    },
  });
  await noteDirty(database, ["interactions_2026_11"]);
  await scrub.scrub("erased");
  assert.ok(await scrub.due());
  const [state] = await database.query("select relations from scrubs");
  assert.deepEqual((state!.relations as string[]).toSorted(), ["interactions_2026_11", "media"]);
  erases = false;
  await scrub.scrub("erased");
  assert.equal(await scrub.due(), undefined);
  assert.deepEqual(await database.query("select relations from scrubs"), [{ relations: [] }]);
}, { fresh: true });

onPostgres("on a server what is erased for its age asks nobody to scrub", async (database) => {
  const account = await newAccount(database);
  await fill(database, account);
  const store = createAnalyticsStore(database);
  const erased = await createRetention(database, store).erasePayloads(new Date("2027-01-01"));
  assert.ok(erased!.payloads + erased!.partitions > 0);
  assert.equal(await createVacuum(database, createAnalyticsStore(database)).due(), undefined);
}, { fresh: true });

onPostgres(
  "on a server the tables of any schema are rewritten, and what is not is said",
  async (home, open) => {
    await home.query(`alter schema public rename to "app-Prod"; do $$ begin
    execute format('alter database %I set search_path = "app-Prod"', current_database()); end $$`);
    const database = await open();
    const account = await newAccount(database);
    await fill(database, account);
    await erase(database, account);
    await database.query("analyze");
    const report = await createVacuum(database, createAnalyticsStore(database)).scrub("all");
    assert.ok(report.rewritten.includes("kept_responses"));
    assert.ok(report.notRewritten.some((one) => one.includes("write-ahead log")));
    const samples = await database.query(
      "select 1 from pg_stats where array_to_string(histogram_bounds, ' ') like $1",
      [`%${canary}%`],
    );
    assert.deepEqual(samples, []);
  },
  { fresh: true },
);

/** Has only calls with the canary, sampled, all of which go. */
async function eraseAll(database: Database): Promise<void> {
  const account = await newAccount(database);
  const store = createAnalyticsStore(database);
  await store.insert(
    Array.from({ length: 30 }, (_, at) =>
      interaction(account, `t${at}`, {
        requestText: JSON.stringify(`${canary} ${at}`),
        userId: people,
      })),
  );
  await database.query("analyze");
  await erase(database, account);
}

async function samplesOfErased(database: Database): Promise<string[]> {
  const rows = await database.query(
    `select distinct tablename from pg_stats
     where histogram_bounds::text like $1 or most_common_vals::text like $2`,
    [`%${canary}%`, `%${people}%`],
  );
  return rows.map((row) => String(row.tablename)).sort();
}

onPostgres(
  "a scrub waits a moment for a locked table, and others don't wait for the scrub",
  async (database) => {
    const account = await newAccount(database);
    await fill(database, account);
    await erase(database, account);
    const vacuum = createVacuum(database, createAnalyticsStore(database));
    const locks = Promise.withResolvers<void>();
    const unlock = Promise.withResolvers<void>();
    const forgotten = database.transaction(async (tx) => {
      await tx.query("select from accounts for update");
      locks.resolve();
      await unlock.promise;
    });
    await locks.promise;
    const scrubbed = vacuum.scrub("all");
    let longestMs = 0;
    let isDone = false;
    const reading = (async () => {
      while (!isDone) {
        const fromMs = performance.now();
        await database.query("select name from accounts");
        longestMs = Math.max(longestMs, performance.now() - fromMs);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    const report = await within(30_000, scrubbed, "late");
    isDone = true;
    unlock.resolve();
    await forgotten;
    await reading;
    if (report === "late") throw new Error("the scrub waits for the forgotten session");
    assert.match(report.notRewritten.join(), /accounts \(another session has locked it/);
    assert.ok(report.rewritten.includes("kept_responses"));
    assert.ok(longestMs < 5_000, `a read took ${longestMs} ms`);
    assert.ok(await vacuum.due(), "the table is left to another scrub");
    await vacuum.scrub("all");
    assert.equal(await vacuum.due(), undefined);
  },
  { fresh: true },
);

onPostgres("of a table that has become empty no samples stay", async (database) => {
  await eraseAll(database);
  assert.ok((await samplesOfErased(database)).includes("interaction_payloads"));
  const { notRewritten } = await createVacuum(database, createAnalyticsStore(database)).scrub(
    "all",
  );
  assert.deepEqual(await samplesOfErased(database), []);
  assert.equal(notRewritten.length, 2, "the log and backups");
}, { fresh: true });

Deno.test("of an embedded table that has become empty no samples stay", async () => {
  const directory = temporaryDirectory("scrub-empty");
  await copyMigrated(`${directory}/database`);
  const database = await openEmbedded(`${directory}/database`);
  await eraseAll(database);
  assert.notDeepEqual(await samplesOfErased(database), []);
  const { notRewritten } = await createVacuum(database, createAnalyticsStore(database))
    .scrub("erased");
  assert.deepEqual([notRewritten, await samplesOfErased(database)], [[], []]);
  await database.close();
  assert.deepEqual(await filesWith(directory, [canary, people]), []);
});
