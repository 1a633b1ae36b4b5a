import { openEmbedded } from "../src/store/embedded.ts";
import { migrate } from "../src/store/migrate.ts";
import { openPostgres } from "../src/store/postgres.ts";
import { signIn, startDashboard } from "../tests/dashboard/world.ts";
import { productMigrations } from "../tests/support/databases.ts";
import { postgresAvailability, startPostgres } from "../tests/support/postgres.ts";
import type { Environment } from "../tests/support/service.ts";
import { end, fill } from "./list.ts";
import { p95, printTable } from "./table.ts";

const runs = 60;
const day = 24 * 60 * 60 * 1000;

/** The overview, as a browser gets it, over a million calls; the promise is 50 ms (issue 7). */
export async function benchOverview(): Promise<void> {
  const { available, reason } = postgresAvailability();
  if (available) {
    const created = await (await startPostgres()).createDatabase();
    const database = await openPostgres(created.url);
    await migrate(database, await productMigrations());
    await fill(database);
    await database.close();
    await measure("PostgreSQL", { DATABASE_URL: created.url });
    await created.drop();
  } else {
    console.log(`PostgreSQL skipped: ${reason}`);
  }
  const directory = await Deno.makeTempDir({ prefix: "bench-" });
  const database = await openEmbedded(`${directory}/database`);
  await migrate(database, await productMigrations());
  await fill(database);
  await database.close();
  await measure("embedded", { DATA_DIR: directory });
  await Deno.remove(directory, { recursive: true });
}

/** The account's calls lie in the 90 days before `end`. */
async function measure(kind: string, env: Environment): Promise<void> {
  await using world = await startDashboard({ env });
  const browser = world.browser();
  await signIn(browser, `claim=${new URL(world.claimLink).searchParams.get("token")}`);
  const rows = [["overview of 1,000,000 calls", "median", "p95"]];
  for (const days of [1, 3, 7, 30, 90]) {
    const [from, to] = [end - days * day, end - day].map(dayText);
    for (const by of ["model", "key"]) {
      const times: number[] = [];
      for (let run = 0; run < runs + 5; run++) {
        const began = performance.now();
        const { status } = await browser.get(
          `/dashboard/overview?from=${from}&to=${to}&by=${by}`,
        );
        if (status !== 200) throw new Error(`The page answered ${status}`);
        times.push(performance.now() - began);
      }
      // The first ones read the disk.
      const warm = times.slice(5).sort((a, b) => a - b);
      const median = warm[Math.floor(runs / 2)]!;
      const name = `${days} day${days === 1 ? "" : "s"} by ${by}`;
      rows.push([name, `${median.toFixed(1)} ms`, `${p95(warm).toFixed(1)} ms`]);
    }
  }
  printTable(`${kind}: ${runs} runs`, rows);
}

function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, "2026-11-21".length);
}
