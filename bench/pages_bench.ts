import process from "node:process";
import type { Database } from "../src/database/database.ts";
import { openEmbedded } from "../src/database/embedded/embedded.ts";
import { migrate } from "../src/database/migrate.ts";
import { openPostgres } from "../src/database/postgres/postgres.ts";
import { refreshStatistics } from "../src/database/table_statistics.ts";
import { type DashboardWorld, startDashboard } from "../tests/dashboard/world.ts";
import type { BrowserClient } from "../tests/support/browser_client.ts";
import { productMigrations } from "../tests/support/databases.ts";
import { postgresAvailability, startPostgres } from "../tests/support/postgres.ts";
import { recountUsage } from "../tests/support/recount_usage.ts";
import type { Environment } from "../tests/support/service.ts";
import { p95 } from "./table.ts";

/** The first requests of a page read the disk, and are not counted but for the very first. */
const coldRuns = 3;

/**
 * Fills a database of each kind, and lets `measure` ask pages of a service on it, as its owner, over
 * HTTP on loopback: whole requests, of client and server in one process.
 */
export async function benchPagesOf(
  stores: readonly string[] = ["postgres", "embedded"],
  fill: (database: Database) => Promise<void>,
  measure: (kind: string, world: DashboardWorld) => Promise<void>,
): Promise<void> {
  const { available, reason } = postgresAvailability();
  if (stores.includes("postgres") && available) {
    const created = await (await startPostgres()).createDatabase();
    await prepare(await openPostgres(created.url), fill);
    await serve("PostgreSQL", { DATABASE_URL: created.url }, measure);
    await created.drop();
  } else {
    console.log(`PostgreSQL skipped: ${reason || "not asked for"}`);
  }
  if (!stores.includes("embedded")) return;
  const directory = await Deno.makeTempDir({ prefix: "bench-" });
  await prepare(await openEmbedded(`${directory}/database`), fill);
  await serve("embedded", { DATA_DIR: directory }, measure);
  await Deno.remove(directory, { recursive: true });
}

async function prepare(
  database: Database,
  fill: (database: Database) => Promise<void>,
): Promise<void> {
  await migrate(database, await productMigrations());
  await fill(database);
  await recountUsage(database);
  // The service does so every few minutes.
  if (database.kind === "embedded") await refreshStatistics(database);
  await database.close();
  // Gigabytes were written, which the disk would else still be busy with.
  await new Deno.Command("sync").output();
}

async function serve(
  kind: string,
  env: Environment,
  measure: (kind: string, world: DashboardWorld) => Promise<void>,
): Promise<void> {
  await using world = await startDashboard({ env, vendors: true });
  await measure(kind, world);
}

/**
 * Milliseconds that a page takes, as texts for a table, and the page itself; `cpu` is what this process
 * computed for one, client and embedded database included: the figure that others' work changes least.
 */
export async function timePage(
  browser: BrowserClient,
  path: string,
  { runs, before }: { runs: number; before: () => Promise<void> },
) {
  const times: number[] = [];
  let cpuMicros = 0;
  let text = "";
  for (let run = 0; run < runs + coldRuns; run++) {
    await before();
    const cpuBefore = process.cpuUsage();
    const began = performance.now();
    const answer = await browser.get(path);
    times.push(performance.now() - began);
    const { user, system } = process.cpuUsage(cpuBefore);
    if (run >= coldRuns) cpuMicros += user + system;
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
    text = answer.text;
  }
  const [first] = times;
  const warm = times.slice(coldRuns).sort((a, b) => a - b);
  const shown = (ms: number) => `${ms.toFixed(1)} ms`;
  const median = warm[Math.floor(warm.length / 2)]!;
  return {
    p95: shown(p95(warm)),
    median: shown(median),
    first: shown(first!),
    cpu: shown(cpuMicros / runs / 1000),
    text,
  };
}
