import { openEmbedded } from "../../../src/database/embedded/embedded.ts";
import { openPostgres } from "../../../src/database/postgres/postgres.ts";
import { garbageOfQueries } from "./garbage_of_queries.ts";

/**
 * Prints what queries leave behind; run with `--expose-gc`. Argument: the folder of an embedded
 * database, or the URL of another.
 */
const [database] = Deno.args as [string];
if (URL.canParse(database)) {
  const opened = await openPostgres(database);
  console.log(await garbageOfQueries(opened));
  await opened.close();
} else {
  const thread = new URL("garbage_thread.ts", import.meta.url);
  const opened = await openEmbedded(database, thread);
  console.log(await opened.work!(undefined));
  await opened.close();
}
