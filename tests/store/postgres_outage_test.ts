import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { Database, Queryable } from "../../src/database/database.ts";
import { openPostgres, type PostgresTimeouts } from "../../src/database/postgres/postgres.ts";
import { postgresAvailability, startPostgres, type TestPostgres } from "../support/postgres.ts";
import { within } from "../support/within.ts";
import { promisedMs } from "../support/quiet.ts";

const { available, reason } = postgresAvailability();
const needsPostgres = { ignore: !available };
if (!available) console.log(`Outages of PostgreSQL are not tested: ${reason}`);

/** A server that the tests of this file, which run one after the other, may break. */
let server: Promise<TestPostgres> | undefined;

function outage(
  name: string,
  test: (database: Database, server: TestPostgres) => Promise<void>,
  patience?: PostgresTimeouts,
): void {
  Deno.test(name, needsPostgres, async () => {
    const postgres = await (server ??= startPostgres({ private: true }));
    const created = await postgres.createDatabase();
    const database = await openPostgres(created.url, patience);
    try {
      await database.query("create table things (x int)");
      await test(database, postgres);
    } finally {
      await database.close();
      await created.drop();
    }
  });
}

/** The sockets to the server that some process has open; a closed one has no inode. */
function openSockets(server: TestPostgres): number {
  const port = Number(new URL(server.url("postgres")).port).toString(16).toUpperCase();
  const lines = Deno.readTextFileSync("/proc/net/tcp").split("\n").slice(1);
  const fields = lines.map((line) => line.trim().split(/ +/));
  return fields.filter(([, , remote, , , , , , , inode]) =>
    remote?.endsWith(`:${port.padStart(4, "0")}`) && inode !== "0"
  ).length;
}

const insert = (queryable: Queryable, x: number) =>
  queryable.query("insert into things values ($1)", [x]);

outage(
  "while the server is down every query is refused at once, and works when it is back",
  async (database, server) => {
    await insert(database, 1);
    await server.stop();
    const started = performance.now();
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(
        Array.from({ length: 200 }, () => outcome(insert(database, 2))),
      );
      assert.deepEqual(new Set(answers), new Set(["store_unavailable"]));
    }
    assert.equal(await outcome(database.transaction((tx) => insert(tx, 2))), "store_unavailable");
    assert.equal(await outcome(database.ping()), "store_unavailable");
    const tookMs = performance.now() - started;
    assert.ok(tookMs < promisedMs(2000), `602 queries took ${tookMs} ms`);
    await server.start();
    await untilWell(database);
    await Promise.all(Array.from({ length: 30 }, () => insert(database, 3)));
    assert.deepEqual(await contents(database), [1, ...Array(30).fill(3)]);
  },
);

for (const mode of ["fast", "immediate"] as const) {
  outage(
    `queries in flight are refused when the server ends (${mode})`,
    async (database, server) => {
      const sleeping = [1, 2, 3].map(() => outcome(database.query("select pg_sleep(60)", [])));
      const inTransaction = outcome(database.transaction(async (tx) => {
        await insert(tx, 1);
        await tx.query("select pg_sleep(60)", []);
      }));
      await untilSleeping(database, 4);
      await server.stop(mode);
      const answers = await within(30_000, Promise.all([...sleeping, inTransaction]));
      assert.deepEqual(answers, Array(4).fill("store_unavailable"));
      await server.start();
      await untilWell(database);
      assert.deepEqual(await contents(database), []);
    },
  );
}

outage(
  "a transaction whose session ended while it did something else is refused as a whole",
  async (database) => {
    let noticed = "";
    const transaction = database.transaction(async (tx) => {
      await insert(tx, 1);
      await endOtherSessions(database, tx);
      noticed = await outcome(insert(tx, 2));
      // The driver has made new sessions by now; nothing of the transaction may run in one of them.
      await Promise.all([1, 2, 3].map(() => database.ping()));
      await insert(tx, 3);
    });
    assert.equal(await outcome(transaction), "store_unavailable");
    assert.equal(noticed, "store_unavailable");
    assert.deepEqual(await contents(database), []);
  },
);

outage(
  "where there are two databases, the log says which one is down",
  async (database, server) => {
    const url = server.url("postgres");
    const second = await openPostgres(url, { variable: "ANALYTICS_DATABASE_URL" });
    const note = (work: Promise<unknown>) =>
      work.then(() => "done", (thrown) => thrown instanceof Fault ? thrown.note : String(thrown));
    try {
      await server.stop();
      const named = /^ANALYTICS_DATABASE_URL: PostgreSQL: /;
      assert.match(await note(second.query("select 1")) ?? "", named);
      assert.match(await note(second.transaction((tx) => tx.query("select 1"))) ?? "", named);
      assert.match(await note(second.reads!.query("select 1", [])) ?? "", named);
      assert.match(await note(database.query("select 1")) ?? "", /^PostgreSQL: /);
    } finally {
      await server.start();
      await second.close();
    }
    await untilWell(database);
  },
);

outage("a commit whose session ended is no success", async (database) => {
  const transaction = database.transaction(async (tx) => {
    await insert(tx, 1);
    await endOtherSessions(database, tx);
  });
  assert.equal(await outcome(transaction), "store_unavailable");
  assert.deepEqual(await contents(database), []);
});

outage("prepared statements are prepared again in a new session", async (database) => {
  for (let times = 0; times < 3; times++) {
    await insert(database, times);
    await outcome(database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()",
      [],
    ));
    await untilWell(database);
  }
  assert.deepEqual(await contents(database), [0, 1, 2]);
});

outage(
  "a server that says nothing any more is given up within seconds",
  async (database, server) => {
    const inFlight = [1, 2, 3].map(() => outcome(database.query("select pg_sleep(1)", [])));
    await untilSleeping(database, 3);
    await server.freeze();
    try {
      const answers = await within(30_000, Promise.all(inFlight));
      assert.deepEqual(answers, Array(3).fill("store_unavailable"));
      const later = Array.from({ length: 50 }, () => outcome(database.ping()));
      assert.deepEqual(
        new Set(await within(30_000, Promise.all(later))),
        new Set(["store_unavailable"]),
      );
    } finally {
      await server.thaw();
    }
    await untilWell(database);
  },
  { connectMs: 500, answerMs: 500 },
);

outage(
  "however long a server says nothing, attempts to reach it leave no sockets open",
  async (database, server) => {
    await server.freeze();
    try {
      for (let attempt = 0; attempt < 12; attempt++) {
        assert.equal(await outcome(database.ping()), "store_unavailable");
        // For a moment after a failed attempt, there are no further ones.
        await new Promise((resolve) => setTimeout(resolve, 210));
      }
      const deadline = performance.now() + 30_000;
      while (openSockets(server) > 5) {
        assert.ok(performance.now() < deadline, `${openSockets(server)} sockets are open`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    } finally {
      await server.thaw();
    }
    await untilWell(database);
  },
  { connectMs: 100, answerMs: 100 },
);

outage(
  "a query may take longer than the server's silence, as long as the server is there",
  async (database) => {
    const rows = await database.query("select 1 as one from pg_sleep(1)", []);
    assert.deepEqual(rows, [{ one: 1 }]);
  },
  { connectMs: 500, answerMs: 100 },
);

outage(
  "a server that takes no more connections serves through those it has given",
  async (database, server) => {
    await database.query("create role few login password 'secret-of-few' connection limit 2");
    const address = new URL(server.url("postgres"));
    address.username = "few";
    address.password = "secret-of-few";
    const few = await openPostgres(address.href);
    try {
      const answers = await Promise.all(
        Array.from({ length: 40 }, () => outcome(few.query("select pg_sleep(0.01)", []))),
      );
      assert.deepEqual(new Set(answers), new Set(["done"]));
      const isFull = /^DATABASE_URL: .*no more connections \(53300\).*$/;
      await assert.rejects(openPostgres(address.href), (thrown: unknown) => {
        const { message } = thrown as Error;
        return isFull.test(message) && !message.includes("secret-of-few");
      });
    } finally {
      await few.close();
      await database.query("drop role few");
    }
  },
);

/** What an operator does to a database that is in use, and how it is undone. */
const refusals = [
  {
    what: "the user's password was changed",
    refuse: "alter role guest password 'another-secret'",
    allow: "alter role guest password 'secret-of-guest'",
    note: /^store_unavailable PostgreSQL: 28P01, password authentication failed for user "guest"/,
  },
  {
    what: "the user may not log in",
    refuse: "alter role guest nologin",
    allow: "alter role guest login",
    note: /^store_unavailable PostgreSQL: 28000, role "guest" is not permitted to log in/,
  },
  {
    what: "the database was renamed",
    refuse: (name: string) => `alter database ${name} rename to ${name}_away`,
    allow: (name: string) => `alter database ${name}_away rename to ${name}`,
    note: /^store_unavailable PostgreSQL: 3D000, database ".*" does not exist/,
  },
  {
    what: "the database takes no connections",
    refuse: (name: string) => `alter database ${name} allow_connections false`,
    allow: (name: string) => `alter database ${name} allow_connections true`,
    note:
      /^store_unavailable PostgreSQL: 55000, database ".*" is not currently accepting connections/,
  },
];

for (const { what, refuse, allow, note } of refusals) {
  Deno.test(`while ${what}, the store is away and the note says why`, needsPostgres, async () => {
    const postgres = await (server ??= startPostgres({ private: true }));
    const created = await postgres.createDatabase();
    const operator = await openPostgres(postgres.url("postgres"));
    const run = (statement: string | ((name: string) => string)) =>
      operator.query(typeof statement === "string" ? statement : statement(created.name));
    await operator.query("create role guest login password 'secret-of-guest'");
    const address = Object.assign(new URL(created.url), {
      ...{ username: "guest", password: "secret-of-guest" },
    });
    const database = await openPostgres(address.href);
    try {
      const end = () => endSessions(operator, created.name);
      // A database is renamed only while nobody uses it.
      if (typeof refuse === "string") await run(refuse).then(end);
      else await end().then(() => run(refuse));
      // The end of the session that was open; from here on none can be opened.
      await outcome(database.ping());
      await assert.rejects(database.ping(), (thrown: unknown) => {
        if (!(thrown instanceof Fault)) throw thrown;
        assert.match(`${thrown.code} ${thrown.note}`, note);
        return true;
      });
      await run(allow);
      await untilWell(database);
    } finally {
      await database.close();
      await created.drop();
      await operator.query("drop role guest");
      await operator.close();
    }
  });
}

outage(
  "after a failover no session stays with the server that only reads",
  async (database, server) => {
    const [row] = await database.query("select current_database() as name", []);
    const other = await openPostgres(server.url("postgres"));
    try {
      // For sessions that begin from now on, as a primary that has become a standby.
      await other.query(`alter database ${row!.name} set default_transaction_read_only = on`);
      await endSessions(other, String(row!.name));
      await untilWell(database);
      assert.equal(await outcome(database.ping()), "store_unavailable");
      const reading = database.query("select pg_sleep(1)", []);
      await untilSleeping(database, 1);
      for (const { query } of [database, database.reads!]) {
        assert.equal(await outcome(insert(database, 1)), "store_unavailable");
        await query("select 1", []);
      }
      assert.equal(await outcome(insert(database, 1)), "store_unavailable");
      await reading;
      // The address leads to the new primary, and nobody has closed the sessions with the old one.
      await other.query(`alter database ${row!.name} reset default_transaction_read_only`);
      await untilWell(database);
      await database.ping();
      await Promise.all(Array.from({ length: 30 }, () => insert(database, 2)));
      assert.deepEqual(await contents(database), Array(30).fill(2));
    } finally {
      await other.close();
    }
  },
);

outage(
  "what a process holds that says nothing any more is free before long",
  async (database, server) => {
    await insert(database, 1);
    const [row] = await database.query("select current_database() as name", []);
    // The machine of this one is gone in the middle of a transaction: nothing closes its connection.
    const gone = await openPostgres(server.url(String(row!.name)), { idleTransactionMs: 300 });
    const [locked, never] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const transaction = outcome(gone.transaction(async (tx) => {
      await tx.query("select x from things for update", []);
      locked.resolve();
      await never.promise;
    }));
    try {
      await locked.promise;
      await within(30_000, database.query("update things set x = 2", []));
      never.resolve();
      assert.equal(await transaction, "store_unavailable");
      assert.deepEqual(await contents(database), [2]);
    } finally {
      never.resolve();
      await gone.close();
    }
  },
);

outage("a server without room, or busy with others, counts as away, and its sessions go on", async (
  database,
) => {
  const session = () => database.query("select pg_backend_pid() as pid", []);
  const before = await session();
  for (const code of ["53100", "53200", "58030", "40001", "40P01", "55P03"]) {
    const failing = `do $$ begin raise exception using errcode = '${code}'; end $$`;
    assert.equal(await outcome(database.query(failing)), "store_unavailable");
    const transaction = database.transaction((tx) => tx.query(failing));
    assert.equal(await outcome(transaction), "store_unavailable");
  }
  assert.deepEqual(await session(), before);
});

outage("sessions end transactions of a minute's silence by themselves", async (database) => {
  const rows = await database.query("show idle_in_transaction_session_timeout");
  assert.deepEqual(rows, [{ idle_in_transaction_session_timeout: "1min" }]);
});

async function contents(database: Database): Promise<unknown[]> {
  return (await database.query("select x from things order by x", [])).map(({ x }) => x);
}

/** `done`, or the code of what was thrown. */
async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (thrown) {
    return thrown instanceof Fault ? thrown.code : String(thrown);
  }
}

async function untilWell(database: Database): Promise<void> {
  await within(
    60_000,
    (async () => {
      while (await outcome(database.query("select 1")) !== "done") {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })(),
  );
}

async function untilSleeping(database: Database, count: number): Promise<void> {
  for (;;) {
    const rows = await database.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
      [],
    );
    if (rows.length === count) return;
  }
}

/** Ends all sessions with a database, from another one. */
async function endSessions(other: Database, name: string): Promise<void> {
  await other.query(
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1",
    [name],
  );
}

/** Ends the session of the transaction too, and waits until that has arrived here. */
async function endOtherSessions(database: Database, tx: Queryable): Promise<void> {
  const [own] = await tx.query("select pg_backend_pid() as pid", []);
  await database.query("select pg_terminate_backend($1::integer)", [own!.pid as number]);
  await new Promise((resolve) => setTimeout(resolve, 100));
}
