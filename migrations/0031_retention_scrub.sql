-- phase: expand
--
-- What a run of retention may have erased rows from, and when that has to be scrubbed. Apart from
-- what others have noted, so that a deletion's scrub, which may end during the run, leaves it.
alter table scrubs add column run_relations text[], add column run_due timestamptz;
