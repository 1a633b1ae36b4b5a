-- Words of payloads, as hashes by account and span of time (src/domain/search_words.ts), to be
-- searched for. They stand in the payload's own row, so that whatever erases the one erases both.
-- Rows from before have none, and aren't found by their words.
alter table interaction_payloads add column words bigint[];
-- What waits to be sorted in is read by each search: little may wait.
create index payloads_by_word on interaction_payloads using gin (words)
  with (gin_pending_list_limit = 1024);

-- Lists that are narrowed to few rows by a limit of cost or time.
create index interactions_by_cost on interactions (account_id, cost_nanos)
  where cost_nanos is not null;
create index interactions_by_latency on interactions (account_id, latency_ms);
