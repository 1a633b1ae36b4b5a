import type { Database, Queryable } from "../../database/database.ts";
import { changeUsage, correctedCalls, countedColumns } from "../../usage/store/count_usage.ts";
import { credit, lockAccounts } from "./ledger.ts";

/**
 * Gives back what a call was charged, corrections included, once: for a call that another process
 * had answered already. Nothing where the request was charged as this very call (`claim`): then the
 * other one was not. The settle entry stays and an adjustment stands against it. The call's row
 * must be stored, in `analytics`.
 */
export async function refundCharge(
  database: Database,
  call: { accountId: number; transactionId: string; note: string; claim?: Claim },
  analytics = database,
): Promise<void> {
  const { accountId, transactionId, note, claim } = call;
  const operationId = `give-back:${transactionId}`;
  if (claim && await isCharged(database, claim)) return;
  await database.transaction(async (tx) => {
    // Nobody may price the call again in between.
    await lockAccounts(tx, [accountId]);
    const [settled] = await tx.query(
      `select (select -sum(e.amount_nanos) from (
           select amount_nanos from ledger_entries
             where interaction_id = $1 and account_id = $2 and kind = 'settle'
           union all
           select amount_nanos from ledger_entries
             where interaction_id = $1 and account_id = $2 and kind = 'adjust'
               and operation_id is distinct from $3
         ) e)::bigint as charged
       from ledger_entries
       where interaction_id = $1 and account_id = $2 and kind = 'settle'`,
      [transactionId, accountId, operationId],
    );
    if (!settled) return;
    await credit(tx, "adjust", accountId, settled.charged as bigint, {
      note,
      operationId,
      interactionId: transactionId,
    });
    await tx.query("delete from key_charges where transaction_id = $1", [transactionId]);
    if (analytics === database) await showNoCharge(tx, transactionId);
  });
  if (analytics !== database) {
    await analytics.transaction((tx) => showNoCharge(tx, transactionId));
  }
}

async function showNoCharge(tx: Queryable, transactionId: string): Promise<void> {
  const rows = await tx.query(
    `update interactions i set charged_nanos = 0
     from (
       select transaction_id, created_at, charged_nanos from interactions
       where transaction_id = $1 for update
     ) as old
     where i.transaction_id = old.transaction_id and i.created_at = old.created_at
     returning ${countedColumns.map((column) => `i.${column}`).join(", ")},
       old.charged_nanos as old_charged_nanos`,
    [transactionId],
  );
  await changeUsage(tx, correctedCalls(rows));
}

/** An attempt at answering a repeatable request. */
type Claim = Readonly<Record<"key" | "claimId", string>>;

async function isCharged(database: Queryable, { key, claimId }: Claim): Promise<boolean> {
  const [row] = await database.query(
    "select true as found from replays where key = $1 and charged_claim = $2",
    [key, claimId],
  );
  return row !== undefined;
}
