import { pushAll } from "../base/lists.ts";
import type { Database, Queryable, SqlRow } from "./database.ts";
import { isLockTimeout } from "./postgres/faults.ts";

/** Whether a statement waits for rows that others have locked, or leaves them out; part of its SQL. */
export type LockWait = "" | "skip locked";

/**
 * A table of leases: parts of an owner's sum that processes hold until `expires_at`, by the
 * database's clock, which all processes share.
 */
export interface LeaseTable<Owner> {
  readonly name: string;
  readonly ownerColumns: string;
  ownerOf(row: SqlRow): Owner;
  /** Locks the owners' sums, always in the same order; returns the owners whose sums are locked. */
  lock(tx: Queryable, owners: readonly Owner[], wait: LockWait): Promise<readonly SqlRow[]>;
  /**
   * Deletes those leases of locked owners that match the condition, and subtracts their amounts
   * from the owners' sums. `wait` is for leases that others have locked. Returns `amount_nanos` of
   * each.
   */
  remove(
    tx: Queryable,
    condition: string,
    values: readonly string[],
    owners: readonly Owner[],
    wait: LockWait,
  ): Promise<readonly SqlRow[]>;
}

/** A lease that its process still holds. */
interface HeldLease {
  readonly leaseId: string;
  readonly inFlightNanos: bigint;
}

/**
 * Renews leases, and takes back those of processes that are gone: their owners are locked first, in
 * the same order as by a charge that is posted meanwhile. A renewal changes no sum and waits for
 * nobody, so that one locked owner doesn't keep the leases of others from being renewed. Leases are
 * taken back from all owners that are free at once, then from each of the others, so that no owner
 * stays locked while another one is waited for. After one that stays locked for five seconds, itself
 * or in its leases, those that are still locked are left to the sweep of expired leases.
 */
export function createLeaseKeeper<Owner>(database: Database, table: LeaseTable<Owner>) {
  const takeBack = async (condition: string, values: readonly string[]) => {
    const returned: SqlRow[] = [];
    const takeFrom = (owners: readonly Owner[], wait: LockWait) =>
      database.transaction(async (tx) => {
        await tx.query(`set local lock_timeout = ${longestLockMs}`);
        const locked = (await table.lock(tx, owners, wait)).map(table.ownerOf);
        return await table.remove(tx, condition, values, locked, wait);
      });
    const owners = async () => {
      const rows = await database.query(
        `select distinct ${table.ownerColumns} from ${table.name} where ${condition}`,
        values,
      );
      return rows.map(table.ownerOf);
    };
    /** False: another session has locked an owner, or with `skip locked` a whole table. */
    const isTaken = async (some: readonly Owner[], wait: LockWait) => {
      try {
        pushAll(returned, await takeFrom(some, wait));
        return true;
      } catch (thrown) {
        if (!isLockTimeout(thrown)) throw thrown;
        return false;
      }
    };
    const all = await owners();
    if (all.length > 0 && await isTaken(all, "skip locked")) {
      const chosen = new Set(all.map(keyOf));
      let wait: LockWait = "";
      for (const owner of await owners()) {
        // One whose lease has expired only now is left to the next sweep.
        if (!chosen.has(keyOf(owner))) continue;
        if (await isTaken([owner], wait)) continue;
        if (wait === "skip locked") break;
        wait = "skip locked";
      }
    }
    const nanos = returned.reduce((sum, row) => sum + (row.amount_nanos as bigint), 0n);
    return { leases: returned.length, nanos };
  };
  return {
    /** Returns the ids of the leases that still exist, and whether each was free to be renewed. */
    async renew(
      held: readonly HeldLease[],
      seconds: number,
    ): Promise<ReadonlyMap<string, boolean>> {
      if (held.length === 0) return new Map();
      const rows = await database.query(
        `with free as (
           select id from ${table.name} where id = any($1::text[]) for update skip locked
         ), renewed as (
           update ${table.name} l set in_flight_nanos = h.in_flight_nanos,
             expires_at = clock_timestamp() + $3::double precision * interval '1 second'
           from unnest($1::text[], $2::bigint[]) as h (id, in_flight_nanos) join free using (id)
           where l.id = h.id returning l.id
         )
         select id, id in (select id from renewed) as is_renewed from ${table.name}
         where id = any($1::text[])`,
        [held.map(({ leaseId }) => leaseId), held.map((one) => one.inFlightNanos), seconds],
      );
      return new Map(rows.map((row) => [String(row.id), row.is_renewed === true]));
    },
    sweepExpired: () => takeBack("expires_at < clock_timestamp()", []),
    takeBack: (processId: string) => takeBack("process_id = $1", [processId]),
  };
}

const longestLockMs = 5_000;

function keyOf(owner: unknown): string {
  return JSON.stringify(owner);
}

/** Reads how much was taken from an owner's sum, and how much of the sum is left. */
export function readTaken(row: SqlRow) {
  return {
    grantedNanos: row.granted as bigint,
    availableNanos: row.available as bigint,
    isNew: row.is_new as boolean,
  };
}
