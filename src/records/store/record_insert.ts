import { nanosToUsd } from "../../base/money.ts";
import { isStoreAway } from "../../shared/fault.ts";
import type { InsertOptions, InteractionStore, SettledCall } from "../../shared/interaction.ts";
import type { Settlement } from "../../credit/ledger.ts";
import { chargeOnce } from "../../credit/store/charge_once.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import type { AnalyticsWriter } from "./analytics_writer.ts";
import { postAll } from "../../credit/store/ledger.ts";
import { asRowFault } from "../../database/postgres/faults.ts";
import { postBudgetCharges } from "../../budgets/store/budget_charges.ts";
import { enqueueEvents } from "../../webhooks/store/enqueue.ts";
import type { WebhookEvent } from "../../webhooks/webhook.ts";
import { insertKeyCharges } from "../../credit/store/spend.ts";

/**
 * Returns a function that writes records and posts the calls' charges to the ledger: in one
 * transaction if both share a database, else the charges first. Both are idempotent. `analytics`
 * writes the rows; `database` has the ledger and stored responses.
 */
export function createRecordInsert(
  database: Database,
  analytics: AnalyticsWriter,
): InteractionStore["insert"] {
  const write = async (rows: readonly SettledCall[], options?: InsertOptions) => {
    try {
      await analytics.insertPrepared(rows, (tx) => postCharges(tx, rows), options);
    } catch (thrown) {
      const fault = asRowFault(thrown);
      // The charge is posted even if the row can't be stored; where it is already, nothing changes.
      if (rows.length === 1 && !isStoreAway(fault)) {
        await database.transaction(async (tx) => {
          await lockForWriting(tx, options);
          await postCharges(tx, rows);
        });
      }
      throw fault;
    }
  };
  return async (rows, options) => {
    if (rows.length === 0) return;
    await write(rows, options).catch((thrown) => {
      throw asRowFault(thrown);
    });
  };
}

/** Returns the rows with what was actually charged. */
async function postCharges(
  tx: Queryable,
  calls: readonly SettledCall[],
): Promise<readonly SettledCall[]> {
  const rows = await chargeOnce(tx, calls);
  await postAll(tx, rows.map(settlementOf));
  // A charge that was dropped was still held under these limits.
  const limited = rows.map((row, at) => ({
    ...row,
    leaseIds: row.limitLeaseIds ?? [],
    fromLeaseNanos: calls[at]!.chargedNanos,
  }));
  await insertKeyCharges(tx, limited);
  await postBudgetCharges(tx, limited);
  await enqueueEvents(tx, [...unpricedModels(rows), ...disputedCharges(rows)]);
  return rows;
}

/**
 * Returns the events of models that answered a call whose cost is unknown; their keys allow one
 * event per model and day.
 */
function unpricedModels(rows: readonly SettledCall[]): WebhookEvent[] {
  return rows.filter(({ status, costNanos }) => status === "completed" && costNanos === null).map((
    { accountId, vendor, model, createdAt: at },
  ) => ({
    ...{ accountId, at, type: "model.unpriced", data: { vendor, model } },
    key: `unpriced ${vendor}/${model.slice(0, 200)} ${at.toISOString().slice(0, 10)}`,
  }));
}

/** Returns the events of calls whose vendor's report isn't believed. */
function disputedCharges(rows: readonly SettledCall[]): WebhookEvent[] {
  return rows.filter(({ billingBasis }) => billingBasis === "disputed").map((
    { accountId, transactionId, vendor, model, chargedNanos, createdAt: at },
  ) => ({
    ...{ accountId, at, type: "charge.disputed", key: `disputed ${transactionId}` },
    data: {
      ...{ transaction_id: transactionId, vendor, model },
      charged_usd: nanosToUsd(chargedNanos),
    },
  }));
}

function settlementOf(row: SettledCall): Settlement {
  return {
    interactionId: row.transactionId,
    accountId: row.accountId,
    leaseId: row.leaseId ?? null,
    chargedNanos: row.chargedNanos,
  };
}
