import type { Queryable } from "../../src/database/database.ts";

/**
 * Makes every write to these tables fail as it does on a full disk. One statement a table: in one
 * transaction their locks could deadlock with those of the service.
 */
export async function fillDisk(database: Queryable, tables: readonly string[]): Promise<void> {
  await database.query(
    `create function full_disk() returns trigger language plpgsql as $$ begin
       raise exception 'could not extend file' using errcode = '53100';
     end $$`,
  );
  for (const table of tables) {
    await database.query(
      `create trigger full_disk before insert or update on ${table}
       for each row execute function full_disk()`,
    );
  }
}

/** Lets writes to these tables succeed again. */
export async function freeDisk(database: Queryable, tables: readonly string[]): Promise<void> {
  for (const table of tables) await database.query(`drop trigger full_disk on ${table}`);
  await database.query("drop function full_disk");
}
