import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { startSimulators } from "../../demo/simulators.ts";
import { Random } from "../support/random.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startService } from "../support/process.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { checkBooks, exportedIds, readBooks } from "./books.ts";
import { type Answer, type Load, startLoad, vendorEnvironment } from "./load.ts";

/** `KILLS=20 deno task test tests/faults/kill_test.ts` is the long form. */
const kills = Number(Deno.env.get("KILLS") ?? 2);
const { available, reason } = postgresAvailability();

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  Deno.test({
    name:
      `after kill -9 under load, ${kills} times, every answer received whole is one row and one charge (${kind}${
        runs ? "" : `; skipped: ${reason}`
      })`,
    ignore: !runs,
    fn: () => killAgainAndAgain(kind),
  });
}

async function killAgainAndAgain(kind: "embedded" | "postgres"): Promise<void> {
  const dataDir = temporaryDirectory("kill");
  const database = kind === "postgres" ? await createMigrated() : undefined;
  const simulators = await startSimulators();
  const env: Record<string, string> = {
    DATA_DIR: dataDir,
    ...(database ? { DATABASE_URL: database.url } : {}),
  };
  Object.assign(env, vendorEnvironment(simulators));
  const seed = Math.floor(performance.timeOrigin) % 1_000_000;
  const random = new Random(seed);
  const answers: Answer[] = [];
  let key = "";
  try {
    for (let round = 0; round < kills; round++) {
      await using service = await startService({ env });
      key ||= service.firstKey;
      if (round === 0) await grant(env);
      const load = startLoad({ baseUrl: service.baseUrl, key }, 12, random);
      await untilAnswered(load, 10 + random.below(60));
      await new Promise((resolve) => setTimeout(resolve, random.below(60)));
      service.kill("SIGKILL");
      await service.status;
      await load.stop();
      answers.push(...load.answers);
    }
    await using service = await startTestService({ env });
    const ids = await exportedIds({ baseUrl: service.baseUrl, key });
    await service.stop();
    const books = await readBooks(dataDir, database?.url);
    checkBooks(books, answers);
    assert.deepEqual(ids.toSorted(), books.rows.map(({ id }) => id).toSorted());
    assert.ok(books.rows.some(({ status }) => status === "interrupted"), "calls were cut");
    report(kind, seed, answers, books.rows);
  } finally {
    await simulators.close();
    await database?.drop();
  }
}

/** However slow the machine is, each round has calls behind it and calls under way. */
async function untilAnswered(load: Load, count: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (load.answers.length < count) {
    assert.ok(performance.now() < deadline, `only ${load.answers.length} answers in 60 s`);
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

function report(
  kind: string,
  seed: number,
  answers: readonly Answer[],
  rows: readonly { status: string }[],
): void {
  const whole = answers.filter(({ isFull }) => isFull).length;
  const cut = rows.filter(({ status }) => status === "interrupted").length;
  console.log(
    `${kind}: ${kills} kills (seed ${seed}), ${whole} answers received whole, each one row and ` +
      `one charge; ${rows.length} rows, ${cut} of them cut by a kill`,
  );
  assert.ok(whole >= 10 * kills, `only ${whole} answers`);
}
