/**
 * `database copy`: a service with the embedded database, killed by `kill -9`, continues on
 * PostgreSQL. It takes some seconds of processor time: only a process of its own can be killed, and
 * nothing less shows that keys, files, charges and erasures survive together.
 */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { startSimulators } from "../../demo/simulators.ts";
import { sha256Hex } from "../../src/base/hash.ts";
import { Secret } from "../../src/base/secret.ts";
import { openDatabase } from "../../src/database/open.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { readBooks } from "../faults/books.ts";
import { runAdminHere } from "../support/admin.ts";
import { ensureMigrated } from "../support/new_database.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { startService } from "../support/process.ts";
import {
  calls,
  simulatedEnvironment,
  startTestService,
  type TestService,
} from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";

type At = Pick<TestService, "fetch" | "post" | "rows">;

const chat = "/chat/v1/chat/completions";
const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(300_000, 7)]);
const pictureUrl = `data:image/png;base64,${picture.toString("base64")}`;
const lines = { start_date: "2020-01-01T00:00:00Z", format: "jsonl" };

function ask(text: string, more: Record<string, unknown> = {}) {
  return { model: "vendor-b/gpt-4.1", messages: [{ role: "user", content: text }], ...more };
}

async function textOf(answer: Response, status = 200): Promise<string> {
  const text = await answer.text();
  assert.ok([status, 202].includes(answer.status), `${answer.status} ${text.slice(0, 500)}`);
  return text;
}

/** Calls of each kind, and something in most tables. Returns paths whose answers must stay equal. */
async function fill(at: At): Promise<string[]> {
  const made = async (path: string, body: unknown, headers = {}) =>
    JSON.parse(await textOf(await at.post(path, body, headers)) || "{}");
  await made(chat, ask("words \\ \t \n \u0001 ü 🙂"), { "x-request-id": "first" });
  await textOf(await at.post(chat, ask("streamed", { stream: true })));
  await textOf(await at.post(chat, ask("of ann"), { "x-session-id": "session of ann" }));
  await textOf(
    await at.post("/chat/v1/messages", {
      ...ask("stored key", { model: "vendor-c/claude-haiku-5-5" }),
      max_tokens: 9,
    }),
  );
  await textOf(await at.post("/imagen/v1/generate", { model: "vendor-b/dall-e-3", prompt: "x" }));
  const content = [{ type: "image_url", image_url: { url: pictureUrl } }];
  await made(chat, ask("", { messages: [{ role: "user", content }] }), {
    "x-session-id": "session of pictures",
  });
  await textOf(await at.post(chat, ask("[error]", { model: "vendor-b/no-such-model" })), 404);
  const graders = [{ type: "regex", pattern: "." }];
  const run = await made("/api/v1/evals", { model: "vendor-b/gpt-4.1", filters: {}, graders });
  const path = `/api/v1/evals/${run.eval_run_id}`;
  while (JSON.parse(await textOf(await at.fetch(path))).state !== "done") await pause();
  const { request_id } = await made("/api/v1/exports", {
    ...{ format: "jsonl", range: { start: "2020-01-01", end: "2030-01-01" } },
  });
  const file = `/api/v1/exports/${request_id}/stream`;
  while ((await at.fetch(file, { method: "HEAD" })).status !== 200) await pause();
  const row = (await at.rows({ session_id: "session of pictures" }))[0]!;
  return [
    ...[path, file, `/api/v1/interactions/${row.transaction_id}`],
    `/api/v1/media/${sha256Hex(picture)}`,
  ];
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Lists that an administrator's key can read. */
const adminPaths = ["accounts", "keys", "models", "budgets", "vendor-keys"]
  .map((name) => `/api/v1/admin/${name}`);

function read(at: At, paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map(async (path) => `${path} ${await textOf(await at.fetch(path))}`));
}

async function exported(at: At): Promise<string[]> {
  return (await textOf(await at.post("/api/v1/exports", lines))).trimEnd().split("\n");
}

const { available, reason } = postgresAvailability();
Deno.test({
  name: `a killed service with the embedded database continues on PostgreSQL after database copy${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: continues,
});

Deno.test({
  name: `a copy that is cut off while it commits is no second ledger${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: cutOffWhileItCommits,
});

/** As when the connection breaks, or the command is killed, before the commit is acknowledged. */
async function cutOffWhileItCommits(): Promise<void> {
  const DATA_DIR = temporaryDirectory("database-copy-cut");
  await ensureMigrated(DATA_DIR);
  const server = await startPostgres({
    private: true,
    settings: { max_wal_senders: "1", wal_level: "replica" },
  });
  try {
    const url = server.url("postgres");
    const admin = (args: string[], more = {}) => runAdminHere({ args, env: { ...more, DATA_DIR } });
    await admin(["account", "create", "--name", "team"]);
    await (await openDatabase(new Secret(url), DATA_DIR)).close();
    await using stack = new AsyncDisposableStack();
    const database = await openPostgres(url);
    stack.defer(() => database.close());
    await database.query("alter system set synchronous_standby_names = 'nobody'");
    await database.query("select pg_reload_conf()");
    const copying = admin(["database", "copy"], { DATABASE_URL: url });
    const deadline = performance.now() + 60_000;
    for (let ended = 0; ended === 0;) {
      assert.ok(performance.now() < deadline, "no commit within a minute");
      await pause();
      ended = (await database.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
      )).length;
    }
    const cut = await copying;
    assert.equal(cut.code, 1, cut.stdout);
    assert.match(
      cut.stderr,
      /the session ended.* PostgreSQL may have the copy: repeat the command/,
    );
    const [row] = await database.query("select count(*)::int as count from accounts");
    assert.equal(row!.count, 1, "it was committed");
    const old = await admin(["account", "list"]);
    assert.match(
      old.stderr,
      /the embedded database .* was copied to PostgreSQL .* repeat it first/,
    );
    await database.query("alter system reset synchronous_standby_names");
    await database.query("select pg_reload_conf()");
    const again = async (to: string, text: RegExp) => {
      const { code, stderr } = await admin(["database", "copy"], { DATABASE_URL: to });
      assert.match(stderr, text);
      assert.equal(code, 1);
    };
    await again(url, /isn't empty .*this database has the copy: start the service with it/);
    const other = await server.createDatabase();
    await admin(["account", "create", "--name", "team"], { DATABASE_URL: other.url });
    await again(
      other.url,
      /isn't empty .*this database doesn't have the copy: .*if none has, create/,
    );
  } finally {
    await server.stop("immediate");
  }
}

async function continues(): Promise<void> {
  const DATA_DIR = temporaryDirectory("database-copy");
  await using simulators = { ...await startSimulators(), [Symbol.asyncDispose]: () => stopped() };
  const stopped = () => simulators.close();
  const { VENDOR_C_API_KEY: storedKey, ...vendors } = simulatedEnvironment(simulators);
  const env = { ...vendors, DATA_DIR };
  const server = await startPostgres();
  const created = await server.createDatabase();
  const copy = (url?: string) =>
    runAdminHere({ args: ["database", "copy"], env: { ...env, ...url && { DATABASE_URL: url } } });
  const admin = async (args: string[], input = "") => {
    const ended = await runAdminHere({ args, env, input });
    assert.equal(ended.code, 0, ended.stderr);
    return ended.stdout;
  };
  const refuses = async (url: string | undefined, text: RegExp) => {
    const { code, stderr } = await copy(url);
    assert.match(stderr, text);
    assert.equal(code, 1);
  };
  try {
    let key: string, made: Filled;
    {
      await using service = await startService({ env });
      key = service.firstKey;
      const at = calls({ baseUrl: service.baseUrl, key });
      made = await fillService(service.baseUrl, at, { admin, storedKey });
      await refuses(created.url, /held by process \d+ .*stop it/);
      // Cut off by the kill: one is in the journal, the other was erased meanwhile.
      await at.post(chat, ask("cut [hang]", { stream: true }));
      await at.post(chat, ask("erased [hang]", { stream: true }), { "x-session-id": "gone" });
      const erase = { session_ids: ["gone"], confirm: true };
      await textOf(await at.fetch("/api/v1/data", json("DELETE", erase)));
      service.kill("SIGKILL");
      await service.status;
    }
    await refuses(undefined, /DATABASE_URL is missing/);
    await refuses("postgres://gateway:x@127.0.0.1:1/gateway", /DATABASE_URL: .*can't be reached/);
    await refusesTables(created.url, refuses);
    await refusesNewAnalytics(env, created.url);
    await refusesStart({ ...env, DATABASE_URL: created.url });
    const done = await copy(created.url);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /^account_balances: 2 rows, .*balance_nanos \d+/m);
    assert.match(
      done.stdout,
      /equal\.\nStart the service with this DATABASE_URL and this DATA_DIR/,
    );
    await refuses(created.url, /the database isn't empty \(it has accounts, /);
    await refusesOldDatabase(env);
    {
      await using service = await startTestService({ env: { ...env, DATABASE_URL: created.url } });
      assert.equal(service.key, "", "no first key is printed");
      const at = calls({ baseUrl: service.baseUrl, key });
      const administrator = calls({ baseUrl: service.baseUrl, key: made.adminKey });
      await hasStayed(at, administrator, made);
      await works(at, administrator);
    }
    const books = await readBooks(DATA_DIR, created.url);
    assert.deepEqual(books.gaps, []);
    assert.equal(books.leasedNanos, 0n);
    assert.equal(books.balanceNanos, books.grantedNanos - books.chargedNanos);
  } finally {
    await created.drop();
  }
}

interface Filled {
  adminKey: string;
  /** Their answers are `before`. */
  paths: string[];
  before: string[];
  /** Exported lines. */
  stored: string[];
}

/** Fills most tables, and reads what must stay equal. */
async function fillService(
  baseUrl: string,
  at: At,
  { admin, storedKey }: {
    admin: (args: string[], input?: string) => Promise<string>;
    storedKey: string | undefined;
  },
): Promise<Filled> {
  await admin(["account", "create", "--name", "team"]);
  await admin(["key", "create", "--name", "capped", "--cap-day-usd", "5", "--account", "team"]);
  await admin(["credits", "grant", "--usd", "7", "--account", "team"]);
  await admin(["vendor-key", "set", "--vendor", "vendor-c"], storedKey);
  await admin(["budget", "set", "--on", "account", "--per", "day", "--usd", "9"]);
  await admin(["model", "set", "helper"], '{"targets": ["vendor-b/gpt-4.1"]}');
  await admin(["webhook", "add", "--url", "https://hooks.example/a"]);
  const paths = await fill(at);
  const created = await admin(["key", "create", "--name", "admin", "--scope", "admin", "--json"]);
  const adminKey = JSON.parse(created).key;
  const before = [
    ...await read(at, paths),
    ...await read(calls({ baseUrl, key: adminKey }), adminPaths),
  ];
  return { adminKey, paths, before, stored: await exported(at) };
}

/** Reads and exports the same as before, and the call that the kill has cut off. */
async function hasStayed(
  at: At,
  administrator: At,
  { paths, before, stored }: Filled,
): Promise<void> {
  assert.deepEqual([...await read(at, paths), ...await read(administrator, adminPaths)], before);
  const now = await exported(at);
  const cut = now.filter((line) => !stored.includes(line));
  assert.deepEqual(now.filter((line) => stored.includes(line)), stored);
  assert.equal(cut.length, 1, "the erased call stays erased");
  assert.match(cut[0]!, /"interrupted".*cut \[hang\]|cut \[hang\].*"interrupted"/);
}

function json(method: string, body: unknown): RequestInit {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** The database of another program is refused, and left as it was. */
async function refusesTables(
  url: string,
  refuses: (url: string, text: RegExp) => Promise<void>,
): Promise<void> {
  const database = await openPostgres(url);
  try {
    await database.query('create table "of others" (id integer)');
    await refuses(url, /the database isn't empty \(it has "of others"\)/);
    await database.query('drop table "of others"');
    const left = await database.query(
      "select relname from pg_class where relnamespace = 'public'::regnamespace",
    );
    assert.deepEqual(left, []);
  } finally {
    await database.close();
  }
}

/** Calls in the journal are of the embedded database, also those of a second worker. */
async function refusesStart(env: Readonly<Record<string, string>>): Promise<void> {
  const refused = () =>
    assert.rejects(
      startTestService({ env }),
      /journal has \d+ calls, but the database has no account: .* database copy/,
    );
  await refused();
  const [journal, workers] = [`${env.DATA_DIR}/journal`, `${env.DATA_DIR}/workers`];
  await Deno.mkdir(`${workers}/2`, { recursive: true });
  await Deno.rename(journal, `${workers}/2/journal`);
  await refused();
  await Deno.remove(journal, { recursive: true });
  await Deno.rename(`${workers}/2/journal`, journal);
  await Deno.remove(workers, { recursive: true });
}

/** It would spend the same credit a second time, and take calls for PostgreSQL from the journal. */
async function refusesOldDatabase(env: Readonly<Record<string, string>>): Promise<void> {
  const refusal = /DATABASE_URL is missing: .* was copied to PostgreSQL \(20.*Z\)/;
  await assert.rejects(startTestService({ env }), refusal);
  const { code, stderr } = await runAdminHere({ args: ["key", "list"], env });
  assert.match(stderr, refusal);
  assert.equal(code, 1);
}

/** Calls would be copied to one database and looked for in the other; neither is written to. */
async function refusesNewAnalytics(env: Readonly<Record<string, string>>, url: string) {
  const elsewhere = { DATABASE_URL: url, ANALYTICS_DATABASE_URL: `${url}?application_name=calls` };
  const { code, stderr } = await runAdminHere({
    args: ["database", "copy"],
    env: { ...env, ...elsewhere },
  });
  assert.match(stderr, /ANALYTICS_DATABASE_URL: this database has no calls, .* leave it out/);
  assert.equal(code, 1);
  const database = await openPostgres(url);
  const tables = await database.query("select from pg_class where relname = 'interactions'");
  assert.equal(tables.length, 0);
  await database.close();
}

/** What continues from the copied state. */
async function works(at: At, administrator: At): Promise<void> {
  const repeated = await at.post(chat, ask("words \\ \t \n \u0001 ü 🙂"), {
    "x-request-id": "first",
  });
  assert.equal(repeated.headers.get("x-idempotent-replay"), "true");
  await textOf(repeated);
  const model = "vendor-c/claude-haiku-5-5";
  await textOf(await at.post("/chat/v1/messages", { ...ask("again", { model }), max_tokens: 9 }));
  await textOf(await at.post(chat, ask("by its name", { model: "helper" })));
  const account = await administrator.post("/api/v1/admin/accounts", { name: "third" });
  assert.equal(JSON.parse(await textOf(account)).name, "third");
  const webhooks = await textOf(await administrator.fetch("/api/v1/admin/webhooks"));
  assert.match(webhooks, /hooks\.example/);
  const erase = { session_ids: ["session of ann", "session of pictures"], confirm: true };
  await textOf(await at.fetch("/api/v1/data", json("DELETE", erase)));
  assert.deepEqual(await at.rows({ session_id: erase.session_ids }), []);
  await textOf(await at.fetch(`/api/v1/media/${sha256Hex(picture)}`), 404);
}
