-- All requests of a call to its vendors, as JSON text; null where there was one.
alter table interactions add column attempts text;
