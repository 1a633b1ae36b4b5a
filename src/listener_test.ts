import assert from "@std/assert";
import { openListener } from "./listener.ts";

Deno.test("a connection without a request does not hold up the end, a request under way does", async () => {
  const answer = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const listener = await openListener({ host: "127.0.0.1", port: 0 }, () => {
    asked.resolve();
    return answer.promise;
  });
  using silent = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
  const fetched = fetch(`http://127.0.0.1:${listener.port}/`).then((response) => response.text());
  await asked.promise;
  let drained = false;
  const startedMs = performance.now();
  const draining = listener.drain(60_000).then(() => drained = true);
  assert.equal(await silent.read(new Uint8Array(1)), null, "it is closed");
  assert.equal(drained, false, "the request is answered first");
  answer.resolve(new Response("late"));
  assert.equal(await fetched, "late");
  await draining;
  assert.ok(performance.now() - startedMs < 30_000, "nobody was waited for in vain");
});
