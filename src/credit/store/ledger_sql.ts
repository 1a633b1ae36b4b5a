/** The ledger's larger statements; each keeps entries, sums and leases together. */

import type { LockWait } from "../../database/lease_table.ts";

/** $1 account, $2 kind, $3 amount, $4 note, $5 operation, $6 interaction. No row: done before. */
export const addCredit = `with entry as (
    insert into ledger_entries
      (account_id, kind, amount_nanos, leased_nanos, note, operation_id, interaction_id)
    values ($1, $2, $3, 0, $4, $5, $6)
    on conflict (operation_id) do nothing
    returning account_id, amount_nanos
  )
  insert into account_balances (account_id, balance_nanos, leased_nanos)
  select account_id, amount_nanos, 0 from entry
  on conflict (account_id) do update
    set balance_nanos = account_balances.balance_nanos + excluded.balance_nanos
  returning balance_nanos`;

/**
 * $1 operation, $2 account, $3 at least, $4 wanted, $5 ahead, $6 lease, $7 process, $8 seconds. The
 * row's lock makes concurrent requests wait, and see what is left afterwards. A repeat that waits for
 * its own first run fails at the entry's unique operation, takes nothing, and has to be made again.
 */
export const takeLease = `with done as (
    select e.leased_nanos as granted from ledger_entries e join leases l on l.id = e.lease_id
    where e.operation_id = $1
  ), room as (
    select account_id, balance_nanos - leased_nanos as available from account_balances
    where account_id = $2 for update
  ), taken as (
    select account_id,
      least(available, greatest($4::bigint, least($5::bigint, available / 4))) as granted
    from room
    where available > 0 and available >= $3::bigint
      and not exists (select from ledger_entries where operation_id = $1)
  ), balance as (
    update account_balances b set leased_nanos = b.leased_nanos + taken.granted
    from taken where b.account_id = taken.account_id
  ), lease as (
    insert into leases (id, account_id, process_id, amount_nanos, expires_at)
    select $6, account_id, $7, granted,
      clock_timestamp() + $8::double precision * interval '1 second'
    from taken where granted > 0
    on conflict (id) do update
      set amount_nanos = leases.amount_nanos + excluded.amount_nanos,
        expires_at = excluded.expires_at
    returning xmax = 0 as is_new
  ), entry as (
    insert into ledger_entries
      (account_id, kind, amount_nanos, leased_nanos, lease_id, operation_id)
    select account_id, 'lease', 0, granted, $6, $1 from taken where granted > 0
  )
  select coalesce((select granted from done), (select granted from taken), 0) as granted,
    coalesce((select available from room), 0) - coalesce((select granted from taken), 0)
      as available,
    coalesce((select is_new from lease), false) as is_new`;

/**
 * $1 JSON array of settlements; their accounts are locked. The unique index itself skips what is
 * already posted, so that no query plan decides how to look for it. Charges draw on their lease,
 * and on the balance alone once the lease is empty or gone; one entry says what a lease gave in
 * all.
 */
export const postSettlements = `with posted as (
    insert into ledger_entries
      (account_id, kind, amount_nanos, leased_nanos, interaction_id, lease_id)
    select account_id, 'settle', -charged_nanos, 0, interaction_id, lease_id
    from json_to_recordset($1::text::json)
      as r(interaction_id text, account_id bigint, lease_id text, charged_nanos bigint)
    on conflict (interaction_id) where kind = 'settle' do nothing
    returning account_id, amount_nanos, lease_id
  ), charged as (
    select account_id, lease_id, -sum(amount_nanos) as nanos from posted group by 1, 2
  ), drawn as (
    select l.id, l.account_id, least(c.nanos, l.amount_nanos)::bigint as nanos
    from charged c join leases l on l.id = c.lease_id and l.account_id = c.account_id
    where l.amount_nanos > 0 and c.nanos > 0
  ), lease as (
    update leases l set amount_nanos = l.amount_nanos - d.nanos from drawn d where l.id = d.id
  ), entry as (
    insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos, lease_id)
    select account_id, 'release', 0, -nanos, id from drawn
  )
  update account_balances b
  set balance_nanos = b.balance_nanos - c.nanos, leased_nanos = b.leased_nanos - coalesce(d.nanos, 0)
  from (
    select account_id, sum(nanos)::bigint as nanos from charged group by account_id
  ) c left join (
    select account_id, sum(nanos)::bigint as nanos from drawn group by account_id
  ) d using (account_id) where b.account_id = c.account_id`;

/**
 * The statement that gives the leases selected by `which` back to their accounts, which are locked
 * and whose ids are parameter `$accounts`.
 */
export function returnLeases(which: string, accounts: number, wait: LockWait): string {
  return `with free as (
    select id from leases where ${which} and account_id = any($${accounts}::bigint[])
    for update ${wait}
  ), gone as (
    delete from leases l using free where l.id = free.id
    returning l.id, l.account_id, l.amount_nanos
  ), entry as (
    insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos, lease_id)
    select account_id, 'release', 0, -amount_nanos, id from gone where amount_nanos > 0
  ), balance as (
    update account_balances b set leased_nanos = b.leased_nanos - g.nanos
    from (
      select account_id, sum(amount_nanos)::bigint as nanos from gone group by account_id
    ) g where b.account_id = g.account_id
  )
  select amount_nanos from gone`;
}

/** One row for each sum that does not agree with the entries it is made of. */
export const checkSums = `with entries as (
    select account_id, sum(amount_nanos)::bigint as balance, sum(leased_nanos)::bigint as leased
    from ledger_entries group by account_id
  ), held as (
    select account_id, sum(amount_nanos)::bigint as leased from leases group by account_id
  ), sums as (
    select a.id as account_id, coalesce(b.balance_nanos, 0) as balance,
      coalesce(b.leased_nanos, 0) as leased, coalesce(h.leased, 0) as held,
      coalesce(e.balance, 0) as entries_balance, coalesce(e.leased, 0) as entries_leased
    from accounts a
      left join account_balances b on b.account_id = a.id
      left join held h on h.account_id = a.id
      left join entries e on e.account_id = a.id
  )
  select account_id, 'balance' as what, balance as kept, entries_balance as entries from sums
    where balance <> entries_balance
  union all
  select account_id, 'leased', leased, entries_leased from sums where leased <> entries_leased
  union all
  select account_id, 'leases', held, entries_leased from sums where held <> entries_leased`;
