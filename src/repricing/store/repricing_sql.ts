/** The statements that correct calls and their charges. */
import { countedColumns } from "../../usage/store/count_usage.ts";

/** $1 account, $2 JSON array of calls. Only what still is as it was read is written. */
export const correctCalls = `update interactions i
  set cost_nanos = r.cost, charged_nanos = r.charged, price_version = r.version
  from json_to_recordset($2::text::json) as r(transaction_id text, place text,
    old_cost bigint, old_charged bigint, cost bigint, charged bigint, version text)
  where i.account_id = $1::bigint and i.transaction_id = r.transaction_id and i.created_at = r.place::timestamptz
    and i.cost_nanos is not distinct from r.old_cost and i.charged_nanos = r.old_charged
  returning i.transaction_id, ${countedColumns.map((column) => `i.${column}`).join(", ")},
    r.old_cost as old_cost_nanos, r.old_charged as old_charged_nanos`;

/**
 * $1 account, whose row is locked; $2 JSON array of charges. What the ledger holds for a call is
 * what an earlier correction left there, else what the call was charged.
 */
export const correctCharges = `with given as (
    select r.interaction_id, r.charged, r.note,
      coalesce(c.charged_nanos, r.old_charged) - r.charged as amount
    from json_to_recordset($2::text::json)
      as r(interaction_id text, old_charged bigint, charged bigint, note text)
    left join corrected_charges c on c.interaction_id = r.interaction_id
    -- A charge that was given back stays so, even if its row doesn't say it yet.
    where not exists (
      select from ledger_entries e where e.operation_id = 'give-back:' || r.interaction_id
    )
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
