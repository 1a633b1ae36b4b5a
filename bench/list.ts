import type { InteractionListQuery, ListPosition } from "../src/shared/interaction.ts";
import type { Database } from "../src/database/database.ts";
import { openEmbedded } from "../src/database/embedded/embedded.ts";
import { createAnalyticsStore } from "../src/records/store/analytics_store.ts";
import { migrate } from "../src/database/migrate.ts";
import { openPostgres } from "../src/database/postgres/postgres.ts";
import { productMigrations } from "../tests/support/databases.ts";
import { postgresAvailability, startPostgres } from "../tests/support/postgres.ts";
import { interactionRow } from "../tests/support/interaction_row.ts";
import { day, end, fill, step } from "./calls.ts";
import type { Figures } from "./figures.ts";
import { p95 } from "./table.ts";

const limit = 50;
const runs = 60;

/** Measures the list query over a million rows, on both databases. The promise: 50 ms (issue 6). */
export async function benchList(figures: Figures): Promise<void> {
  const { available, reason } = postgresAvailability();
  if (available) {
    const created = await (await startPostgres()).createDatabase();
    const database = await openPostgres(created.url);
    await measure(figures, "PostgreSQL", database);
    await database.close();
    await created.drop();
  } else {
    console.log(`PostgreSQL skipped: ${reason}`);
  }
  const directory = await Deno.makeTempDir({ prefix: "bench-" });
  const database = await openEmbedded(`${directory}/database`);
  await measure(figures, "embedded", database);
  await database.close();
  await Deno.remove(directory, { recursive: true });
}

async function measure(figures: Figures, kind: string, database: Database): Promise<void> {
  await migrate(database, await productMigrations());
  await fill(database);
  const rows = [["list of 50 of 1,000,000", "page 1000 / page 1", "page 1", "page 1000"]];
  for (const [name, query] of Object.entries(lists)) {
    const first = await time(database, query, undefined);
    const deep = await time(database, query, deepPosition(query.order));
    rows.push([name, (deep / first).toFixed(2), `${first.toFixed(1)} ms`, `${deep.toFixed(1)} ms`]);
  }
  figures.add("list", `${kind}: p95 of ${runs} runs`, rows);
  await measureWrites(kind, database);
}

type ListShape = Omit<InteractionListQuery, "accountId" | "limit" | "after">;

/** Typical queries of a list, with values that `fill` writes. */
const lists: Readonly<Record<string, ListShape>> = {
  "newest": { order: "newest" },
  "oldest": { order: "oldest" },
  "rare user": { order: "newest", filters: { user_id: ["user 77777"] } },
  "frequent user": { order: "newest", filters: { user_id: ["everybody"] } },
  "three users": { order: "newest", filters: { user_id: ["user 5", "everybody", "user 70001"] } },
  "unknown user": { order: "newest", filters: { user_id: ["nobody"] } },
  "session": { order: "newest", filters: { session_id: ["session 4242"] } },
  "cohort": { order: "newest", filters: { cohort_id: ["cohort 7"] } },
  "key": { order: "newest", filters: { api_key_id: ["key 3"] } },
  "rare key": { order: "newest", filters: { api_key_id: ["key rare"] } },
  "failed": { order: "newest", filters: { status: ["failed"] } },
  "cut or left": { order: "newest", filters: { status: ["truncated", "cancelled"] } },
  "model": { order: "newest", filters: { model: ["model 3"] } },
  "rare model": { order: "newest", filters: { model: ["model rare"] } },
  "vendor and mode": { order: "newest", filters: { vendor: ["vendor-c"], mode: ["managed"] } },
  "app": { order: "newest", filters: { app: ["app 3"] } },
  "rare app": { order: "newest", filters: { app: ["app rare"] } },
  "frequent user, failed": {
    order: "newest",
    filters: { user_id: ["everybody"], status: ["failed"] },
  },
  "one week": { order: "newest", start: new Date(end - 30 * day), end: new Date(end - 23 * day) },
  "rare vendor": { order: "newest", filters: { vendor: ["vendor-z"] } },
  "rare mode": { order: "newest", filters: { mode: ["dual_key"] } },
  "dear": { order: "newest", costNanos: { min: 9_990_000n } },
  "slow": { order: "newest", latencyMs: { min: 30_000 } },
};

/** The position after 999 pages of the unfiltered list; filtered lists use it as a time. */
function deepPosition(order: "newest" | "oldest"): ListPosition {
  const passed = 999 * limit * step;
  const at = order === "newest" ? end - passed : end - 90 * day + passed;
  return { createdAt: new Date(Math.floor(at)), transactionId: "8" };
}

async function time(
  database: Database,
  query: ListShape,
  after: ListPosition | undefined,
): Promise<number> {
  const interactions = createAnalyticsStore(database);
  const list = () =>
    interactions.list({ accountId: 1, limit, ...query, ...(after ? { after } : {}) });
  // The first ones read the disk.
  for (let run = 0; run < 3; run++) await list();
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const began = performance.now();
    await list();
    times.push(performance.now() - began);
  }
  return p95(times);
}

/** Measures writing batches one after the other, as the recorder does. */
async function measureWrites(kind: string, database: Database): Promise<void> {
  const interactions = createAnalyticsStore(database);
  const batches = 20;
  const size = 500;
  const payload = JSON.stringify({ messages: [{ role: "user", content: "x".repeat(1000) }] });
  const times: number[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const rows = Array.from({ length: size }, (_, n) =>
      interactionRow(`written-${batch}-${n}`, {
        createdAt: new Date(end + batch),
        userId: `user ${n}`,
        sessionId: `session ${n % 50}`,
        requestText: payload,
        responseText: payload,
      }));
    const began = performance.now();
    await interactions.insert(rows);
    times.push(performance.now() - began);
  }
  const perSecond = batches * size / (times.reduce((a, b) => a + b) / 1000);
  console.log(
    `${kind}: ${Math.round(perSecond)} rows/s written in batches of ${size}, p95 of a batch ${
      p95(times).toFixed(0)
    } ms`,
  );
}
