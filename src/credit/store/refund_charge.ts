import type { AnalyticsStore } from "../../records/analytics_store.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { whenUnlocked } from "../../database/when_unlocked.ts";
import type { Interaction } from "../../shared/interaction.ts";
import { correctBudgetCharges } from "../../budgets/store/budget_charges.ts";
import { credit, lockAccounts, refundOperation } from "./ledger.ts";

/**
 * Refunds a call's charge, corrections included, once: for a call whose request another process had
 * already answered. Does nothing where the request was charged as this very call (`claim`), or the
 * other one (`originalId`) was not charged. The settle entry stays, and an adjustment offsets it. The
 * call's row must be stored, in `analytics`, or be erased: then `settled` says which sums count its
 * charge.
 */
export async function refundCharge(
  database: Database,
  call: {
    accountId: number;
    transactionId: string;
    note: string;
    claim?: Claim;
    originalId?: string | null;
    settled?: Interaction | undefined;
  },
  analytics: Pick<AnalyticsStore, "afterMain" | "noteCorrections">,
): Promise<void> {
  const { accountId, transactionId, note, claim, originalId, settled } = call;
  if (claim && await isCharged(database, claim)) return;
  // A row may be locked for longer than the caller tries.
  await whenUnlocked(() =>
    analytics.afterMain(async (tx) => {
      await lockForWriting(tx);
      // Nobody may price the call again in between.
      await lockAccounts(tx, [accountId]);
      if (originalId && await isFree(tx, originalId)) return undefined;
      // A call that has cost nothing has no charge; the entry keeps a later price from charging it.
      const operationId = refundOperation(transactionId);
      // Without this refund, so that a repeat returns the same charge.
      const [ledger] = await tx.query(
        `select coalesce(-sum(amount_nanos), 0)::bigint as charged
       from (
         select amount_nanos from ledger_entries
           where interaction_id = $1 and account_id = $2 and kind = 'settle'
         union all
         select amount_nanos from ledger_entries
           where interaction_id = $1 and account_id = $2 and kind = 'adjust'
             and operation_id is distinct from $3
       ) e`,
        [transactionId, accountId, operationId],
      );
      const chargedNanos = ledger!.charged as bigint;
      const entry = { note, operationId, interactionId: transactionId };
      await credit(tx, "adjust", accountId, chargedNanos, entry);
      await correctBudgetCharges(tx, [{ transactionId, chargedNanos: 0n }]);
      // Not deleted: the charge would be added again should the call be written once more.
      await tx.query("update key_charges set charged_nanos = 0 where transaction_id = $1", [
        transactionId,
      ]);
      // Should this process end before it has changed the row, another will.
      await analytics.noteCorrections(tx, accountId, [{ transactionId, chargedNanos: 0n }]);
      return { inSums: settled && { call: settled, chargedNanos } };
    }, async (rows, refunded) => {
      if (refunded) await rows.clearCharge(transactionId, refunded.inSums);
    })
  );
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

/** Whether the call was refunded, or not charged since its request was charged as another call. */
async function isFree(tx: Queryable, transactionId: string): Promise<boolean> {
  const [row] = await tx.query("select true as found from ledger_entries where operation_id = $1", [
    refundOperation(transactionId),
  ]);
  return row !== undefined;
}
