-- phase: expand
-- transaction: none
--
-- A deletion by user or session must not read all answers of a day.
create index concurrently replays_by_user on replays (account_id, user_id) where user_id is not null;
create index concurrently replays_by_session on replays (account_id, session_id) where session_id is not null;
