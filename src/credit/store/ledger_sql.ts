/** The ledger's larger statements; each keeps entries, sums and leases together. */

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
 * $1 operation, $2 account, $3 at least, $4 wanted, $5 ahead, $6 lease, $7 process, $8 seconds.
 * The row's lock makes whoever comes at the same time wait, and see what is left afterwards. A
 * repeat whose first run is still going on fails at the entry's unique operation and takes nothing.
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
 * $1 JSON array of settlements; their accounts are locked. Charges that share a lease draw on it
 * one after the other, and on the balance alone once it is empty or gone.
 */
export const postSettlements = `with given as (
    select distinct on (interaction_id) * from json_to_recordset($1::text::json)
      as r(interaction_id text, account_id bigint, lease_id text, charged_nanos bigint)
    order by interaction_id
  ), fresh as (
    select g.*, coalesce(l.amount_nanos, 0) as held,
      coalesce(sum(g.charged_nanos) over (
        partition by g.lease_id order by g.interaction_id
        rows between unbounded preceding and 1 preceding
      ), 0) as drawn_before
    from given g left join leases l on l.id = g.lease_id and l.account_id = g.account_id
    where not exists (
      select from ledger_entries e where e.kind = 'settle' and e.interaction_id = g.interaction_id
    )
  ), posted as (
    insert into ledger_entries
      (account_id, kind, amount_nanos, leased_nanos, interaction_id, lease_id)
    select account_id, 'settle', -charged_nanos,
      -greatest(0, least(charged_nanos, held - drawn_before)), interaction_id, lease_id
    from fresh
    returning account_id, amount_nanos, leased_nanos, lease_id
  ), drawn as (
    update leases l set amount_nanos = l.amount_nanos + p.leased
    from (
      select lease_id, sum(leased_nanos)::bigint as leased from posted group by lease_id
    ) p where l.id = p.lease_id
  )
  update account_balances b
  set balance_nanos = b.balance_nanos + p.amount, leased_nanos = b.leased_nanos + p.leased
  from (
    select account_id, sum(amount_nanos)::bigint as amount, sum(leased_nanos)::bigint as leased
    from posted group by account_id
  ) p where b.account_id = p.account_id`;

/** Returns the leases that `which` names, of locked accounts, whose ids are parameter `$accounts`. */
export function returnLeases(which: string, accounts: number): string {
  return `with gone as (
    delete from leases where ${which} and account_id = any($${accounts}::bigint[])
    returning id, account_id, amount_nanos
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
