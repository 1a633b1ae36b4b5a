-- phase: expand
--
-- Other calls whose text a stored answer repeats: if one of them is erased, so is the answer.
alter table replays add column sources text[];
