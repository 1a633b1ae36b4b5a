import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { anyDatabase } from "../support/any_database.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { interaction } from "../store/samples.ts";
import { inDatabase } from "../support/export_processes.ts";
import { ensureMigrated } from "../support/new_database.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";

const fields = [
  "running",
  "bytes",
  "segments",
  "waiting",
  "oldest",
  "lag_seconds",
  "sync",
  "max_bytes",
  "rejected",
  "damaged_bytes",
];

Deno.test("journal status reports a running server, files alone, and nothing, and opens no database", async () => {
  const dataDir = `${temporaryDirectory("journal-status")}/data`;
  const env = { DATA_DIR: dataDir, JOURNAL_MAX_BYTES: "5000000" };
  const status = async (): Promise<Record<string, unknown>> => {
    const args = ["journal", "status", "--json"];
    const { code, stdout, stderr } = await runAdminHere({ args, env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^[^\n]+\n$/, "one line");
    return JSON.parse(stdout);
  };
  const empty = await status();
  assert.deepEqual(Object.keys(empty), fields);
  assert.deepEqual([empty.running, empty.waiting, empty.max_bytes], [false, 0, 5_000_000]);
  await assert.rejects(Deno.stat(dataDir), Deno.errors.NotFound, "a look makes nothing");

  await writeJournal(`${dataDir}/journal`);
  const left = await status();
  assert.deepEqual(left, {
    ...empty,
    bytes: left.bytes,
    segments: 1,
    waiting: 2,
    oldest: "2026-11-21T10:00:00.250Z",
    lag_seconds: left.lag_seconds,
    rejected: 1,
    damaged_bytes: 6,
  });
  assert.ok(Number(left.bytes) > 500);
  const fromFiles = await runAdminHere({ args: ["journal", "status"], env });
  assert.match(
    fromFiles.stdout,
    /No server answers[^]*Waiting for the database: at most 2 records,/,
  );

  await using database = await anyDatabase();
  await makeAccount(database.env.DATABASE_URL, dataDir);
  await using _service = await startTestService({ env: { ...env, ...database.env } });
  const running = await status();
  assert.deepEqual([running.running, running.waiting, running.rejected], [true, 0, 1]);
  const lines = await runAdminHere({ args: ["journal", "status"], env });
  assert.match(lines.stdout, /A server runs[^]*Waiting for the database: 0 records\./);
  assert.match(lines.stdout, /Rejected by the database: 1 records, in journal\/rejected\.jsonl\./);
});

Deno.test("journal without status is wrong usage", async () => {
  const env = { DATA_DIR: `${temporaryDirectory("journal-usage")}/data` };
  const ended = await runAdminHere({ args: ["journal", "stats"], env });
  assert.equal(ended.code, 2);
  assert.match(ended.stderr, /Unknown command 'journal stats'\. Did you mean 'journal status'\?/);
});

/** Makes the account that the calls belong to. */
async function makeAccount(databaseUrl: string | undefined, dataDir: string): Promise<void> {
  if (databaseUrl === undefined) await ensureMigrated(dataDir);
  const account = { name: "first", tier: "free", requestsPerMinute: 9, burst: 9 } as const;
  await inDatabase(databaseUrl, dataDir, async (database) => {
    await createAccounts(database).create(account);
  });
}

/** An ended call, one that was cut, one that the store refused, and bytes that nobody could read. */
async function writeJournal(folder: string): Promise<void> {
  const journal = await openJournal(folder, { sync: "always" });
  const row = (id: string) => interaction(1, id, { latencyMs: 250 });
  await journal.end(row("ended"));
  journal.begin({ ...row("cut"), latencyMs: 900, status: "interrupted" });
  await journal.reject(row("refused"), "invalid");
  await journal.close();
  await Deno.writeTextFile(`${folder}/000000000009.journal.damaged`, "noise!");
}
