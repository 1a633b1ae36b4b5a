-- phase: expand
--
-- Sums of an account's calls of an hour or day (UTC) by user, flow or cohort, in the place of
-- label_sums, which only programs of the version before read, and the release after drops. Values go
-- by eight bytes of their SHA-256, which a process adds up without looking names up; names and the
-- sums that no order needs stand apart, and are read of the values that are shown
-- (src/usage/label_sums.ts). Written in the background when the hour or day is over, deleted with
-- whatever calls of it are erased. A row counts only while `state` is the one of its calls.
create table label_steps (
  account_id bigint not null,
  span text not null,
  label text not null,
  at timestamptz not null,
  -- Of the sums of all calls of the step, in usage_sums.
  state text not null,
  -- Of each value its bytes, cost and calls: what it is ordered by. Base64.
  ranks text not null,
  -- Bytes that each number of a record takes.
  layout bytea not null,
  -- A record of as many bytes for each value: the other sums, and where its name is.
  records bytea not null,
  names bytea not null,
  primary key (account_id, span, label, at)
);

-- Parts of them are read; and names of people are not to be found among the planner's samples.
alter table label_steps alter ranks set storage external, alter records set storage external,
  alter names set storage external;
alter table label_steps alter ranks set statistics 0, alter names set statistics 0;
