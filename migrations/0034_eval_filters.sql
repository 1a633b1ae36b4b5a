-- phase: expand
--
-- A run stays when a person's data is erased: its filters no longer hold values that may name one,
-- such as the number of an application's user. The text is as JSON.stringify writes it, without
-- spaces.
update eval_runs set filters = regexp_replace(
  filters,
  '"(user_id|session_id|request_id)":'
    '("([^"\\]|\\.)*"|\[[^]["]*("([^"\\]|\\.)*"[^]["]*)*\]|-?[0-9][0-9.e+-]*|true|false)',
  '"\1":null',
  'g'
)
where filters ~ '"(user_id|session_id|request_id)":["[0-9tf-]';
