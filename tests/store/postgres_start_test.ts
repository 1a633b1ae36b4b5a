import { once } from "node:events";
import tls from "node:tls";
import assert from "@std/assert";
import { Secret } from "../../src/base/secret.ts";
import { openAnalytics, openDatabase } from "../../src/database/open.ts";
import { openPostgres, openPostgresSocket } from "../../src/database/postgres/postgres.ts";
import { parseConfig } from "../../src/main/config.ts";
import { openStores } from "../../src/main/open_stores.ts";
import { runAdminHere } from "../support/admin.ts";
import { createMigrated } from "../support/databases.ts";
import { freePort } from "../support/free_port.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { testCertificate, testCertificateKey } from "../support/service_certificate.ts";

const { available } = postgresAvailability();
const password = "hunter2-very-secret";

/** The start's error is one line that names the variable and what to do, without the password. */
async function refused(address: string, expected: RegExp): Promise<void> {
  await assert.rejects(
    openPostgres(address, { connectMs: 400, answerMs: 400 }),
    (thrown: unknown) => {
      assert.ok(thrown instanceof Error);
      const { message } = thrown as Error;
      assert.match(message, /^DATABASE_URL: [^\n]+\.$/);
      assert.match(message, expected);
      assert.ok(!message.includes(password) && !Deno.inspect(thrown).includes(password));
      return true;
    },
  );
}

Deno.test("a wrong password is reported", { ignore: !available }, async () => {
  const address = new URL((await startPostgres()).url("postgres"));
  address.password = password;
  await refused(address.href, /refuses this user or password/);
  address.username = "nobody-of-that-name";
  await refused(address.href, /refuses this user or password/);
});

Deno.test("an unknown database is reported", { ignore: !available }, async () => {
  await refused((await startPostgres()).url("missing"), /no database of that name/);
});

Deno.test("parameters that only libpq knows are reported", { ignore: !available }, async () => {
  const url = new URL((await startPostgres()).url("postgres"));
  url.searchParams.set("channel_binding", "require");
  await refused(url.href, /unrecognized[^\n]*"channel_binding"\); remove it from the address/);
});

Deno.test("a database where nothing can be created is reported", {
  ignore: !available,
}, async () => {
  const server = await startPostgres();
  const { name, url, drop } = await server.createDatabase();
  const home = await openPostgres(url);
  await home.query(`create role ${name} login password '${password}'`);
  const guest = Object.assign(new URL(url), { username: name, password });
  const dataDir = await Deno.makeTempDir({ prefix: "guest-" });
  const start = (address: string) => openDatabase(new Secret(address), dataDir);
  await assert.rejects(
    start(guest.href),
    /^Error: DATABASE_URL: [^\n]*\(42501: [^\n]*schema public\); make the user[^\n]* owner[^\n]*\.$/,
  );
  await assert.rejects(
    start(`${url}?search_path=missing`),
    /^Error: DATABASE_URL: [^\n]*\(3F000: [^\n]*\); create the schema that the user's search_path names\.$/,
  );
  for (const encoding of ["LATIN1", "SQL_ASCII"]) {
    const other = `${name}_${encoding.toLowerCase()}`;
    await home.query(
      `create database ${other} encoding '${encoding}' locale 'C' template template0`,
    );
    await assert.rejects(
      start(server.url(other)),
      new RegExp(`^Error: DATABASE_URL: [^\n]*encoding ${encoding}; use one with UTF8\\.$`),
    );
    await home.query(`drop database ${other}`);
  }
  await home.query(`grant create on schema public to ${name}`);
  await (await start(guest.href)).close();
  await home.query(`drop owned by ${name}; drop role ${name}`);
  await home.close();
  await drop();
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("a database with another program's tables is refused, and left as it is", {
  ignore: !available,
}, async () => {
  const server = await startPostgres();
  const { url, drop } = await server.createDatabase();
  const home = await openPostgres(url);
  const dataDir = await Deno.makeTempDir({ prefix: "shared-" });
  const start = () => openDatabase(new Secret(url), dataDir);
  const relations = () =>
    home.query(
      "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')",
    );
  for (
    const [made, dropped] of [
      [`create table "LiteLLM_UserTable" (id text)`, `drop table "LiteLLM_UserTable"`],
      ["create table accounts (id int)", "drop table accounts"],
      ["create view accounts as select 1 as id", "drop view accounts"],
    ] as const
  ) {
    await home.query(made);
    const before = await relations();
    await assert.rejects(
      start(),
      /^Error: DATABASE_URL: the database has tables of another program, such as '(?:LiteLLM_UserTable|accounts)'; create one for this service\.$/,
    );
    assert.deepEqual(await relations(), before);
    await home.query(dropped);
  }
  // Rails, golang-migrate and others give their table of steps the same name.
  await home.query("create table schema_migrations (version varchar primary key)");
  await assert.rejects(
    start(),
    /^Error: DATABASE_URL: the database has tables of another program, such as 'schema_migrations'; /,
  );
  await home.query("drop table schema_migrations");
  // What an extension brings is nobody's data, and beside the service's own tables others may come.
  const [extension] = await home.query(
    "select name from pg_available_extensions where name = 'pg_stat_statements'",
  );
  if (extension) await home.query("create extension pg_stat_statements");
  await (await start()).close();
  await home.query("create table later (id int)");
  await (await start()).close();
  // By default the schema with the user's name comes first once there is one.
  await home.query("create schema authorization current_user; create table later (id int)");
  await (await start()).close();
  await home.close();
  await drop();
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("an IPv6 address in the URL is connected to", async () => {
  // Port 1 is nobody's, and a machine may have no IPv6; a name that can't be found is ENOTFOUND.
  const reached = /at \[::1\]:1 can't be reached \((ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH)\)/;
  await refused(`postgres://user:${password}@[::1]:1/x`, reached);
});

Deno.test("an IPv6 address without a port takes that of PGPORT", {
  ignore: Deno.networkInterfaces().every(({ family }) => family !== "IPv6"),
}, async () => {
  using listener = Deno.listen({ hostname: "::1", port: 0 });
  const { PGPORT } = Deno.env.toObject();
  Deno.env.set("PGPORT", String(listener.addr.port));
  const accepted = listener.accept();
  await refused(
    `postgres://user:${password}@[::1]/x`,
    /at \[::1\] can't be reached \(CONNECT_TIMEOUT/,
  );
  (await accepted).close();
  if (PGPORT === undefined) Deno.env.delete("PGPORT");
  else Deno.env.set("PGPORT", PGPORT);
});

Deno.test("a certificate that is not trusted is not reported as an unreachable server", async () => {
  await using server = encryptedServer("S");
  await refused(server.address, /certificate is not accepted \([A-Z_]+\); set DENO_CERT/);
});

Deno.test("a certificate is checked against the IP address in the URL", async () => {
  await using server = encryptedServer("S");
  const { port } = new URL(server.address);
  const handshake = async (host: string) => {
    const socket = openPostgresSocket({ host: [host], port: [Number(port)], path: false });
    socket.write(new Uint8Array(8));
    await once(socket, "data");
    // As the driver does it; here the test's certificate is trusted too.
    const encrypted = tls.connect({ socket, servername: undefined, ca: testCertificate });
    try {
      await once(encrypted, "secureConnect");
    } finally {
      encrypted.destroy();
    }
  };
  await handshake("127.0.0.1");
  await assert.rejects(handshake("127.0.0.2"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
});

Deno.test("a server without TLS is reported with the parameter that asks for it", async () => {
  await using server = encryptedServer("N");
  await refused(
    server.address,
    /can't be reached \(ECONNRESET\)[^\n]*sslmode=disable if it offers no TLS/,
  );
});

/** As PostgreSQL up to the handshake: answers the request for TLS with yes (S) or no (N). */
function encryptedServer(answer: "S" | "N"): { address: string } & AsyncDisposable {
  const inside = Deno.listenTls({
    ...{ hostname: "127.0.0.1", port: 0 },
    ...{ cert: testCertificate, key: testCertificateKey },
  });
  const listener = Deno.listen({ hostname: "0.0.0.0", port: 0 });
  const shaking = (async () => {
    for await (const connection of inside) {
      await connection.handshake().catch(() => {});
      connection.close();
    }
  })();
  const accepting = (async () => {
    for await (const client of listener) {
      await client.read(new Uint8Array(8));
      await client.write(new TextEncoder().encode(answer));
      if (answer === "N") {
        client.close();
        continue;
      }
      const inner = await Deno.connect({ hostname: "127.0.0.1", port: inside.addr.port });
      void Promise.allSettled([
        client.readable.pipeTo(inner.writable),
        inner.readable.pipeTo(client.writable),
      ]);
    }
  })();
  const { port } = listener.addr;
  return {
    address: `postgres://user:${password}@127.0.0.1:${port}/x?sslmode=verify-full`,
    async [Symbol.asyncDispose]() {
      listener.close();
      inside.close();
      await Promise.all([accepting, shaking]);
    },
  };
}

Deno.test("a port without a listener is reported", async () => {
  await refused(
    `postgres://user:${password}@127.0.0.1:${freePort()}/x`,
    /ECONNREFUSED\); start it/,
  );
});

Deno.test("an address without a host is reported with where its host comes from", async () => {
  const before = Deno.env.get("PGHOST");
  Deno.env.set("PGHOST", "/nowhere");
  try {
    await refused("postgres:///x", /at PGHOST \(localhost .*\) can't be reached \(ENOENT\)/);
    Deno.env.set("PGHOST", "one.invalid,two.invalid");
    await refused("postgres:///x", /PGHOST names several hosts; name one/);
    await refused("postgres://one,two/x", /one,two names several hosts; name one/);
  } finally {
    if (before === undefined) Deno.env.delete("PGHOST");
    else Deno.env.set("PGHOST", before);
  }
});

Deno.test("a host that does not exist is reported", async () => {
  await refused(`postgres://user:${password}@host.invalid/x`, /host\.invalid can't be reached/);
});

Deno.test("an invalid URL is reported without showing it", async () => {
  for (
    const wrong of [`postgres://user:${password}@:x/y`, password, "", `postgres://${password}@/x`]
  ) {
    await refused(wrong, /expected postgres:/);
  }
});

Deno.test("a server that accepts connections and stays silent is given up", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const taken: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) taken.push(connection);
  })();
  await refused(
    `postgres://user:${password}@127.0.0.1:${listener.addr.port}/x`,
    /can't be reached \(CONNECT_TIMEOUT\)/,
  );
  listener.close();
  await accepting;
  for (const connection of taken) connection.close();
});

Deno.test("a proxy that hangs up on every connection is given up", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of listener) connection.close();
  })();
  await refused(
    `postgres://user:${password}@127.0.0.1:${listener.addr.port}/x`,
    /can't be reached \(CONNECT_TIMEOUT\)/,
  );
  listener.close();
  await accepting;
});

Deno.test("a server with another protocol is given up", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(),
  );
  await refused(
    `postgres://user:${password}@127.0.0.1:${server.addr.port}/x`,
    /can't be reached \(CONNECT_TIMEOUT\)/,
  );
  await server.shutdown();
});

Deno.test("a database's own defaults change no answer", { ignore: !available }, async () => {
  const server = await startPostgres();
  const { name, url, drop } = await server.createDatabase();
  const first = await openPostgres(url);
  for (
    const setting of [
      "default_transaction_isolation = 'serializable'",
      "bytea_output = 'escape'",
      "datestyle = 'German'",
      "standard_conforming_strings = off",
      "array_nulls = off",
      "quote_all_identifiers = on",
      "statement_timeout = 50",
      "lock_timeout = 50",
      "idle_session_timeout = 50",
      "synchronous_commit = off",
    ]
  ) await first.query(`alter database ${name} set ${setting}`);
  await first.close();
  const database = await openPostgres(url);
  for (const one of [database, database.reads!]) {
    const [row] = await one.query(
      `select $1::bytea as bytes, $2::timestamptz as at,
         current_setting('transaction_isolation') as isolation,
         '\\d' as pattern, ('{NULL}'::text[])[1] as element, quote_ident('name') as name`,
      [new Uint8Array([0, 92, 255]), new Date(0)],
    );
    assert.deepEqual(row, {
      ...{ bytes: new Uint8Array([0, 92, 255]), at: new Date(0), isolation: "read committed" },
      ...{ pattern: "\\d", element: null, name: "name" },
    });
  }
  const [bounds] = await database.query(
    `select current_setting('statement_timeout') as statement,
       current_setting('lock_timeout') as lock, current_setting('idle_session_timeout') as idle,
       current_setting('synchronous_commit') as commit`,
  );
  assert.deepEqual(bounds, { statement: "0", lock: "5s", idle: "0", commit: "on" });
  await database.close();
  await drop();
});

Deno.test("a query that begins when unused sessions are ended gets its answer", {
  ignore: !available,
}, async () => {
  const unusedMs = 5;
  const database = await openPostgres((await startPostgres()).url("postgres"), { unusedMs });
  const sessions = new Set<unknown>();
  // On a busy machine, timers that are late together leave no time between them.
  for (let times = 0; times < 50 || sessions.size === 1 && times < 500; times++) {
    const units = times % (3 + Math.floor(times / 50));
    await new Promise((resolve) => setTimeout(resolve, unusedMs * units));
    const [row] = await database.query("select pg_backend_pid() as session");
    sessions.add(row!.session);
  }
  assert.ok(sessions.size > 1, "some were ended");
  await database.close();
});

Deno.test("sessions begin with parameters that poolers take", { ignore: !available }, async () => {
  const real = new URL((await startPostgres()).url("postgres"));
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const named: string[][] = [];
  const accepting = (async () => {
    for await (const client of listener) {
      const server = await Deno.connect({ hostname: real.hostname, port: Number(real.port) });
      const begin = new Uint8Array(10_000);
      const length = await client.read(begin) ?? 0;
      // After the length and the protocol's version come names and values, each ended by a zero.
      const words = new TextDecoder().decode(begin.subarray(8, length)).split("\0");
      named.push(words.filter((word, at) => at % 2 === 0 && word !== ""));
      await server.write(begin.subarray(0, length));
      void Promise.allSettled([
        client.readable.pipeTo(server.writable),
        server.readable.pipeTo(client.writable),
      ]);
    }
  })();
  const address = new URL(real);
  address.port = String(listener.addr.port);
  const database = await openPostgres(address.href);
  const [timeout] = await database.reads!.query("show statement_timeout");
  assert.deepEqual(timeout, { statement_timeout: "30s" });
  await database.close();
  listener.close();
  await accepting;
  // Those that PgBouncer keeps track of; it ends a session that names another.
  const tracked = ["user", "database", "client_encoding", "application_name"];
  const more = new Set(named.flat()).difference(new Set([...tracked, "TimeZone", "DateStyle"]));
  assert.deepEqual([named.length, [...more]], [2, []]);
});

Deno.test("behind a pooler that shares sessions among connections nothing starts", {
  ignore: !available,
}, async () => {
  const created = await createMigrated();
  await using pooler = await sharedSession(new URL(created.url));
  const dataDir = await Deno.makeTempDir({ prefix: "pooled-" });
  const address = new Secret(pooler.address);
  await assert.rejects(
    openDatabase(address, dataDir),
    /^Error: DATABASE_URL: [^\n]*pool_mode = session[^\n]*\.$/,
  );
  const database = await openDatabase(new Secret(created.url), dataDir);
  await assert.rejects(
    openAnalytics({ databaseUrl: undefined, analyticsDatabaseUrl: address }, database),
    /^Error: ANALYTICS_DATABASE_URL: [^\n]*pool_mode = session/,
  );
  await database.close();
  await created.drop();
  await Deno.remove(dataDir, { recursive: true });
});

/** As PgBouncer with `pool_mode = transaction`, and a single session for all its clients. */
async function sharedSession(
  real: URL,
): Promise<{ address: string } & AsyncDisposable> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const server = await Deno.connect({ hostname: real.hostname, port: Number(real.port) });
  const clients: Deno.Conn[] = [];
  /** Who has asked last, one after the other. */
  let asking: Deno.Conn | undefined;
  /** What the server says at the end of a login, from the approval until it is ready. */
  let welcome: Uint8Array<ArrayBuffer> | undefined;
  let said = new Uint8Array();
  const answers = (async () => {
    for await (const bytes of server.readable) {
      if (welcome === undefined) {
        said = new Uint8Array([...said, ...bytes]);
        welcome = welcomeIn(said);
      }
      await asking?.write(bytes);
    }
  })().catch(() => {});
  const serve = async (client: Deno.Conn) => {
    let isWelcome = clients.push(client) === 1;
    for await (const bytes of client.readable) {
      asking = client;
      if (!isWelcome) await client.write(welcome!);
      // A client's goodbye (X) doesn't end the session.
      else if (bytes[0] !== "X".charCodeAt(0)) await server.write(bytes);
      isWelcome = true;
    }
  };
  const accepting = (async () => {
    for await (const client of listener) void serve(client).catch(() => {});
  })();
  return {
    address: Object.assign(new URL(real), { port: String(listener.addr.port) }).href,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const each of [...clients, server]) {
        try {
          each.close();
        } catch {
          // Its stream has closed it.
        }
      }
      await Promise.all([accepting, answers]);
    },
  };
}

/** The messages from the approval of a login (R with 0) to the server's being ready (Z). */
function welcomeIn(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const view = new DataView(bytes.buffer);
  let from: number | undefined;
  for (let at = 0; at + 5 <= bytes.length;) {
    const type = String.fromCharCode(bytes[at]!);
    const end = at + 1 + view.getUint32(at + 1);
    if (type === "R" && view.getUint32(at + 5) === 0) from = at;
    if (type === "Z" && from !== undefined) return bytes.slice(from, end);
    at = end;
  }
  return undefined;
}

Deno.test("a server does not start on a database that takes no writes", {
  ignore: !available,
}, async () => {
  const server = await startPostgres();
  const dataDir = await Deno.makeTempDir({ prefix: "read-only-" });
  // The one fails at its first migration, the other would at the first account.
  for (const created of [await server.createDatabase(), await createMigrated()]) {
    const home = await openPostgres(server.url("postgres"));
    await home.query(`alter database ${created.name} set default_transaction_read_only = on`);
    await home.close();
    await using stack = new AsyncDisposableStack();
    await assert.rejects(
      openStores(parseConfig({ DATABASE_URL: created.url, DATA_DIR: dataDir }), stack, {}),
      /^Error: DATABASE_URL: PostgreSQL accepts no writes \(25006\)[^\n]*\.$/,
    );
    await stack.disposeAsync();
    // Commands can read it.
    const database = await openPostgres(created.url);
    assert.equal((await database.query("select 1 as one"))[0]?.one, 1);
    await database.close();
    await created.drop();
  }
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("a command that writes distinguishes a standby from a database that is away", {
  ignore: !available,
}, async () => {
  const server = await startPostgres();
  const dataDir = await Deno.makeTempDir({ prefix: "read-only-" });
  const created = await createMigrated();
  const env = { DATABASE_URL: created.url, DATA_DIR: dataDir };
  const run = (...args: string[]) => runAdminHere({ args, env });
  try {
    assert.equal((await run("account", "create", "--name", "acme")).code, 0);
    const home = await openPostgres(server.url("postgres"));
    await home.query(`alter database ${created.name} set default_transaction_read_only = on`);
    await home.close();
    assert.equal((await run("account", "list")).code, 0);
    // An export is noted in the audit log before any data leaves.
    for (
      const args of [["account", "create", "--name", "other"], ["export"], ["export", "--json"]]
    ) {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 1);
      assert.match(
        `${stdout}${stderr}`,
        /The store is unavailable \(PostgreSQL: 25006, a server that takes no writes\)\./,
      );
    }
  } finally {
    await created.drop();
    await Deno.remove(dataDir, { recursive: true });
  }
});
