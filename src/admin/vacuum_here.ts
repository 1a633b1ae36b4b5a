import type { VacuumReport } from "../erasure/vacuum.ts";
import type { Database } from "../database/database.ts";
import { workerDirs } from "../database/data_dir.ts";
import { createVacuum } from "../erasure/store/vacuum.ts";
import type { AnalyticsStore } from "../records/analytics_store.ts";

/** The scrub of stores whose server isn't running here. */
export async function vacuumHere(
  dataDir: string,
  database: Database,
  analytics: AnalyticsStore,
): Promise<VacuumReport> {
  return withJournal(
    await createVacuum(database, analytics).scrub("all"),
    await journalFiles(dataDir),
  );
}

function withJournal(report: VacuumReport, left: number): VacuumReport {
  if (left === 0) return report;
  const reason =
    "journal files that the next start takes in; run scrub again while the service runs";
  return { ...report, notRewritten: [...report.notRewritten, `${left} ${reason}`] };
}

async function journalFiles(dataDir: string): Promise<number> {
  const workers = await workerDirs(dataDir);
  const counts = await Promise.all([dataDir, ...workers.values()].map(filesOfJournal));
  return counts.reduce((sum, count) => sum + count);
}

async function filesOfJournal(directory: string): Promise<number> {
  try {
    return (await Array.fromAsync(Deno.readDir(`${directory}/journal`))).length;
  } catch {
    return 0;
  }
}
