-- phase: expand
--
-- Calls that were refunded in the last days. Where calls have a database of their own, a refund that
-- failed half-way is repeated; if the call is erased, no row shows whether its sums were corrected.
create table refunded_calls (
  transaction_id text primary key,
  refunded_at timestamptz not null default clock_timestamp()
);
