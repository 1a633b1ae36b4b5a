import process from "node:process";
import type { Database } from "../src/database/database.ts";
import { openEmbedded } from "../src/database/embedded/embedded.ts";
import { migrate } from "../src/database/migrate.ts";
import { openPostgres } from "../src/database/postgres/postgres.ts";
import { refreshStatistics } from "../src/database/table_statistics.ts";
import { createLabelRows } from "../src/records/store/label_days.ts";
import { createLabelSumsJob } from "../src/usage/label_sums.ts";
import { createLabelSumWriter } from "../src/usage/store/label_sums.ts";
import { type DashboardWorld, startDashboard } from "../tests/dashboard/world.ts";
import { BrowserClient } from "../tests/support/browser_client.ts";
import { productMigrations } from "../tests/support/databases.ts";
import { postgresAvailability, startPostgres } from "../tests/support/postgres.ts";
import { startService } from "../tests/support/process.ts";
import { recountUsage } from "../tests/support/recount_usage.ts";
import { asStarted } from "../tests/support/resident.ts";
import type { Environment } from "../tests/support/service.ts";
import { end } from "./calls.ts";
import { p95 } from "./table.ts";

/** The first requests of a page read the disk, and are not counted. */
const coldRuns = 3;

/** A service on a filled database. */
export interface FilledService {
  kind: string;
  world: DashboardWorld;
  /**
   * Starts a service process as `deno task start` does, and returns the milliseconds of its very
   * first request, with cold code and empty caches. Stop `world` first, since it uses its database.
   */
  firstLook(path: string): Promise<number>;
}

/**
 * Fills a database of each kind, and lets `measure` request pages of a service on it, signed in as
 * its owner, over HTTP on loopback. Client and server are in one process.
 */
export async function benchPagesOf(
  stores: readonly string[] = ["postgres", "embedded"],
  fill: (database: Database) => Promise<void>,
  measure: (service: FilledService) => Promise<void>,
): Promise<void> {
  const { available, reason } = postgresAvailability();
  if (stores.includes("postgres") && available) {
    const created = await (await startPostgres()).createDatabase();
    await prepare(await openPostgres(created.url), fill);
    const directory = await Deno.makeTempDir({ prefix: "bench-" });
    await serve("PostgreSQL", { DATABASE_URL: created.url, DATA_DIR: directory }, measure);
    await Deno.remove(directory, { recursive: true });
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
  await keepLabelSums(database);
  // The service does so every few minutes.
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("vacuum analyze usage_sums, label_steps", []);
  await database.close();
  // The disk would otherwise still be busy with the gigabytes just written.
  await new Deno.Command("sync").output();
}

/**
 * Runs the job that adds up past calls until nothing is left. A running service would have done so
 * hour by hour; `fill` writes to the database directly.
 */
async function keepLabelSums(database: Database): Promise<void> {
  const keeper = createLabelSumWriter(database, createLabelRows);
  let kept = 0;
  const store: typeof keeper.store = (...args) => (kept++, keeper.store(...args));
  const job = createLabelSumsJob({ keeper: { ...keeper, store }, now: () => new Date(end - 1) });
  for (let before = -1; kept > before;) {
    before = kept;
    await job();
  }
}

async function serve(
  kind: string,
  env: Environment,
  measure: (service: FilledService) => Promise<void>,
): Promise<void> {
  await using world = await startDashboard({ env, vendors: true });
  const owner = await world.owner();
  const firstLook = async (path: string) => {
    await using service = await startService({ env: { ...asStarted(), ...env } });
    const browser = new BrowserClient(service.baseUrl);
    const { port } = new URL(service.baseUrl);
    for (const [name, value] of owner.cookies) {
      browser.setCookie(name.replace(/\d+$/, port), value);
    }
    const began = performance.now();
    const answer = await browser.get(path);
    const ms = performance.now() - began;
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
    await service.stop();
    return ms;
  };
  await measure({ kind, world, firstLook });
}

/**
 * Returns the milliseconds that a page takes, as texts for a table, and the page itself. `cpu` is
 * this process's processor time for one request, client and embedded database included: the figure
 * that depends least on other load.
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
  const warm = times.slice(coldRuns).sort((a, b) => a - b);
  const median = warm[Math.floor(warm.length / 2)]!;
  return {
    p95: shownMs(p95(warm)),
    median: shownMs(median),
    cpu: shownMs(cpuMicros / runs / 1000),
    text,
  };
}

export function shownMs(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
