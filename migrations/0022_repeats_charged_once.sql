-- A process that dies may leave a call in its journal as ended whose answer was not stored yet: who
-- repeats the request takes over the claim and calls again. Both calls are then one request, which
-- is charged once: by whichever call's record is written first.
-- The claims before the present one whose processes died, oldest first.
alter table replays add column past_claims text[] not null default '{}';
-- The claim whose call was charged.
alter table replays add column charged_claim text;
