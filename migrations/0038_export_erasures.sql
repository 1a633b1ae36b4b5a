-- phase: expand
--
-- How often an erasure made the job start again. The number of its claim also counts attempts that a
-- stop or an unreachable store ended.
alter table export_jobs add column erasures integer not null default 0;
