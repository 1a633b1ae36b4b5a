-- phase: expand
-- transaction: none
--
-- Hardly any answer repeats another call's text; the others don't pay for the index.
create index concurrently replays_sources on replays using gin (sources) where sources is not null;
