import assert from "@std/assert";
import { onPostgres } from "./databases.ts";

onPostgres("what a test leaves under way …", async (database) => {
  const begun = Promise.withResolvers<void>();
  const left = database.transaction(async (tx) => {
    begun.resolve();
    await tx.query("select pg_sleep(0.5)");
    await tx.query(
      "insert into accounts (name, tier, requests_per_minute, burst) values ('late', 'free', 1, 1)",
    );
  });
  await Promise.race([begun.promise, left]);
});

onPostgres("… doesn't reach the next one", async (database) => {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.deepEqual(await database.query("select name from accounts"), []);
});
