import assert from "@std/assert";
import postgres from "postgres";
import { postgresAvailability, startPostgres } from "./postgres.ts";

Deno.test("a server whose port was taken in the meantime starts on another", {
  ignore: !postgresAvailability().available,
}, async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const server = await startPostgres({ private: true, port: listener.addr.port });
  try {
    const sql = postgres(server.url("postgres"), { max: 1 });
    assert.equal((await sql`select 1 as one`)[0]!.one, 1);
    await sql.end();
  } finally {
    await server.stop();
  }
});
