import type { Database, Queryable } from "./database.ts";
import { credit } from "./ledger.ts";

/**
 * Gives back what a call was charged, once: for a call that another process had answered already.
 * The settle entry stays and an adjustment stands against it. The call's row must be stored, in
 * `analytics`.
 */
export async function giveBackCharge(
  database: Database,
  call: { accountId: number; transactionId: string; note: string },
  analytics = database,
): Promise<void> {
  const { accountId, transactionId, note } = call;
  await database.transaction(async (tx) => {
    const [settled] = await tx.query(
      `select -amount_nanos as charged from ledger_entries
       where interaction_id = $1 and account_id = $2 and kind = 'settle'`,
      [transactionId, accountId],
    );
    if (!settled) return;
    await credit(tx, "adjust", accountId, settled.charged as bigint, {
      note,
      operationId: `give-back:${transactionId}`,
      interactionId: transactionId,
    });
    await tx.query("delete from key_charges where transaction_id = $1", [transactionId]);
    if (analytics === database) await showNoCharge(tx, transactionId);
  });
  if (analytics !== database) await showNoCharge(analytics, transactionId);
}

async function showNoCharge(queryable: Queryable, transactionId: string): Promise<void> {
  await queryable.query("update interactions set charged_nanos = 0 where transaction_id = $1", [
    transactionId,
  ]);
}
