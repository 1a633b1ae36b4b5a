/**
 * Opens the embedded database of the first argument and writes one row after the other; each is
 * printed once it is written. Runs until it is killed.
 */
import { openEmbedded } from "../../../src/database/embedded/embedded.ts";

const database = await openEmbedded(Deno.args[0] ?? "");
await database.query("create table if not exists things (x int primary key)");
console.log("open");
for (;;) {
  const [row] = await database.query(
    "insert into things select coalesce(max(x), 0) + 1 from things returning x",
    [],
  );
  console.log(`row ${row?.x}`);
}
