import assert from "@std/assert";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { Secret } from "../../src/base/secret.ts";
import type { Database } from "../../src/database/database.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { openDatabase } from "../../src/database/open.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createRecords } from "../../src/records/store/records.ts";
import {
  createThreadInsert,
  embeddedWriter,
  openWriteThread,
  ownThreads,
  withOwnSessions,
  type WriterThread,
  type WriteThread,
} from "../../src/records/store/write_thread.ts";
import { createWriteWork, type WriteUrls } from "../../src/records/store/write_work.ts";
import { Fault, messageOf } from "../../src/shared/fault.ts";
import type { InteractionStore, SettledCall } from "../../src/shared/interaction.ts";
import { createMigrated } from "../support/databases.ts";
import { copyMigrated } from "../support/new_database.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { reuseWriterThreads } from "../support/writer_threads.ts";
import { withFolder } from "./children.ts";
import { asked, erase, fullCall, left, request } from "./erasing.ts";
import { newAccount } from "./samples.ts";

interface World {
  database: Database;
  insert: InteractionStore["insert"];
  dropped: string[];
}

function threadOf(database: Database, thread: WriteThread, urls: WriteUrls): World {
  const dropped: string[] = [];
  const onDropped = (ids: readonly string[]) => Promise.resolve(void dropped.push(...ids));
  return { database, dropped, insert: createThreadInsert({ thread, urls, onDropped }) };
}

async function withPostgres(test: (world: World) => Promise<void>): Promise<void> {
  const created = await createMigrated();
  const database = await openPostgres(created.url);
  const thread = openWriteThread(database);
  try {
    await test(threadOf(database, thread, { main: created.url }));
  } finally {
    await thread.close();
    await database.close();
    await created.drop();
  }
}

function withEmbedded(test: (world: World) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    await copyMigrated(`${folder}/database`);
    const database = await openEmbedded(`${folder}/database`, embeddedWriter);
    try {
      await test(threadOf(database, openWriteThread(database), {}));
    } finally {
      await database.close();
    }
  });
}

const { available, reason } = postgresAvailability();

function onBoth(name: string, test: (world: World) => Promise<void>): void {
  const skipped = available ? "" : `; skipped: ${reason}`;
  Deno.test({
    name: `${name} (postgres${skipped})`,
    ignore: !available,
    fn: () => withPostgres(test),
  });
  Deno.test(`${name} (embedded)`, () => withEmbedded(test));
}

/** All that is stored of calls and their charges, but for what the store numbers and times itself. */
async function stored(database: Database): Promise<unknown> {
  const tables = [
    "select * from interactions order by transaction_id",
    "select * from interaction_payloads order by transaction_id",
    "select interaction_id, account_id, kind, amount_nanos, lease_id from ledger_entries order by 1",
    "select account_id, balance_nanos, leased_nanos from account_balances order by 1",
    "select * from media order by sha256",
    "select * from kept_reasoning order by call_id",
    "select * from kept_responses order by response_id",
  ];
  return await Promise.all(tables.map((text) => database.query(text, [])));
}

function isAway(thrown: unknown): thrown is Fault {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}

/** More than are handed over in a turn; every field that differs by type is there. */
function manyCalls(account: number): SettledCall[] {
  const content = Uint8Array.from({ length: 300 }, (_, at) => at);
  return Array.from(
    { length: 100 },
    (_, at) =>
      fullCall(account, `call-${String(at).padStart(3, "0")}`, {
        chargedNanos: BigInt(at),
        costNanos: at % 3 === 0 ? null : 2n ** 60n,
        translationLoss: at % 2 === 0 ? [] : ["a", "b.c[0]"],
        ...(at === 5
          ? { media: [{ sha256: "0".repeat(64), mimeType: "image/png", content }] }
          : {}),
        ...(at === 7 ? { userId: "\u0000 and a lone \ud800" } : {}),
        ...(at === 9 ? { vendorAnswer: { status: null, message: "no" } } : {}),
      }),
  );
}

onBoth("a thread writes what this one would", async ({ database, insert, dropped }) => {
  const account = await newAccount(database);
  await createLedger(database).grant(account, 1_000_000n);
  const calls = manyCalls(account);
  await insert(calls);
  // Once, however often.
  await insert(calls.slice(0, 50));
  await insert([]);
  const byThread = await stored(database);
  assert.equal((byThread as unknown[][])[0]!.length, 100);
  assert.deepEqual(await createLedger(database).check(), []);

  const other = available ? await createMigrated() : undefined;
  if (!other) return;
  const direct = await openPostgres(other.url);
  assert.equal(await newAccount(direct), account);
  await createLedger(direct).grant(account, 1_000_000n);
  await createRecords(direct).insert(calls);
  const [rows, ...others] = await stored(direct) as unknown[][];
  const [threadRows, ...threadOthers] = byThread as unknown[][];
  assert.deepEqual(threadRows, rows);
  assert.deepEqual(threadOthers, others);
  assert.deepEqual(dropped, []);
  await direct.close();
  await other.drop();
});

onBoth("a row that is refused is no outage, and costs no other batch", async (world) => {
  const { database, insert } = world;
  const account = await newAccount(database);
  const bad = fullCall(account, "bad", { latencyMs: 0.5 });
  // Batches that are handed over at once are written one after the other.
  const refused = insert([fullCall(account, "beside it"), bad]);
  const others = [insert([fullCall(account, "first")]), insert([fullCall(account, "second")])];
  await assert.rejects(
    refused,
    (thrown: Error) => !isAway(thrown) && /invalid input syntax/.test(thrown.message),
  );
  await Promise.all(others);
  assert.deepEqual((await left(database)).interactions, ["first", "second"]);
});

onBoth("what can't be handed over is refused, and what follows is written", async (world) => {
  const { database, insert } = world;
  const account = await newAccount(database);
  const calls = manyCalls(account);
  const bad = { ...fullCall(account, "bad"), attempts: [() => {}] } as unknown as SettledCall;
  await assert.rejects(insert([...calls.slice(0, 40), bad]), (thrown: unknown) => !isAway(thrown));
  await insert(calls.slice(60));
  assert.equal((await left(database)).interactions!.length, 40);
});

onBoth("calls that were erased while under way are reported, and charged", async (world) => {
  const { database, insert, dropped } = world;
  const account = await newAccount(database);
  await createLedger(database).grant(account, 100n);
  await erase(database, request(account, { userIds: ["ann"] }));
  const of = (userId: string, chargedNanos: bigint) =>
    fullCall(account, `of ${userId}`, { userId, createdAt: asked, chargedNanos });
  await insert([of("ann", 7n), of("bob", 11n)]);
  assert.deepEqual(dropped, ["of ann"]);
  await insert([of("cid", 1n)]);
  assert.deepEqual(dropped, ["of ann"], "of the first batch alone");
  assert.deepEqual((await left(database)).interactions, ["of bob", "of cid"]);
  assert.equal((await createLedger(database).show(account)).balanceNanos, 100n - 19n);
});

Deno.test("a thread that was replaced amid a batch writes nothing of it, and all of it later", () =>
  withEmbedded(async ({ database }) => {
    const account = await newAccount(database);
    const threads = [createWriteWork(database), createWriteWork(database)];
    let handedOver = 0;
    const changing: WriteThread = {
      write: (part) => threads[handedOver++ === 0 ? 0 : 1]!.write(part),
      close: () => Promise.resolve(),
    };
    const { insert } = threadOf(database, changing, {});
    const calls = manyCalls(account);
    await assert.rejects(insert(calls), isAway);
    assert.deepEqual((await left(database)).interactions, []);
    await insert(calls);
    assert.equal((await left(database)).interactions!.length, 100);
  }));

Deno.test({
  name: "while PostgreSQL is away batches are refused as that, and written when it is back",
  ignore: !available,
  async fn() {
    const server = await startPostgres({ private: true });
    const created = await server.createDatabase();
    const database = await openDatabase(new Secret(created.url), "");
    const thread = openWriteThread(database);
    try {
      const { insert } = threadOf(database, thread, { main: created.url });
      const account = await newAccount(database);
      await server.stop();
      // The thread has not been there before, and then has lost its connection.
      await assert.rejects(
        insert([fullCall(account, "first")]),
        // The operator reads the cause in the log.
        (thrown: unknown) => isAway(thrown) && /^[A-Z_]{5,}$/.test(messageOf(thrown.cause)),
      );
      await server.start();
      await insert([fullCall(account, "first")]);
      await server.stop("immediate");
      await assert.rejects(insert([fullCall(account, "second")]), isAway);
      await server.start();
      // As the recorder does: a server that was killed recovers before it answers.
      const both = [fullCall(account, "first"), fullCall(account, "second")];
      for (let left = 100; left > 0; left--) {
        const refused = await insert(both).then(() => undefined, (thrown: unknown) => thrown);
        if (refused === undefined) break;
        assert.ok(isAway(refused) && left > 1, String(refused));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      assert.deepEqual((await left(database)).interactions, ["first", "second"]);
    } finally {
      await thread.close();
      await database.close();
      await server.stop();
    }
  },
});

Deno.test("a note names which of two databases can't be opened, and the server's reason", {
  ignore: !available,
}, async () => {
  const [main, closed] = [await createMigrated(), await createMigrated()];
  const work = createWriteWork();
  const operator = await openPostgres((await startPostgres()).url("postgres"));
  try {
    await operator.query(`alter database ${closed.name} allow_connections false`);
    const urls = { main: main.url, analytics: closed.url };
    const rows = [fullCall(1, "waits")];
    const written = await work.write({ batch: 1, rows, rowsInAll: 1, urls });
    if (written.ok) throw new Error("the rows were written");
    assert.match(
      written.note ?? "",
      /^ANALYTICS_DATABASE_URL: .* takes no connection \(55000: database .* is not currently accepting connections\)/,
    );
  } finally {
    await work.close();
    await operator.query(`alter database ${closed.name} allow_connections true`);
    await operator.close();
    await Promise.all([main.drop(), closed.drop()]);
  }
});

Deno.test({
  name: "the next service in a process reuses the thread, without leftovers of the one before",
  ignore: !available,
  async fn() {
    let started = 0;
    const threads = reuseWriterThreads({
      ...ownThreads,
      start() {
        started++;
        return ownThreads.start();
      },
    });
    const [first, second] = [await createMigrated(), await createMigrated()];
    const databases = await Promise.all([first, second].map(({ url }) => openPostgres(url)));
    try {
      const [one, two] = databases as [Database, Database];
      const thread = openWriteThread(one, threads);
      const { insert } = threadOf(one, thread, { main: first.url });
      const account = await newAccount(one);
      await newAccount(two);
      await insert([fullCall(account, "of-the-first")]);
      // A batch of two parts, the second of which never comes.
      const rows = [fullCall(account, "left-over")];
      await thread.write({ batch: 1, rows, urls: { main: first.url } });
      await thread.close();
      await assert.rejects(insert([fullCall(account, "late")]), isAway);

      const next = openWriteThread(two, threads);
      await threadOf(two, next, { main: second.url }).insert([fullCall(account, "of-the-second")]);
      assert.equal(started, 1);
      // While the second has it, a third starts one of its own.
      const third = openWriteThread(one, threads);
      await threadOf(one, third, { main: first.url }).insert([fullCall(account, "of-the-third")]);
      assert.equal(started, 2);
      assert.deepEqual((await left(one)).interactions, ["of-the-first", "of-the-third"]);
      assert.deepEqual((await left(two)).interactions, ["of-the-second"]);
      await Promise.all([next.close(), third.close()]);
    } finally {
      await Promise.all(databases.map((database) => database.close()));
      await Promise.all([first.drop(), second.drop()]);
    }
  },
});

Deno.test({
  name: "a thread starts with the first batch, and is handed on only when it is idle",
  ignore: !available,
  fn: () =>
    withPostgres(async ({ database }) => {
      const events: string[] = [];
      let isIdle = false;
      const written = { ok: true as const, dropped: [] };
      const thread: WriterThread = {
        isDead: false,
        get isIdle() {
          return isIdle;
        },
        ask: () => Promise.resolve(written),
        end: () => void events.push("ended"),
      };
      const threads = {
        start() {
          events.push("started");
          return thread;
        },
        end: () => void events.push("handed on"),
      };
      await openWriteThread(database, threads).close();
      assert.deepEqual(events, []);
      for (isIdle of [false, true]) {
        const opened = openWriteThread(database, threads);
        await opened.write({ batch: 1, rows: [], urls: {} });
        await opened.close();
      }
      assert.deepEqual(events, ["started", "ended", "started", "handed on"]);
    }),
});

Deno.test("batches that are handed over at once do not mix", async () => {
  const seen: number[] = [];
  const slow: WriteThread = {
    write(part) {
      seen.push(part.batch);
      // As long as others get a turn after it.
      for (const began = performance.now(); performance.now() - began < 1;);
      return Promise.resolve({ ok: true, dropped: [] });
    },
    close: () => Promise.resolve(),
  };
  const insert = createThreadInsert({ thread: slow, urls: {}, onDropped: () => Promise.resolve() });
  const calls = manyCalls(1);
  await Promise.all([insert(calls), insert(calls), insert(calls.slice(0, 40))]);
  assert.deepEqual(seen, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
});

Deno.test({
  name: "where PostgreSQL has no connection for the thread, records go by the service's own",
  ignore: !available,
  fn: async () => {
    const created = await createMigrated();
    const whole = await openPostgres(created.url);
    const few = new URL(created.url);
    await whole.query(
      `create role one_session login password 'of-one' connection limit 1 in role ${few.username}`,
    );
    [few.username, few.password] = ["one_session", "of-one"];
    const database = await openPostgres(few.href);
    const thread = openWriteThread(database);
    try {
      const { insert } = threadOf(database, thread, { main: few.href });
      const calls = [fullCall(await newAccount(whole), "a1")];
      await assert.rejects(insert(calls), (thrown: unknown) => thrown instanceof Fault);
      await withOwnSessions(insert, createRecords(database).insert)(calls);
      assert.deepEqual((await left(whole)).interactions, ["a1"]);
    } finally {
      await thread.close();
      await database.close();
      await whole.close();
      await created.drop();
      const server = await openPostgres((await startPostgres()).url("postgres"));
      await server.query("drop role one_session");
      await server.close();
    }
  },
});

Deno.test("where a pooler lets the thread wait, records go by the service's own sessions", async () => {
  let code = "CONNECT_TIMEOUT";
  const thread: WriteThread = {
    write: () =>
      Promise.resolve({ ok: false, message: "", note: undefined, code, isStoreAway: true }),
    close: () => Promise.resolve(),
  };
  const byThread = createThreadInsert({ thread, urls: {}, onDropped: () => Promise.resolve() });
  const written: string[] = [];
  const insert = withOwnSessions(byThread, (rows) => {
    written.push(...rows.map((row) => row.transactionId));
    return Promise.resolve();
  });
  const calls = manyCalls(1).slice(0, 1);
  await insert(calls);
  assert.deepEqual(written, calls.map((call) => call.transactionId));
  code = "ECONNREFUSED";
  await assert.rejects(insert(calls), Fault);
  assert.equal(written.length, 1);
});
