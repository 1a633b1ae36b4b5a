import type { VacuumReport } from "../erasure/vacuum.ts";
import type { Secret } from "../base/secret.ts";
import type { Database } from "../database/database.ts";
import { workerDirs } from "../database/data_dir.ts";
import { openAnalytics } from "../database/open.ts";
import { createVacuum } from "../erasure/store/vacuum.ts";

/** Scrubs the databases from this process, where no server runs on the data directory. */
export async function vacuumHere(config: {
  dataDir: string;
  databaseUrl: Secret | undefined;
  analyticsDatabaseUrl: Secret | undefined;
}, database: Database): Promise<VacuumReport> {
  const analytics = await openAnalytics(config, database);
  try {
    return withJournal(
      await createVacuum([database, analytics]).scrub("all"),
      await journalFiles(config.dataDir),
    );
  } finally {
    if (analytics !== database) await analytics.close();
  }
}

function withJournal(report: VacuumReport, left: number): VacuumReport {
  if (left === 0) return report;
  const reason = "journal files that the next start takes in; scrub again while it runs";
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
