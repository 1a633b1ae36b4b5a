import type { ExportFileName } from "../export_job.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { Fault } from "../../shared/fault.ts";
import { createExportChunks } from "./export_chunks.ts";
import { createExportFiles } from "./export_files.ts";

/**
 * Adapts the export jobs of an embedded database that were just copied to PostgreSQL: their files
 * are copied from `DATA_DIR` into the database, and the snapshots of those that haven't ended, which
 * compare ids of the other database's transactions, become that of the copy. Such an export ends
 * with the time of its request, since the copy has later rows too. `tx` is the transaction that has
 * copied all rows. `withCalls`: calls are in this database too.
 */
export async function adoptExports(
  tx: Queryable,
  dataDir: string,
  withCalls: boolean,
): Promise<void> {
  const [row] = await tx.query("select pg_current_xact_id()::text as id", []);
  const next = BigInt(String(row!.id)) + 1n;
  // The calls' part of a snapshot comes before that of evaluations.
  await tx.query(
    String.raw`update export_jobs set end_at = least(end_at, created_at),
       snapshot = regexp_replace(snapshot, '\d+:\d+:[\d,]*@', $1,
         case when $2::boolean then 1 else greatest(1, position('|' in snapshot)) end, 0)
     where state in ('queued', 'running')`,
    [`${next}:${next}:@`, withCalls],
  );
  const files = createExportFiles(`${dataDir}/exports`);
  const chunks = createExportChunks(tx);
  const ready = await tx.query(
    `update export_jobs set state = 'running' where place = 'files' and state = 'ready'
     returning request_id, claim, format, bytes_size`,
    [],
  );
  for (const job of ready) {
    const name = fileOf(job);
    try {
      await chunks.save(name, files.read(name, 0, Number(job.bytes_size)));
    } catch (thrown) {
      // Somebody has removed the file, which is an error when it is asked for, as before.
      if (!(thrown instanceof Fault && thrown.code === "export_not_found")) throw thrown;
    }
  }
  await tx.query(
    "update export_jobs set state = 'ready' where request_id = any($1::text[])",
    [ready.map(({ request_id }) => String(request_id))],
  );
  await tx.query("update export_jobs set place = 'chunks' where place = 'files'", []);
}

function fileOf(row: SqlRow): ExportFileName {
  return {
    requestId: String(row.request_id),
    claim: Number(row.claim),
    format: row.format as ExportFileName["format"],
  };
}
