import { parseExactly } from "../../base/exact_json.ts";
import type { ExportTable } from "../../../contracts/data/export_tables.ts";
import type {
  ClaimedExport,
  ErasedSpan,
  ExportJob,
  ExportJobStore,
  NewExport,
} from "../export_job.ts";
import type { ExportSpec } from "../export_spec.ts";
import { overLimit } from "../../shared/fault.ts";
import { dayMs } from "../../shared/time_span.ts";
import type { AuditNote } from "../../audit/audit.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import { fromNow } from "../../database/from_now.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { lockRequest, sameRequestHours } from "../../database/request_lock.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { enqueueEvents } from "../../webhooks/store/enqueue.ts";
import { Claims, withoutClaim, type WorkTable } from "../../work_queue/store/claims.ts";

export interface ExportJobOptions {
  /** How long a file is kept; a signed URL of a bucket is valid for at most seven days. */
  keepMs?: number;
  /** How many jobs of an account may wait or run, and how many may be stored. */
  maxOpen?: number;
  maxStored?: number;
  /** Total bytes of an account's files from which on new exports are refused. */
  maxStoredBytes?: number;
}

/** The columns by which jobs are claimed. A claim has the number of its attempt. */
const work: WorkTable = {
  name: "export_jobs",
  key: "request_id",
  owner: "owner",
  token: "claim",
  until: "lease_until",
  isOpen: "state in ('queued', 'running')",
  claimMs: 30_000,
};

/** A job has failed after this many failed attempts; an unavailable store doesn't count. */
const maxFailures = 3;
const retryMs = 1000;
/** Erasures make a running job start again; this one ends it. */
const lastErasure = 20;
/**
 * How long files of a job are removed again that was ended while it was being written: a process
 * that is killed in that time may have sent the bucket a file that is stored only later.
 */
const lateFileMinutes = 10;

/**
 * Builds the store on PostgreSQL, a server or embedded. Times are by the database's clock.
 * `workerId` identifies this start of the process in claims.
 */
export function createExportJobs(database: Database, workerId: string, {
  keepMs = 7 * dayMs,
  maxOpen = 20,
  maxStored = 200,
  maxStoredBytes = 16 * 1024 ** 3,
}: ExportJobOptions = {}): ExportJobStore {
  return new ExportJobs(database, workerId, { keepMs, maxOpen, maxStored, maxStoredBytes });
}

class ExportJobs implements ExportJobStore {
  readonly #claims: Claims;

  constructor(
    readonly database: Database,
    workerId: string,
    readonly limits: Required<ExportJobOptions>,
  ) {
    this.#claims = new Claims(database, work, workerId);
  }

  create(newExport: NewExport): Promise<ExportJob> {
    return this.database.transaction((tx) => create(tx, newExport, this.limits));
  }

  async claim(except: readonly string[] = []): Promise<ClaimedExport | undefined> {
    const [row] = await this.#claims.claimInTurn(
      { ...nextJob(this.#claims), except },
      claimLock,
    );
    return row && readClaimed(row);
  }

  async renew(jobs: readonly ExportJob[]): Promise<ReadonlySet<string>> {
    const tokens = jobs.map(({ claim }) => String(claim));
    const held = await this.#claims.renew(jobs.map(({ requestId }) => requestId), { tokens });
    return new Set(held.keys());
  }

  finish({ requestId, claim }: ExportJob, bytesSize: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.query(
        `update export_jobs set state = 'ready', bytes_size = $3, detail = ${filteredBy}, ${
          withoutClaim(work)
        }
           where request_id = $1 and claim = $2 and state = 'running'
           returning account_id, clock_timestamp() as at`,
        [requestId, claim, bytesSize],
      );
      if (!row) return false;
      await enqueueEvents(tx, [{
        ...{ accountId: Number(row.account_id), key: `export ${requestId}`, type: "export.ready" },
        ...{ data: { request_id: requestId, bytes: bytesSize }, at: row.at as Date },
      }]);
      return true;
    });
  }

  async release({ requestId, claim }: ExportJob, failed: boolean): Promise<void> {
    await this.database.query(
      `update export_jobs set ${withoutClaim(work)},
           failures = failures + $3,
           state = case when failures + $3 >= ${maxFailures} then 'failed' else 'queued' end,
           detail = case when failures + $3 >= ${maxFailures} then ${filteredBy} else detail end,
           not_before = clock_timestamp() + $3 * (failures + 1) * interval '${retryMs} milliseconds'
         where request_id = $1 and claim = $2 and state = 'running'`,
      [requestId, claim, failed ? 1 : 0],
    );
  }

  async find(accountId: number, requestId: string): Promise<ExportJob | undefined> {
    const [row] = await this.database.query(
      `select ${columns} from export_jobs
         where account_id = $1 and request_id = $2 and ${isStored}`,
      [accountId, requestId],
    );
    return row && readJob(row);
  }

  async list(accountId: number): Promise<ExportJob[]> {
    const rows = await this.database.query(
      `select ${columns} from export_jobs where account_id = $1 and ${isStored}
         order by created_at desc, request_id desc`,
      [accountId],
    );
    return rows.map(readJob);
  }

  remove(accountId: number, requestId: string, audit?: AuditNote): Promise<ExportJob | undefined> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.query(
        `update export_jobs set state = 'removed', detail = '{}',
           not_before = case when ${work.isOpen} then ${lateFilesUntil} else not_before end,
           -- A queued one may have been running until an erasure, a moment ago.
           has_file = has_file or (state = 'queued' and claim > 0),
           ${withoutClaim(work)}
           where account_id = $1 and request_id = $2 and ${isStored} returning ${columns}`,
        [accountId, requestId],
      );
      if (!row) return undefined;
      await writeAudit(tx, audit);
      return readJob(row);
    });
  }

  async erase(accountId: number, { tables, from, to }: ErasedSpan): Promise<ExportJob[]> {
    const rows = await this.database.query(eraseSql, [
      accountId,
      tables,
      from ?? null,
      to ?? null,
    ]);
    return rows.map(readJob);
  }

  async leftOver(): Promise<ExportJob[]> {
    // A bucket may let nothing be removed, or hang: always the same jobs, or its own first, would
    // keep the files of others for good.
    const rows = await this.database.query(
      `select ${columns} from (
         select *, row_number() over (partition by place order by random()) as turn
         from (
           select * from export_jobs where has_file and ${isOver}
           union all
           select * from export_jobs where has_file and not (${isOver}) and expires_at <= now()
         ) as found
       ) as jobs where turn <= 100 order by place = 'bucket', turn`,
      [],
    );
    return rows.map(readJob);
  }

  async cleared({ requestId, claim }: ExportJob): Promise<void> {
    await this.database.query(
      `update export_jobs set has_file = false
         where request_id = $1 and claim <= $2
           and (state = 'queued' or expires_at <= clock_timestamp()
             or state not in ('running', 'ready') and not_before <= clock_timestamp())`,
      [requestId, claim],
    );
  }

  async forget(): Promise<void> {
    await this.database.query(
      `delete from export_jobs where request_id = any(array(
         select request_id from export_jobs
         where expires_at <= now() and not has_file for update skip locked))`,
      [],
    );
  }
}

/** The detail without the filters' values, `{"filteredBy":[…]}`; it is at the detail's beginning. */
const filteredBy = String
  .raw`coalesce(substring(detail from '^\{"filteredBy":\[[^]]*\]') || '}', '{}')`;

const columns = `request_id, account_id, place, format, state, claim, bytes_size, created_at,
  expires_at, tables, start_at, end_at, ${filteredBy} as filtered_by`;
/** As in the index of those that still have a file. */
const isOver = "state in ('failed', 'deleted', 'removed')";
const isStored = "state <> 'removed' and expires_at > clock_timestamp()";

async function create(
  database: Queryable,
  { requestId, accountId, location, spec, snapshot, requestHash, audit }: NewExport,
  limits: Required<ExportJobOptions>,
): Promise<ExportJob> {
  // An account's concurrent requests are counted one after the other.
  await lockRequest(database, "export", accountId, "");
  const [earlier] = requestHash === undefined ? [] : await database.query(
    `select ${columns} from export_jobs
     where account_id = $1 and request_hash = $2 and state in ('queued', 'running', 'ready')
       and created_at > clock_timestamp() - interval '${sameRequestHours} hours'`,
    [accountId, requestHash],
  );
  if (earlier) return readJob(earlier);
  const [counts] = await database.query(
    `select count(*) filter (where state in ('queued', 'running')) as open, count(*) as kept,
       coalesce(sum(bytes_size) filter (where has_file), 0) as bytes
     from export_jobs where account_id = $1 and ${isStored}`,
    [accountId],
  );
  const { open, kept: stored, bytes } = counts!;
  checkRoom({ open: Number(open), stored: Number(stored), bytes: Number(bytes) }, limits);
  const { filters, rawCells, columns: chosen } = spec;
  const detail = { filteredBy: Object.keys(filters), filters, rawCells, columns: chosen };
  const [row] = await database.query(
    `insert into export_jobs (request_id, account_id, place, format, tables, start_at, end_at,
       detail, snapshot, request_hash, state, expires_at)
     values ($1, $2, $3, $4, $5::text[], $6, $7, $8, $9, $10, 'queued', ${fromNow("$11")})
     returning ${columns}`,
    [
      requestId,
      accountId,
      location,
      spec.format,
      spec.tables,
      spec.start ?? null,
      spec.end ?? null,
      sanitizeText(JSON.stringify(detail)),
      snapshot,
      requestHash ?? null,
      limits.keepMs,
    ],
  );
  await writeAudit(database, audit);
  return readJob(row!);
}

function checkRoom(
  { open, stored, bytes }: { open: number; stored: number; bytes: number },
  { maxOpen, maxStored, maxStoredBytes }: Required<ExportJobOptions>,
): void {
  if (open >= maxOpen) {
    throw overLimit(
      `This account has ${open} exports waiting; try again when some are written.`,
      30,
    );
  }
  if (stored < maxStored && bytes < maxStoredBytes) return;
  const size = `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
  throw overLimit(
    `This account keeps ${stored} exports of ${size}; delete some with DELETE /api/v1/exports/{request_id}.`,
    3600,
  );
}

/** Key of the advisory lock under which a job is claimed. */
const claimLock = 7_305_112_604_921;

/**
 * The next job to claim. An account has one running job at a time, across all processes, and the
 * account with the fewest started jobs among the stored ones comes first. So neither long jobs nor
 * many of them delay another account.
 */
function nextJob(claims: Claims) {
  return {
    set: "state = 'running', claim = claim + 1, has_file = true",
    where: `not_before <= clock_timestamp() and expires_at > clock_timestamp()
      and account_id not in (
        select account_id from export_jobs
        where ${work.isOpen} and (${claims.isFree()}) is not true
      )`,
    orderBy: `(
        select count(*) from export_jobs other
        where other.account_id = work.account_id and other.claim > 0
      ), created_at`,
    returning: `${columns}, detail, snapshot`,
  };
}

const lateFilesUntil = `clock_timestamp() + interval '${lateFileMinutes} minutes'`;

const isEnded = `(state = 'running' and erasures + 1 >= ${lastErasure})`;

/**
 * $1 account, $2 tables, $3 and $4 the span, both ends included. A queued job won't read the erased
 * rows, so it stays queued and loses only the file of an earlier attempt. A job that was deleted
 * before is returned again, so that a repeated erasure can finish.
 */
const eraseSql = `update export_jobs set
    state = case when state = 'ready' or ${isEnded} then 'deleted'
      when state = 'running' then 'queued' else state end,
    detail = case when ${isEnded} then ${filteredBy} else detail end,
    erasures = erasures + (state = 'running')::integer,
    not_before = case when ${isEnded} then ${lateFilesUntil} else not_before end,
    ${withoutClaim(work)}
  where account_id = $1 and tables && $2::text[] and has_file
    and ($3::timestamptz is null or end_at is null or end_at > $3::timestamptz)
    and ($4::timestamptz is null or start_at is null or start_at <= $4::timestamptz)
  returning ${columns}`;

function readJob(row: SqlRow): ExportJob {
  const { filteredBy = [] } = parseExactly(String(row.filtered_by)) as Partial<ExportJob>;
  return {
    requestId: String(row.request_id),
    accountId: Number(row.account_id),
    location: row.place as ExportJob["location"],
    format: row.format as ExportJob["format"],
    state: row.state as ExportJob["state"],
    claim: Number(row.claim),
    bytesSize: Number(row.bytes_size),
    createdAt: row.created_at as Date,
    expiresAt: row.expires_at as Date,
    tables: row.tables as ExportTable[],
    filteredBy,
    ...(row.start_at === null ? {} : { start: row.start_at as Date }),
    ...(row.end_at === null ? {} : { end: row.end_at as Date }),
  };
}

function readClaimed(row: SqlRow): ClaimedExport {
  const job = readJob(row);
  const { filters, rawCells, columns: chosen } = parseExactly(String(row.detail)) as Pick<
    ExportSpec,
    "filters" | "rawCells" | "columns"
  >;
  return {
    job,
    work: {
      ...job,
      filters,
      rawCells,
      ...(chosen ? { columns: chosen } : {}),
      snapshot: String(row.snapshot),
    },
  };
}
