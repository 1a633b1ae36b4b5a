import assert from "@std/assert";
import { openTestListener as open, wideLimits } from "../../tests/support/listener.ts";
import { dial } from "../../tests/support/raw_connection.ts";

Deno.test("a caller of HTTP/1.0 has its whole answer when the connection closes, whatever it asked for", async () => {
  const listener = await open(() => new Response("fine"));
  const begunMs = performance.now();
  for (const connection of ["", "connection: keep-alive\r\n"]) {
    using caller = await dial(listener.port);
    await caller.send(`GET / HTTP/1.0\r\n${connection}\r\n`);
    assert.match(await caller.rest(), /^HTTP\/1\.1 200 [^]+\r\n\r\nfine$/);
  }
  assert.ok(performance.now() - begunMs < wideLimits.idleMs, "not closed for being idle");
  await listener.drain(1000);
});
