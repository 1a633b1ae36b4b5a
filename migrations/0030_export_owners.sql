-- phase: expand
--
-- The process that writes an export: when it was killed, its next run takes the job over at once.
alter table export_jobs add column owner text;
