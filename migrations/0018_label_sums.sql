-- phase: expand
--
-- Sums of an account's calls of a day (UTC) by user, flow or cohort: what the overview would else add
-- up from the day's calls at its first look after a start. Written in the background when the day is
-- over (src/usage/store/label_sums.ts), deleted with whatever calls of the day are erased. A row
-- counts only while `state` is what the day's sums in usage_sums are: a process of the version before
-- writes late calls without knowing of it.
create table label_sums (
  account_id bigint not null,
  label text not null,
  at timestamptz not null,
  -- The sums of all the day's calls, as text.
  state text not null,
  -- JSON: the label's values.
  names text not null,
  -- For each sum its numbers, in the order of the names (src/usage/label_sums.ts).
  sums bytea not null,
  primary key (account_id, label, at)
);

-- They are compressed already; and names of people are not to be found among the planner's samples.
alter table label_sums alter sums set storage external;
alter table label_sums alter names set statistics 0;
