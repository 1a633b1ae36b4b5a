-- phase: expand
-- transaction: none
--
-- What jobs look for is mostly not there: invitations that have ended, and files of exports that are
-- over.
create index concurrently invitations_by_end on invitations (expires_at);
create index concurrently export_jobs_left_over on export_jobs (place) where has_file and state in ('failed', 'deleted', 'removed');
