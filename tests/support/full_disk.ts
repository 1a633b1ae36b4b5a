/** Returns SQL that makes PostgreSQL refuse every row of these tables, as if the disk were full. */
export function fullDiskSql(tables: readonly string[]): string {
  const triggers = tables.map((table) =>
    `create trigger full_disk before insert or update on ${table}
     for each row execute function full_disk()`
  );
  return [
    `create function full_disk() returns trigger language plpgsql as $$ begin
       raise exception 'could not extend file' using errcode = '53100';
     end $$`,
    ...triggers,
  ].join("; ");
}
