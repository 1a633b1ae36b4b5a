-- phase: expand
--
-- The program that called: the first product of its User-Agent, where it sent one.
alter table interactions add column client text;
