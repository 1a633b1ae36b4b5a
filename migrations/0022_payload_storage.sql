-- phase: expand
--
-- What a payload costs to store. More keys of words wait to be sorted into their index, so that those
-- which many calls have are sorted in together: a search reads what waits, 1 ms of 4 MiB. And texts
-- are compressed by lz4, where the server has it, which takes less time than its own method; what is
-- stored stays as it is.

-- For one partition: the index of a partitioned table
-- takes no settings, so each partition's has its own.
create function set_payload_storage(part regclass) returns void language plpgsql as $$
declare
  word_index regclass;
begin
  begin
    execute format('alter table %s alter column request set compression lz4,
      alter column response set compression lz4', part);
  exception when feature_not_supported then
    null;
  end;
  for word_index in
    select i.indexrelid::regclass from pg_index i
      join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
    where i.indrelid = part and a.amname = 'gin' and c.relkind = 'i'
  loop
    execute format('alter index %s set (gin_pending_list_limit = 4096)', word_index);
  end loop;
end
$$;

-- As before, and with the storage of payloads.
create or replace function open_month(at timestamptz) returns void language plpgsql as $$
declare
  first_day timestamptz := date_trunc('month', at, 'UTC');
  next_day timestamptz := (first_day at time zone 'UTC' + interval '1 month') at time zone 'UTC';
  parent text;
  part text;
begin
  perform pg_advisory_xact_lock(7305112604912);
  foreach parent in array array['interactions', 'interaction_payloads'] loop
    part := parent || to_char(first_day at time zone 'UTC', '_YYYY_MM');
    if to_regclass(part) is null then
      execute format('create table %I (like %I including all)', part, parent);
      if parent = 'interaction_payloads' then
        perform set_payload_storage(part::regclass);
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, first_day, next_day);
    end if;
  end loop;
end
$$;

select set_payload_storage(inhrelid::regclass) from pg_inherits
where inhparent = 'interaction_payloads'::regclass;
