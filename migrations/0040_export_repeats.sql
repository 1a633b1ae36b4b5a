-- phase: expand
--
-- A hash of the request, with its X-Request-ID, that made the job: a repeat whose first answer was
-- lost with its process makes no other job.
alter table export_jobs add column request_hash text;
