import { Fault } from "../../shared/fault.ts";
import type { InteractionStore, SettledCall } from "../../shared/interaction.ts";
import type { Settlement } from "../../credit/ledger.ts";
import { chargeOnce } from "../../credit/store/charge_once.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { createInteractions, type Dropped, writeRecords } from "./interactions.ts";
import { postAll } from "../../credit/store/ledger.ts";
import { Partitions } from "./ensure_partitions.ts";
import { asRowFault } from "../../database/row_faults.ts";
import { insertKeyCharges } from "../../credit/store/spend.ts";

/**
 * An interaction store whose `insert` also posts the calls' charges to the ledger: in one
 * transaction where both share a database, else the charges first. Each is done once however often
 * a row is written. `analytics` holds the rows, `database` the ledger and what calls keep.
 */
export function createRecords(
  database: Database,
  analytics = database,
  dropped?: Dropped,
): InteractionStore {
  const interactions = createInteractions(analytics, database, dropped);
  const months = new Partitions(analytics);
  const post = (rows: readonly SettledCall[]) =>
    database.transaction((tx) => postCharges(tx, rows));
  const write = async (rows: readonly SettledCall[]) => {
    if (analytics !== database) return await interactions.insert(await post(rows));
    try {
      const erased = await months.writing(rows, () =>
        database.transaction(async (tx) => {
          const charged = await postCharges(tx, rows);
          return await writeRecords(tx, charged, ["rows", "kept"]);
        }));
      if (erased.length > 0) await dropped?.(erased);
    } catch (thrown) {
      const fault = asRowFault(thrown);
      // A row that can't be stored must not take its charge with it.
      if (rows.length === 1 && !isAway(fault)) await post(rows);
      throw fault;
    }
  };
  return {
    ...interactions,
    async insert(rows) {
      if (rows.length === 0) return;
      await write(rows).catch((thrown) => {
        throw asRowFault(thrown);
      });
    },
  };
}

/** Gives the rows as they were charged. */
async function postCharges(
  tx: Queryable,
  given: readonly SettledCall[],
): Promise<readonly SettledCall[]> {
  const rows = await chargeOnce(tx, given);
  await postAll(tx, rows.map(settlementOf));
  await insertKeyCharges(tx, rows);
  return rows;
}

function settlementOf(row: SettledCall): Settlement {
  return {
    interactionId: row.transactionId,
    accountId: row.accountId,
    leaseId: row.leaseId ?? null,
    chargedNanos: row.chargedNanos,
  };
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}
