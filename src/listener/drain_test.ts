import assert from "@std/assert";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { dial, get } from "../../tests/support/raw_connection.ts";

Deno.test("a request that crosses the end of the service is answered, as its connection's last", async () => {
  const listener = await open(() => new Response("fine"));
  using caller = await dial(listener.port);
  await caller.send(get);
  assert.doesNotMatch(await caller.piece(), /^connection:/im);
  // A proxy sends the next caller's request on a connection that it keeps.
  const sent = caller.send(get);
  const drained = listener.drain(60_000);
  await sent;
  assert.match(await caller.rest(), /^HTTP\/1\.1 200 [^]+\r\nconnection: close\r\n[^]+fine$/i);
  await drained;
});

Deno.test("an answer that ends after the service began to end is its connection's last", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Response>();
  const listener = await open(() => {
    asked.resolve();
    return answer.promise;
  });
  using caller = await dial(listener.port);
  await caller.send(get);
  await asked.promise;
  const drained = listener.drain(60_000);
  answer.resolve(new Response("late"));
  assert.match(await caller.rest(), /^HTTP\/1\.1 200 [^]+\r\nconnection: close\r\n[^]+late$/i);
  await drained;
});
