-- phase: expand
--
-- Exports as lines of JSON. Every row of before meets the new check; it is not looked at again.
alter table export_jobs drop constraint export_jobs_format_check;
alter table export_jobs add constraint export_jobs_format_check
  check (format in ('json', 'csv', 'jsonl')) not valid;
