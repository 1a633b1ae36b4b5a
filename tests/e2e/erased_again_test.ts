import { cpSync } from "node:fs";
import assert from "@std/assert";
import { anyDatabase } from "../support/any_database.ts";
import { type EchoVendor, startEchoVendor } from "../support/echo_vendor.ts";
import { filesWith } from "../support/files_with.ts";
import { createMigrated, databasesOfThisRun } from "../support/databases.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { interaction } from "../store/samples.ts";
import { startService } from "../support/process.ts";
import { calls, startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";

/** What a test needs of a service, in this process or another. */
type At = Pick<TestService, "fetch" | "post" | "rows"> & { key: string };

const model = "vendor-f/m";
const own = ({ key }: At) => ({ authorization: `Bearer ${key};sk-own` });
const environment = (vendor: EchoVendor) => ({ VENDOR_F_BASE_URL: `${vendor.url}/v1` });

/** A call with the text; `stream` leaves it under way when the vendor holds its user. */
async function say(at: At, text: string, who: { user: string; stream?: boolean }) {
  const answer = await at.post("/chat/v1/chat/completions", {
    model,
    user: who.user,
    stream: who.stream === true,
    messages: [{ role: "user", content: text }],
  }, { ...own(at), "x-session-id": `session of ${who.user}` });
  assert.equal(answer.status, 200);
  return answer;
}

async function eraseSession(at: At, user: string): Promise<number> {
  const answer = await at.fetch("/api/v1/data", {
    method: "DELETE",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_ids: [`session of ${user}`], confirm: true }),
  });
  const body = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(body));
  return body.deleted_count;
}

async function until(check: () => Promise<boolean>, what: string): Promise<void> {
  for (let left = 1_200; left > 0; left--) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(what);
}

Deno.test("a call under way at its erasure and then at a kill -9 is not recorded by the next start", async () => {
  const DATA_DIR = temporaryDirectory("erased");
  await using database = await anyDatabase();
  await using vendor = await startEchoVendor();
  const env = { ...environment(vendor), ...database.env, DATA_DIR };
  const canary = `canary-${crypto.randomUUID()}`;
  const [journal, before] = [`${DATA_DIR}/journal`, temporaryDirectory("journal")];
  const release = vendor.hold("ann");
  let key: string;
  {
    await using service = await startService({ env });
    key = service.firstKey;
    const at = { ...calls({ baseUrl: service.baseUrl, key }), key };
    const answer = await say(at, canary, { user: "ann", stream: true });
    const other = await say(at, "what stays", { user: "bob", stream: false });
    await other.text();
    const hasBegun = async () => (await filesWith(journal, [canary])).length > 0;
    await until(hasBegun, "the call is not in the journal");
    cpSync(journal, before, { recursive: true });
    assert.equal(await eraseSession(at, "ann"), 0, "it is not a row yet");
    Deno.kill(service.pid, "SIGKILL");
    await service.status;
    await answer.body?.cancel().catch(() => {});
    release();
  }
  // As if the process had died before it removed the call from its journal.
  await Deno.remove(journal, { recursive: true });
  cpSync(before, journal, { recursive: true });
  await using service = await startTestService({ env });
  const rows = await service.rows({}, key);
  assert.deepEqual(rows.map((row) => row.user_id), ["bob"]);
  assert.deepEqual((await service.admin("scrub")).exitCode, 0);
  assert.deepEqual(await filesWith(DATA_DIR, [canary]), []);
});

Deno.test("a record that the store refused is erased after the start of a process that was down", async () => {
  const DATA_DIR = temporaryDirectory("refused");
  await using database = await anyDatabase();
  await using vendor = await startEchoVendor();
  const env = { ...environment(vendor), ...database.env, DATA_DIR };
  const createdAt = new Date();
  {
    await using service = await startTestService({ env });
    assert.equal(await eraseSession(service, "ann"), 0);
  }
  const canary = `canary-${crypto.randomUUID()}`;
  const journal = await openJournal(`${DATA_DIR}/journal`, { sync: "always" });
  for (const [user, text] of [["ann", canary], ["bob", "what stays"]]) {
    const more = { createdAt, sessionId: `session of ${user}`, requestText: JSON.stringify(text) };
    await journal.reject(interaction(1, `call of ${user}`, more), "invalid");
  }
  await journal.close();
  await using service = await startTestService({ env });
  assert.deepEqual((await service.admin("scrub")).exitCode, 0);
  assert.deepEqual(await filesWith(DATA_DIR, [canary]), []);
  assert.notDeepEqual(await filesWith(DATA_DIR, ["what stays"]), []);
});

const { available, reason } = postgresAvailability();
const skipped = available ? "" : ` (skipped: ${reason})`;

if (databasesOfThisRun().embedded) {
  Deno.test(
    "a database out of a backup loses again what was erased after it (embedded)",
    embeddedBackup,
  );
}

async function embeddedBackup(): Promise<void> {
  const DATA_DIR = temporaryDirectory("restored");
  const backup = `${temporaryDirectory("backup")}/database`;
  await using vendor = await startEchoVendor();
  const env = { ...environment(vendor), DATA_DIR };
  const first = await startTestService({ env });
  await (await say(first, "of ann", { user: "ann" })).text();
  await (await say(first, "of bob", { user: "bob" })).text();
  assert.equal((await first.rows()).length, 2);
  await first.stop();
  await copy(`${DATA_DIR}/database`, backup);

  const second = await startTestService({ env });
  const at = { ...second, ...calls({ baseUrl: second.baseUrl, key: first.key }), key: first.key };
  assert.equal(await eraseSession(at, "ann"), 1);
  await second.stop();
  const kept = await Deno.readTextFile(`${DATA_DIR}/tombstones`);
  assert.doesNotMatch(kept, /ann/);

  await Deno.remove(`${DATA_DIR}/database`, { recursive: true });
  await copy(backup, `${DATA_DIR}/database`);
  await using third = await startTestService({ env });
  const rows = () => third.rows({}, first.key);
  await until(async () => (await rows()).length === 1, "ann's row is still there");
  assert.deepEqual((await rows()).map((row) => row.user_id), ["bob"]);
}

Deno.test({
  name: `a database out of a backup loses again what was erased after it (postgres)${skipped}`,
  ignore: !available,
  async fn() {
    const server = await startPostgres();
    const database = await createMigrated();
    const DATA_DIR = temporaryDirectory("restored");
    await using vendor = await startEchoVendor();
    const env = { ...environment(vendor), DATA_DIR };
    const first = await startTestService({ env: { ...env, DATABASE_URL: database.url } });
    await (await say(first, "of ann", { user: "ann" })).text();
    await (await say(first, "of bob", { user: "bob" })).text();
    assert.equal((await first.rows()).length, 2);
    await first.stop();
    const backup = await server.createDatabase({ template: database.name });
    const second = await startTestService({ env: { ...env, DATABASE_URL: database.url } });
    const at = { ...second, ...calls({ baseUrl: second.baseUrl, key: first.key }), key: first.key };
    assert.equal(await eraseSession(at, "ann"), 1);
    await second.stop();
    const third = await startTestService({ env: { ...env, DATABASE_URL: backup.url } });
    const rows = () => third.rows({}, first.key);
    await until(async () => (await rows()).length === 1, "ann's row is still there");
    assert.deepEqual((await rows()).map((row) => row.user_id), ["bob"]);
    await third.stop();
    await database.drop();
    await backup.drop();
  },
});

Deno.test({
  name: `what one replica erases another neither writes nor remembers${skipped}`,
  ignore: !available,
  async fn() {
    const database = await createMigrated();
    await using vendor = await startEchoVendor();
    const env = { ...environment(vendor), DATABASE_URL: database.url };
    const one = await startTestService({ env });
    const second = await startTestService({ env });
    const { key } = one;
    const other = { ...second, ...calls({ baseUrl: second.baseUrl, key }), key };
    const canary = `canary-${crypto.randomUUID()}`;
    const respond = (at: At, body: object) =>
      at.post("/chat/v1/responses", { model, user: "ann", ...body }, {
        ...own(at),
        "x-session-id": "session of ann",
      });
    const kept = await (await respond(other, { input: canary })).json();
    const release = vendor.hold("ann");
    const streams = [
      await say(other, canary, { user: "ann", stream: true }),
      await respond(other, { input: canary, stream: true }),
    ];
    await until(async () => (await one.rows()).length === 1, "the row of the other replica");
    assert.equal(await eraseSession(one, "ann"), 1);
    const read = async (id: string) => {
      const answer = await other.fetch(`/chat/v1/responses/${id}`);
      await answer.body?.cancel();
      return answer.status;
    };
    await until(async () => await read(kept.id) === 404, "it is still remembered");
    release();
    const [, streamed] = await Promise.all(streams.map((stream) => stream.text()));
    const late = /"id":"(resp_[^"]+)"/.exec(streamed!)![1]!;
    await until(async () => await read(late) === 404, "the late one is remembered");
    const next = await say(other, "afterwards", { user: "ann" });
    await next.text();
    const rows = await other.rows();
    assert.deepEqual(rows.map((row) => row.transaction_id), [next.headers.get("x-transaction-id")]);
    await until(
      async () => (await filesWith(`${second.dataDir}/journal`, [canary])).length === 0,
      "the journal of the other replica still has it",
    );
    await one.stop();
    await second.stop();
    await database.drop();
  },
});

async function copy(from: string, to: string): Promise<void> {
  const { success } = await new Deno.Command("cp", { args: ["-a", from, to] }).output();
  assert.ok(success);
}
