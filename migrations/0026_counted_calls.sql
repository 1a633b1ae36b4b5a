-- phase: expand
--
-- Calls of an item that is still to be done whose cost stands in its run's counts: the run may be
-- cancelled or given up before the item ends, and the item's end doesn't count them again.
alter table eval_items add column counted_calls text[] not null default '{}';
