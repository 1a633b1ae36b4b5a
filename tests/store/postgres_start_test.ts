import assert from "@std/assert";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";

const { available } = postgresAvailability();
const password = "hunter2-very-secret";

/** The start's error is one line that names the variable and what to do, without the password. */
async function refused(address: string, expected: RegExp): Promise<void> {
  await assert.rejects(
    openPostgres(address, { connectMs: 400, answerMs: 400 }),
    (thrown: unknown) => {
      assert.ok(thrown instanceof Error);
      const { message } = thrown as Error;
      assert.match(message, /^DATABASE_URL: [^\n]+\.$/);
      assert.match(message, expected);
      assert.ok(!message.includes(password) && !Deno.inspect(thrown).includes(password));
      return true;
    },
  );
}

Deno.test("a wrong password is told", { ignore: !available }, async () => {
  const address = new URL((await startPostgres()).url("postgres"));
  address.password = password;
  await refused(address.href, /refuses this user or password/);
  address.username = "nobody-of-that-name";
  await refused(address.href, /refuses this user or password/);
});

Deno.test("an unknown database is told", { ignore: !available }, async () => {
  await refused((await startPostgres()).url("missing"), /no database of that name/);
});

Deno.test("a port where nobody listens is told", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  await refused(`postgres://user:${password}@127.0.0.1:${port}/x`, /ECONNREFUSED\); start it/);
});

Deno.test("a host that does not exist is told", async () => {
  await refused(`postgres://user:${password}@host.invalid/x`, /host\.invalid can't be reached/);
});

Deno.test("what is no address is told without showing it", async () => {
  for (
    const wrong of [`postgres://user:${password}@:x/y`, password, "", `postgres://${password}@/x`]
  ) {
    await refused(wrong, /expected postgres:/);
  }
});

Deno.test("a server that takes connections and says nothing is given up", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const taken: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) taken.push(connection);
  })();
  await refused(
    `postgres://user:${password}@127.0.0.1:${listener.addr.port}/x`,
    /can't be reached \(CONNECT_TIMEOUT\)/,
  );
  listener.close();
  await accepting;
  for (const connection of taken) connection.close();
});

Deno.test("a proxy that hangs up on every connection is given up", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of listener) connection.close();
  })();
  await refused(
    `postgres://user:${password}@127.0.0.1:${listener.addr.port}/x`,
    /can't be reached \(CONNECT_TIMEOUT\)/,
  );
  listener.close();
  await accepting;
});

Deno.test("what speaks another protocol is given up", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(),
  );
  await refused(
    `postgres://user:${password}@127.0.0.1:${server.addr.port}/x`,
    /can't be reached \(CONNECT_TIMEOUT\)/,
  );
  await server.shutdown();
});
