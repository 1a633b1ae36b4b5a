import type { RepricingStore } from "../repricing.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { correctedAmong, refundedAmong } from "../../credit/store/changed_charges.ts";
import { lockAccounts } from "../../credit/store/ledger.ts";
import { insertKeyCharges } from "../../credit/store/spend.ts";
import { postBudgetCharges } from "../../budgets/store/budget_charges.ts";
import type { AnalyticsStore, CorrectedCall } from "../../records/analytics_store.ts";

/**
 * Builds the store. Calls and ledger change in one transaction where both share a database; else
 * the ledger changes first, and a cut is finished by `AnalyticsStore.finishCorrections`.
 */
export function createRepricing(database: Database, analytics: AnalyticsStore): RepricingStore {
  return {
    async *read(query) {
      for await (const calls of analytics.pricedCalls(query)) {
        const ids = calls.map(({ transactionId }) => transactionId);
        const refunded = await refundedAmong(database, ids);
        const corrected = await correctedAmong(database, ids);
        yield calls.map((call) => {
          const isRefunded = refunded.has(call.transactionId);
          const postedNanos = isRefunded ? 0n : corrected.get(call.transactionId);
          return { ...call, isRefunded, ...(postedNanos === undefined ? {} : { postedNanos }) };
        });
      }
    },
    async correct(accountId, calls) {
      if (calls.length === 0) return new Set();
      if (!analytics.sharesMain) return await correctInTurn(database, analytics, accountId, calls);
      return await database.transaction(async (tx) => {
        await lockForWriting(tx);
        const refunded = await lockRefunded(tx, accountId, calls);
        const written = await analytics.within(tx).reprice(
          accountId,
          withRefunds(calls, refunded),
        );
        const isDue = (id: string) => written.has(id) && !refunded.has(id);
        await adjust(tx, accountId, calls.filter((one) => isDue(idOf(one))));
        return written;
      });
    },
  };
}

/**
 * Corrects the ledger, and notes what the rows of these calls are to become, before it changes any
 * row. Costs that change no charge aren't noted: where the run is cut, they are as before it.
 */
async function correctInTurn(
  database: Database,
  analytics: AnalyticsStore,
  accountId: number,
  calls: readonly CorrectedCall[],
): Promise<ReadonlySet<string>> {
  const { noted, others } = await database.transaction(async (tx) => {
    await lockForWriting(tx);
    const refunded = await lockRefunded(tx, accountId, calls);
    const charged = calls.filter((one) => !refunded.has(idOf(one)) && changesCharge(one));
    const noted = await analytics.noteCorrections(tx, accountId, charged.map(dueCorrection));
    await adjust(tx, accountId, charged.filter((one) => noted.has(idOf(one))));
    const isCharged = new Set(charged.map(idOf));
    const others = calls.filter((one) => !isCharged.has(idOf(one)));
    return { noted, others: withRefunds(others, refunded) };
  });
  const written = await analytics.reprice(accountId, others);
  await analytics.finishCorrections();
  return written.union(noted);
}

function dueCorrection(
  { call: { transactionId }, costNanos, chargedNanos, priceVersion }: CorrectedCall,
) {
  return { transactionId, costNanos, chargedNanos, priceVersion };
}

function changesCharge({ call, chargedNanos }: CorrectedCall): boolean {
  return chargedNanos !== call.chargedNanos || chargedNanos !== (call.postedNanos ?? chargedNanos);
}

/**
 * Locks the account, and returns those of the calls that are refunded: nothing is charged for them.
 * Posting or refunding a charge locks the account first too.
 */
async function lockRefunded(
  tx: Queryable,
  accountId: number,
  calls: readonly CorrectedCall[],
): Promise<ReadonlySet<string>> {
  await lockAccounts(tx, [accountId]);
  return await refundedAmong(tx, calls.map(idOf));
}

function withRefunds(
  calls: readonly CorrectedCall[],
  refunded: ReadonlySet<string>,
): readonly CorrectedCall[] {
  return calls.map((one) =>
    refunded.has(idOf(one))
      ? { ...one, call: { ...one.call, isRefunded: true }, chargedNanos: 0n }
      : one
  );
}

function idOf({ call }: CorrectedCall): string {
  return call.transactionId;
}

async function adjust(
  tx: Queryable,
  accountId: number,
  calls: readonly CorrectedCall[],
): Promise<void> {
  const changed = calls.filter(changesCharge);
  if (changed.length === 0) return;
  await tx.query(correctCharges, [
    accountId,
    JSON.stringify(changed.map(({ call, chargedNanos, priceVersion }) => ({
      interaction_id: call.transactionId,
      old_charged: String(call.chargedNanos),
      charged: String(chargedNanos),
      note: `repriced from ${call.priceVersion ?? "no price"} to ${priceVersion}`,
    }))),
  ]);
  // Calls that cost nothing so far are in no cap and no budget.
  const first = changed.filter(({ call }) => call.chargedNanos === 0n)
    .map(({ call, chargedNanos }) => ({ ...call, chargedNanos }));
  const posted = first.map((call) => (
    { ...call, leaseIds: [], fromLeaseNanos: 0n, wasFree: true as const }
  ));
  await insertKeyCharges(tx, posted);
  await postBudgetCharges(
    tx,
    posted,
    changed.map(({ call: { transactionId }, chargedNanos }) => ({ transactionId, chargedNanos })),
  );
}

/**
 * $1 account, whose row is locked; $2 JSON array of charges. What the ledger holds for a call is
 * what an earlier correction left there, else what the call was charged.
 */
const correctCharges = `with given as (
    select r.interaction_id, r.charged, r.note,
      coalesce(c.charged_nanos, r.old_charged) - r.charged as amount
    from json_to_recordset($2::text::json)
      as r(interaction_id text, old_charged bigint, charged bigint, note text)
    left join corrected_charges c on c.interaction_id = r.interaction_id
  ), entries as (
    insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos, interaction_id, note)
    select $1::bigint, 'adjust', amount, 0, interaction_id, note from given where amount <> 0
    order by interaction_id
    returning amount_nanos
  ), remembered as (
    insert into corrected_charges (interaction_id, account_id, charged_nanos)
    select interaction_id, $1::bigint, charged from given
    on conflict (interaction_id) do update
      set charged_nanos = excluded.charged_nanos, corrected_at = clock_timestamp()
  ), caps as (
    update key_charges k set charged_nanos = g.charged
    from given g where k.transaction_id = g.interaction_id
  )
  insert into account_balances (account_id, balance_nanos, leased_nanos)
  select $1::bigint, coalesce(sum(amount_nanos), 0)::bigint, 0 from entries
  on conflict (account_id) do update
    set balance_nanos = account_balances.balance_nanos + excluded.balance_nanos`;
