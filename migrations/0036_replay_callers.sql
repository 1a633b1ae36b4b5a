-- phase: expand
--
-- What deletions select a stored answer's call by: its row may still be missing, if the process that
-- answered has died. Null in answers of the previous version.
alter table replays add column created_at timestamptz, add column session_id text,
  add column user_id text;
