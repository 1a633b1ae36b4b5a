-- phase: expand
--
-- What is recorded of a key's calls: `full`, or `metadata` for the row without any content.
alter table api_keys add column recording text not null default 'full';
-- `metadata` where the content of a call was not recorded; null where it was.
alter table interactions add column recording text;
-- The caller's trace (W3C Trace Context), where it sent one or traces are exported.
alter table interactions add column trace_id text;
