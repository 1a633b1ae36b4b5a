import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { startSimulators } from "../../demo/simulators.ts";
import { Random } from "../support/random.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { promisedMs } from "../support/quiet.ts";
import { type Books, checkBooks, exportedIds, readBooks } from "./books.ts";
import { type Answer, startLoad, vendorEnvironment } from "./load.ts";

/** `OUTAGE_SECONDS=60 deno task test tests/faults/outage_test.ts` is the long form. */
const outageSeconds = Number(Deno.env.get("OUTAGE_SECONDS") ?? 3);
/** Leases are sized by what was spent lately: a minute needs more than a few seconds' knowledge. */
const warmUpMs = outageSeconds > 10 ? outageSeconds * 2000 : 1500;
/** What small models cost. */
const prices = {
  "vendor-b/gpt-4.1": { input: "0.10", output: "0.40" },
  "vendor-c/claude-haiku-5-5": { input: "0.10", output: "0.40" },
};
const { available, reason } = postgresAvailability();

Deno.test({
  name:
    `PostgreSQL stopped for ${outageSeconds} s under load: no call fails, all is in the store afterwards, in order${
      available ? "" : ` (skipped: ${reason})`
    }`,
  ignore: !available,
  async fn() {
    const postgres = await startPostgres({ private: true });
    const database = await postgres.createDatabase();
    const simulators = await startSimulators();
    const dataDir = temporaryDirectory("outage");
    const pricesFile = `${temporaryDirectory("prices")}/prices.json`;
    await Deno.writeTextFile(pricesFile, JSON.stringify(prices));
    const env = {
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      PRICES_FILE: pricesFile,
      ...vendorEnvironment(simulators),
    };
    const admin = (...args: string[]) => runAdmin(env, args);
    await using service = await startService({ env });
    const target = { baseUrl: service.baseUrl, key: service.firstKey };
    await admin("credits", "grant", "--usd", "1000");
    await admin("account", "create", "--name", "limited");
    const limited = await admin("key", "create", "--name", "limited", "--account", "limited");
    const load = startLoad(target, 8, new Random(5));
    // An account that calls now and then holds a share of its rate.
    for (let waitedMs = 0; waitedMs < warmUpMs; waitedMs += 500) {
      await statusOf(service, String(limited.key));
      await pause(500);
    }
    await postgres.stop("immediate");
    const before = load.answers.length;
    const rated = await rateDuring(service, String(limited.key), outageSeconds);
    const during = load.answers.length - before;
    const status = await admin("journal", "status");
    assert.equal((await fetch(`${service.baseUrl}/readyz`)).status, 503);
    await assert.rejects(exportedIds(target), /503/, "a read would lack what waits");
    await postgres.start();
    await pause(1500);
    await load.stop();

    const failed = load.answers.filter(({ isFull }) => !isFull);
    assert.deepEqual(failed.slice(0, 5), [], `${failed.length} calls failed`);
    assert.ok(
      during > (10_000 / promisedMs(1000)) * outageSeconds,
      `only ${during} calls during the outage`,
    );
    checkStatus(status, during);
    const ids = await untilRead(() => exportedIds(target));
    assert.deepEqual(ids.toSorted(), idsOf(load.answers));
    assert.equal((await admin("journal", "status")).waiting, 0);
    assert.equal(await service.stop(), 0);
    const books = await readBooks(dataDir, database.url);
    checkBooks(books, load.answers);
    checkOrder(books);
    await simulators.close();
    await database.drop();
    await postgres.stop();
    console.log(
      `${load.answers.length} calls, ${during} of them in the ${outageSeconds} s without a store; ` +
        `at its end ${status.waiting} records waited in ${status.bytes} bytes; ${rated} of a ` +
        `limited account's calls were let through`,
    );
  },
});

/** Calls of an account with 60 a minute and a burst of 100 go on, and stay limited. */
async function rateDuring(service: ServiceProcess, key: string, seconds: number): Promise<number> {
  const started = performance.now();
  const counts = new Map<number, number>();
  while (performance.now() - started < seconds * 1000) {
    const status = await statusOf(service, key);
    counts.set(status, (counts.get(status) ?? 0) + 1);
    await pause(15);
  }
  const admitted = counts.get(200) ?? 0;
  const others = [...counts.keys()].filter((status) => status !== 200 && status !== 429);
  assert.deepEqual(others, [], "let through or limited, and nothing else");
  assert.ok(admitted > 0);
  assert.ok(admitted <= 100 + seconds + 1, `${admitted} were let through`);
  return admitted;
}

function checkStatus(status: Record<string, unknown>, during: number): void {
  assert.equal(status.running, true);
  assert.ok(Number(status.waiting) >= during, `${status.waiting} wait of ${during}`);
  assert.ok(Number(status.bytes) > 500 * during);
  assert.ok(Number(status.lag_seconds) > outageSeconds - 2, `lag ${status.lag_seconds}`);
  assert.equal(status.rejected, 0);
}

/** Batches were written as the calls ended; clocks of calls are rounded to milliseconds. */
function checkOrder({ rows }: Books): void {
  let before = 0;
  let latest = 0;
  let batch: bigint | undefined;
  for (const row of rows) {
    if (row.batch !== batch) before = latest;
    batch = row.batch;
    const lateMs = before - row.endedMs;
    assert.ok(
      lateMs < promisedMs(50),
      `${row.id} was written ${lateMs} ms after one that ended later`,
    );
    latest = Math.max(latest, row.endedMs);
  }
}

function idsOf(answers: readonly Answer[]): string[] {
  return answers.map(({ transactionId }) => String(transactionId)).toSorted();
}

async function statusOf(service: ServiceProcess, key: string): Promise<number> {
  const answer = await fetch(`${service.baseUrl}/api/v1/status`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await answer.body?.cancel();
  return answer.status;
}

/** The first answer after the outage: reads are refused until what waited is written. */
async function untilRead<T>(read: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await read();
    } catch (thrown) {
      if (performance.now() > deadline) throw thrown;
      await pause(200);
    }
  }
}

async function runAdmin(
  env: Record<string, string>,
  args: string[],
): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runAdminHere({ args: [...args, "--json"], env });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
