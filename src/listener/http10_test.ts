import assert from "@std/assert";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { dial } from "../../tests/support/raw_connection.ts";

Deno.test("a caller of HTTP/1.0 has its whole answer when the connection closes, whatever it asked for", async () => {
  const listener = await open(() => new Response("fine"));
  for (const connection of ["", "connection: keep-alive\r\n"]) {
    using caller = await dial(listener.port);
    await caller.send(`GET / HTTP/1.0\r\n${connection}\r\n`);
    assert.match(await caller.rest(), /^HTTP\/1\.1 200 [^]+\r\n\r\nfine$/);
  }
  await listener.drain(1000);
});
