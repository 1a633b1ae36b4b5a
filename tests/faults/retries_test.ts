/** Clients that ask again with the same X-Request-ID while the service is killed over and over. */
import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { startSimulators } from "../../demo/simulators.ts";
import { Random } from "../support/random.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startService } from "../support/process.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { type Books, readBooks } from "./books.ts";
import { type Errand, startRetryingLoad, type Target, vendorEnvironment } from "./load.ts";

/** `KILLS=30 deno task test tests/faults/retries_test.ts` is the long form. */
const kills = Number(Deno.env.get("KILLS") ?? 2);
const clients = 24;
const { available, reason } = postgresAvailability();

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  Deno.test({
    name:
      `calls repeated over ${kills} kills are each answered, recorded and charged once (${kind}${
        runs ? "" : `; skipped: ${reason}`
      })`,
    ignore: !runs,
    fn: () => killUnderRetries(kind),
  });
}

async function killUnderRetries(kind: "embedded" | "postgres"): Promise<void> {
  const dataDir = temporaryDirectory("retries");
  const database = kind === "postgres" ? await createMigrated() : undefined;
  const simulators = await startSimulators();
  const env: Record<string, string> = {
    DATA_DIR: dataDir,
    ...(database ? { DATABASE_URL: database.url } : {}),
  };
  Object.assign(env, vendorEnvironment(simulators));
  const seed = Math.floor(performance.timeOrigin) % 1_000_000;
  const random = new Random(seed);
  let target: Target | undefined;
  let key = "";
  const load = startRetryingLoad(() => target, clients, random);
  try {
    for (let round = 0; round < kills; round++) {
      await using service = await startService({ env });
      key ||= service.firstKey;
      if (round === 0) await grant(env);
      const before = answered(load.errands);
      target = { baseUrl: service.baseUrl, key };
      await untilAnswered(load.errands, before + 30 + random.below(60));
      await new Promise((resolve) => setTimeout(resolve, random.below(40)));
      service.kill("SIGKILL");
      target = undefined;
      await service.status;
    }
    await using service = await startTestService({ env });
    target = { baseUrl: service.baseUrl, key };
    await load.stop();
    await service.stop();
    const books = await readBooks(dataDir, database?.url);
    const seen = checkErrands(books, load.errands);
    console.log(`${kind}: ${kills} kills (seed ${seed}), ${JSON.stringify(seen)}`);
    assert.ok(seen.asked > seen.calls, "some were asked again");
  } finally {
    target ??= { baseUrl: "http://127.0.0.1:9", key };
    await simulators.close();
    await database?.drop();
  }
}

/** Each is charged as one call is, whatever became of its attempts; sums agree. */
function checkErrands(books: Books, errands: readonly Errand[]) {
  const rows = Map.groupBy(books.rows, ({ requestId }) => requestId);
  const wrong: string[] = [];
  let repeated = 0;
  for (const { requestId, isAnswered, transactionId } of errands) {
    const found = rows.get(requestId) ?? [];
    const completed = found.filter(({ status }) => status === "completed");
    const charged = found.filter(({ chargedNanos }) => chargedNanos > 0n);
    if (completed.length > 1) repeated++;
    if (!isAnswered) wrong.push(`${requestId} was not answered`);
    if (!completed.some(({ id }) => id === transactionId)) wrong.push(`${requestId} has no row`);
    if (charged.length !== 1) wrong.push(`${requestId} was charged ${charged.length} times`);
  }
  assert.deepEqual(wrong, []);
  const ids = new Set(books.rows.map(({ id }) => id));
  assert.equal(ids.size, books.rows.length, "no call has two rows");
  const charged = books.rows.reduce((sum, { chargedNanos }) => sum + chargedNanos, 0n);
  assert.equal(charged, books.chargedNanos, "rows and ledger say the same");
  assert.equal(books.balanceNanos, books.grantedNanos - charged);
  assert.deepEqual(books.gaps, []);
  assert.equal(books.leasedNanos, 0n, "all leases went back");
  const asked = errands.reduce((sum, errand) => sum + errand.asked, 0);
  return { calls: errands.length, asked, rows: books.rows.length, completed_twice: repeated };
}

function answered(errands: readonly Errand[]): number {
  return errands.filter(({ isAnswered }) => isAnswered).length;
}

async function untilAnswered(errands: readonly Errand[], count: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (answered(errands) < count) {
    assert.ok(performance.now() < deadline, `only ${answered(errands)} answers in 60 s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function grant(env: Record<string, string>): Promise<void> {
  const { code, stderr } = await runAdminHere({
    args: ["credits", "grant", "--usd", "1000"],
    env,
  });
  assert.equal(code, 0, stderr);
}
