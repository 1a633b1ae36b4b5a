import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { type DashboardWorld, startDashboard } from "../dashboard/world.ts";
import { writeBusyMonths } from "../support/busy_month.ts";
import { createMigrated } from "../support/databases.ts";
import { copyMigrated } from "../support/new_database.ts";
import { isPostgresPreferred } from "../support/service.ts";

/** A service with two months of calls of its first account, whose people sign in at a simulated provider. */
export async function startBusyService(perDay?: number): Promise<DashboardWorld> {
  const dataDir = await Deno.makeTempDir({ prefix: "gateway-busy-" });
  const postgres = isPostgresPreferred() ? await createMigrated() : undefined;
  if (!postgres) await copyMigrated(`${dataDir}/database`);
  const database = postgres
    ? await openPostgres(postgres.url)
    : await openEmbedded(`${dataDir}/database`);
  const keys = ["key of checkout", "key of support", "key of evaluations"];
  const now = new Date();
  await writeBusyMonths(database, { accountId: 1, keys, now, ...(perDay ? { perDay } : {}) });
  await database.close();
  const service = await startDashboard({
    vendors: true,
    env: { DATA_DIR: dataDir, ...(postgres ? { DATABASE_URL: postgres.url } : {}) },
  });
  const stop = async () => {
    await service.stop();
    await postgres?.drop();
    await Deno.remove(dataDir, { recursive: true });
  };
  return { ...service, stop, [Symbol.asyncDispose]: stop };
}
