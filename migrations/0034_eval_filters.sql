-- phase: expand
--
-- A run stays when a person's data is erased: its filters no longer hold values that may name one.
-- The text is as JSON.stringify writes it, without spaces.
update eval_runs set filters = regexp_replace(
  filters,
  '"(user_id|session_id|request_id)":("([^"\\]|\\.)*"|\[[^]["]*("([^"\\]|\\.)*"[^]["]*)*\])',
  '"\1":null',
  'g'
)
where filters ~ '"(user_id|session_id|request_id)":["[]';
