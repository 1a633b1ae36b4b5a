/** A process killed in the middle of a job: the next start writes the same file. */
import assert from "@std/assert";
import { firstKey, headers, inDatabase, post } from "../support/export_processes.ts";
import { writeManyRows } from "../support/many_rows.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startService } from "../support/process.ts";
import { startTestService, type TestService } from "../support/service.ts";

const path = "/api/v1/exports";
const rows = 6000;

Deno.test("kill -9 in the middle of a job: it is written after the restart (embedded)", async () => {
  await prove(undefined);
});

const { available, reason } = postgresAvailability();
Deno.test({
  name: `kill -9 in the middle of a job: another process writes it (postgres${
    available ? "" : `; skipped: ${reason}`
  })`,
  ignore: !available,
  async fn() {
    const created = await createMigrated();
    try {
      await prove(created.url);
    } finally {
      await created.drop();
    }
  },
});

async function prove(url: string | undefined): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "exports-restart-" });
  const other = await Deno.makeTempDir({ prefix: "exports-restart-" });
  try {
    const env = { DATA_DIR: dataDir, ...(url ? { DATABASE_URL: url } : {}) };
    const key = await firstKey(env);
    await inDatabase(url, dataDir, (database) => writeManyRows(database, 1, rows));
    const folder = `${dataDir}/exports`;
    let tries = 1;
    const killed = () => killedInTheMiddle(env, key, `try-${tries}`, url ? undefined : folder);
    let id = await killed();
    // On a busy machine the job may be over before this process goes on.
    for (; !await isHalfWritten(url, dataDir, id); id = await killed()) {
      assert.ok(++tries <= 5, "it was written at once each time");
    }
    if (!url) assert.equal(namesIn(folder, id).length, 1, "half a file");
    // As if it had been killed before it stored its answer.
    await inDatabase(url, dataDir, async (database) => {
      await database.query("delete from replays");
    });
    // On PostgreSQL a process with another directory can do it.
    await using service = await startTestService({
      env: url ? { ...env, DATA_DIR: other } : env,
    });
    const repeated = await startJob(service, key, `try-${tries}`);
    assert.equal(repeated, id, "a repeat of its request makes no other job");
    const whole = await untilReady(service, key, id);
    const direct = await (await post(service, key, { start_date: "2020-01-01T00:00:00Z" })).text();
    assert.ok(whole === direct, "the file is what the direct form says");
    assert.equal(JSON.parse(whole).length, rows);
    if (!url) await onlyTheWholeFile(folder, id);
    const head = await fetch(`${service.baseUrl}${path}/${id}/stream`, {
      method: "HEAD",
      headers: headers(key),
    });
    assert.equal(
      head.headers.get("content-length"),
      String(new TextEncoder().encode(whole).length),
    );
    const open = Array.from(Deno.readDirSync(`/proc/self/fd`), ({ name }) => name)
      .map((name) => linkOf(`/proc/self/fd/${name}`));
    assert.deepEqual(open.filter((file) => file.includes(id)), [], "HEAD leaves no file open");
  } finally {
    await Deno.remove(dataDir, { recursive: true });
    await Deno.remove(other, { recursive: true });
  }
}

/** Returns the file of a descriptor; "" if it has been closed meanwhile. */
function linkOf(descriptor: string): string {
  try {
    return Deno.readLinkSync(descriptor);
  } catch {
    return "";
  }
}

/** The half file of the killed attempt is gone. */
async function onlyTheWholeFile(folder: string, id: string): Promise<void> {
  const names = namesIn(folder, id);
  assert.equal(names.length, 1);
  assert.match(names[0]!, /\.2\.json$/);
  assert.equal((await Deno.stat(`${folder}/${names[0]}`)).mode! & 0o777, 0o600);
}

/**
 * Whether the job was running when its process was killed. Its lease is ended, which would run out
 * by itself, but nobody wants to wait for that here.
 */
async function isHalfWritten(
  url: string | undefined,
  dataDir: string,
  id: string,
): Promise<boolean> {
  let isRunning = false;
  await inDatabase(url, dataDir, async (database) => {
    const rows = await database.query(
      `update export_jobs set lease_until = clock_timestamp()
       where request_id = $1 and state = 'running' returning state`,
      [id],
    );
    isRunning = rows.length > 0;
  });
  return isRunning;
}

/** Kills the process once it has the job and, if files go to a folder, has begun the job's file. */
async function killedInTheMiddle(
  env: Record<string, string>,
  key: string,
  requestId: string,
  folder: string | undefined,
): Promise<string> {
  await using service = await startService({ env });
  const id = await startJob(service, key, requestId);
  if (folder !== undefined) await fileIn(folder, id);
  service.kill("SIGKILL");
  await service.status;
  return id;
}

/** Returns the id of the job. */
async function startJob(
  service: { readonly baseUrl: string },
  key: string,
  requestId: string,
): Promise<string> {
  const range = { start: "2026-01-01", end: "2026-12-31" };
  const more = { prefer: "respond-async", "x-request-id": requestId };
  return (await (await post(service, key, { range }, more)).json()).request_id;
}

async function fileIn(folder: string, id: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (namesIn(folder, id).length === 0) {
    assert.ok(performance.now() < deadline, "no file was begun in 60 s");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** The names of the job's files. */
function namesIn(folder: string, id: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
      name.includes(id)
    );
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [];
    throw thrown;
  }
}

async function untilReady(service: TestService, key: string, id: string): Promise<string> {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await fetch(`${service.baseUrl}${path}/${id}/stream`, { headers: headers(key) });
    const text = await answer.text();
    if (answer.status === 200) return text;
    assert.equal(answer.status, 409, text);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("The job was not taken up.");
}
