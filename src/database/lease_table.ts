import type { Database, Queryable, SqlRow } from "./database.ts";

/**
 * A table of leases: parts of an owner's sum that processes hold until `expires_at`, by the
 * database's clock, which all processes share.
 */
export interface LeaseTable<Owner> {
  readonly name: string;
  readonly ownerColumns: string;
  ownerOf(row: SqlRow): Owner;
  /** Locks the owners' sums, always in the same order. */
  lock(tx: Queryable, owners: readonly Owner[]): Promise<void>;
  /**
   * Deletes those leases of locked owners that match the condition `which`, and subtracts their
   * amounts from the owners' sums. Returns `amount_nanos` of each.
   */
  remove(
    tx: Queryable,
    condition: string,
    values: readonly string[],
    owners: readonly Owner[],
  ): Promise<readonly SqlRow[]>;
}

/** A lease that its process still holds. */
interface HeldLease<Owner> {
  readonly leaseId: string;
  readonly accountId: Owner;
  readonly inFlightNanos: bigint;
}

/**
 * Renews leases, and takes back those of processes that are gone. Owners are locked before leases,
 * in the same order as by a charge that is posted meanwhile.
 */
export function createLeaseKeeper<Owner>(database: Database, table: LeaseTable<Owner>) {
  const takeBack = (condition: string, values: readonly string[]) =>
    database.transaction(async (tx) => {
      const rows = await tx.query(
        `select distinct ${table.ownerColumns} from ${table.name} where ${condition}`,
        values,
      );
      if (rows.length === 0) return { leases: 0, nanos: 0n };
      const owners = rows.map(table.ownerOf);
      await table.lock(tx, owners);
      const returned = await table.remove(tx, condition, values, owners);
      const nanos = returned.reduce((sum, row) => sum + (row.amount_nanos as bigint), 0n);
      return { leases: returned.length, nanos };
    });
  return {
    /** Returns the ids of the leases that still exist. */
    async renew(held: readonly HeldLease<Owner>[], seconds: number): Promise<ReadonlySet<string>> {
      if (held.length === 0) return new Set();
      const rows = await database.transaction(async (tx) => {
        await table.lock(tx, held.map(({ accountId }) => accountId));
        return await tx.query(
          `update ${table.name} l set in_flight_nanos = r.in_flight_nanos,
             expires_at = clock_timestamp() + $2::double precision * interval '1 second'
           from json_to_recordset($1::text::json) as r(id text, in_flight_nanos bigint)
           where l.id = r.id returning l.id`,
          [
            JSON.stringify(held.map(({ leaseId, inFlightNanos }) => ({
              id: leaseId,
              in_flight_nanos: String(inFlightNanos),
            }))),
            seconds,
          ],
        );
      });
      return new Set(rows.map(({ id }) => String(id)));
    },
    sweepExpired: () => takeBack("expires_at < clock_timestamp()", []),
    takeBack: (processId: string) => takeBack("process_id = $1", [processId]),
  };
}

/** Reads how much was taken from an owner's sum, and how much of the sum is left. */
export function readTaken(row: SqlRow) {
  return {
    grantedNanos: row.granted as bigint,
    availableNanos: row.available as bigint,
    isNew: row.is_new as boolean,
  };
}
