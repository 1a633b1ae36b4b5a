-- Whether calls to vendor-c that carry no cache marks of their own get some (interface.md §4).
alter table api_keys add column prompt_cache boolean not null default true;
