-- phase: expand
--
-- As 0034, for values that are numbers or booleans: an application may number its users.
update eval_runs set filters = regexp_replace(
  filters,
  '"(user_id|session_id|request_id)":(-?[0-9][0-9.e+-]*|true|false)',
  '"\1":null',
  'g'
)
where filters ~ '"(user_id|session_id|request_id)":[-0-9tf]';
