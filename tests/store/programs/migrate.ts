/** Migrates the database at the address of the first argument and prints what it applied. */
import { migrate } from "../../../src/database/migrate.ts";
import { openPostgres } from "../../../src/database/postgres/postgres.ts";
import { productMigrations } from "../../support/databases.ts";

const database = await openPostgres(Deno.args[0] ?? "");
console.log(JSON.stringify(await migrate(database, await productMigrations())));
await database.close();
