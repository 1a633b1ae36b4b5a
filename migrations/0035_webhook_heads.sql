-- phase: expand
-- transaction: none
--
-- The next event of each webhook is found by one step of this index: the claimed event first, then
-- the one that is due first. Each claim read all events that were due, thousands after an outage.
create index concurrently webhook_deliveries_next on webhook_deliveries (webhook_id, claimed_until, next_at, seq) where state = 'waiting';
