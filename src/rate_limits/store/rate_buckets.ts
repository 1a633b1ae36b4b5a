import { parseExactly } from "../../base/exact_json.ts";
import type { Bucket, Heartbeat, LeaseOwner } from "../rate_bucket.ts";
import { fullBucket, leaseFrom } from "../rate_bucket.ts";
import { type LeaseAnswer, type LeaseRequest, leaving, unitsPerToken } from "../rate_limit.ts";
import type { RateLimits, RateStore } from "../rate_limit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { isLockTimeout } from "../../database/postgres/faults.ts";
import { Fault } from "../../shared/fault.ts";

/**
 * Max attempts to write a bucket that others keep changing; each one that fails means that another
 * succeeded.
 */
const maxTries = 200;

/**
 * Buckets in the database: read, calculate, write if nobody has written meanwhile. The limits are
 * those of the accounts table, and the time is the database's; `nowMs` is for tests.
 */
export function createRateBuckets(database: Queryable, nowMs?: () => number): RateStore {
  const now = () => nowMs?.() ?? null;
  return {
    async lease(accountId, request) {
      for (let tries = 0; tries < maxTries; tries++) {
        const answer = await tryLease(database, accountId, request, now());
        if (answer) return answer;
      }
      throw new Error(`The rate bucket of account ${accountId} was written by others all the time`);
    },
    async reach() {
      await database.query("select 1");
    },
    async beat(process) {
      await database.query(
        `with gone as (
           delete from rate_processes where process = any(array(
             select process from rate_processes
             where heard_at_ms < ${time} - 86400000 and process <> $2 for update skip locked))
         )
         insert into rate_processes (process, heard_at_ms) values ($2, ${time})
         on conflict (process) do update set heard_at_ms = excluded.heard_at_ms`,
        [now(), process],
      );
    },
    async isShared(accountId, ownNames) {
      const [row] = await database.query(
        `select ${time} as now_ms,
           (select count(*) from rate_processes
            where not starts_with(process, $2) and heard_at_ms > ${time} - 3600000) as heard,
           (select holders from rate_buckets where account_id = $3) as holders`,
        [now(), ownNames, accountId],
      );
      const holders = parseExactly(String(row!.holders ?? "[]")) as LeaseOwner[];
      return Number(row!.heard) > 0 ||
        holders.some(({ process, expiresAtMs }) =>
          !process.startsWith(ownNames) && expiresAtMs > Number(row!.now_ms)
        );
    },
    async leave(ownNames) {
      await database.query("delete from rate_processes where starts_with(process, $1)", [ownNames]);
    },
  };
}

const time = "coalesce($1::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)";

/** Undefined when another process wrote first. */
async function tryLease(
  database: Queryable,
  accountId: number,
  request: LeaseRequest,
  nowMs: number | null,
): Promise<LeaseAnswer | undefined> {
  const row = await readRow(database, accountId, nowMs);
  const { bucket, answer } = leaseOf(row, request);
  const values = [accountId, bucket.level, bucket.settledAtMs, JSON.stringify(bucket.holders)];
  const written = row.version === null
    ? await database.query(
      `insert into rate_buckets (account_id, version, level, settled_at_ms, holders)
       values ($1, 1, $2, $3, $4) on conflict do nothing returning version`,
      values,
    )
    : await database.query(
      `update rate_buckets set version = version + 1, level = $2, settled_at_ms = $3,
         holders = $4, fill = false
       where account_id = $1 and version = $5 returning version`,
      [...values, row.version as bigint],
    );
  return written.length > 0 ? answer : undefined;
}

async function readRow(
  database: Queryable,
  accountId: number,
  nowMs: number | null,
): Promise<SqlRow> {
  const [row] = await database.query(
    `select ${time} as now_ms, a.requests_per_minute, a.burst, b.version, b.level,
       b.settled_at_ms, b.holders, b.fill,
       (select coalesce(json_object_agg(process, heard_at_ms), '{}'::json)::text
        from rate_processes) as heard
     from accounts a left join rate_buckets b on b.account_id = a.id where a.id = $2`,
    [nowMs, accountId],
  );
  // A failover has lost it; this process still knows its key.
  if (!row) throw new Fault("invalid_api_key", { note: `there is no account ${accountId}` });
  return row;
}

function leaseOf(row: SqlRow, request: LeaseRequest) {
  const limits = { requestsPerMinute: Number(row.requests_per_minute), burst: Number(row.burst) };
  const heartbeats = parseExactly(String(row.heard)) as Heartbeat;
  return leaseFrom(readBucket(row, limits), request, limits, Number(row.now_ms), heartbeats);
}

/**
 * Ends the leases of the last run of a process: it was killed, so it issues nothing any more. What
 * it held may have been spent, and the refill brings it back. Buckets that another session has
 * locked, or all if it has locked the table, are left out, so that the start waits for nobody; their
 * leases end by themselves.
 */
export async function endRateLeases(
  database: Database,
  processId: string,
  nowMs?: () => number,
): Promise<void> {
  try {
    await database.query(
      endLeases,
      [nowMs?.() ?? null, `"${processId} `, `${processId} `],
      { lockMs: longestLockMs },
    );
  } catch (thrown) {
    if (!isLockTimeout(thrown)) throw thrown;
  }
}

const longestLockMs = 1000;

const endLeases = `
  with held as (
    select account_id from rate_buckets where position($2 in holders) > 0
    for update skip locked
  )
  update rate_buckets b set version = version + 1, holders = (
    select coalesce(jsonb_agg(
      case when starts_with(one ->> 'process', $3)
        then one || jsonb_build_object('expiresAtMs',
          least((one ->> 'expiresAtMs')::bigint, ${time}))
        else one end), '[]')::text
    from jsonb_array_elements(b.holders::jsonb) one)
  from held where held.account_id = b.account_id`;

/** Returns the whole tokens in an account's bucket now, including those that processes hold. */
export async function tokensLeft(database: Queryable, accountId: number): Promise<number> {
  const row = await readRow(database, accountId, null);
  const nobody = { process: "", leaseId: "", spent: 0, has: 0, leaseMs: 0 };
  const { answer } = leaseOf(row, { ...nobody, ...leaving });
  return Math.floor(answer.rest / unitsPerToken);
}

function readBucket(row: SqlRow, limits: RateLimits): Bucket {
  if (row.version === null) return fullBucket(limits, Number(row.now_ms));
  return {
    level: Number(row.level),
    settledAtMs: Number(row.settled_at_ms),
    holders: parseExactly(String(row.holders)) as LeaseOwner[],
    fill: row.fill === true,
  };
}
