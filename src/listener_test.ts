import assert from "@std/assert";
import { openListener } from "./listener.ts";

Deno.test("a connection without a request does not hold up the end, a request under way does", async () => {
  const answer = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const listener = await openListener({ host: "127.0.0.1", port: 0, refuse }, () => {
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

function refuse(why: string) {
  return { status: why === "too_large" ? 431 : 400, headers: { "x-why": why }, body: `${why}!` };
}

/** Sends text as it is; gives what comes back until the connection is closed. */
async function exchange(port: number, ...pieces: string[]): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  for (const piece of pieces) await connection.write(new TextEncoder().encode(piece));
  return await new Response(connection.readable).text();
}

Deno.test("a head that can't be read is refused in the service's own words", async () => {
  const listener = await openListener({ host: "127.0.0.1", port: 0, refuse }, () => {
    return new Response("fine");
  });
  const long = `GET / HTTP/1.1\r\nhost: x\r\nx-a: ${"a".repeat(20_000)}\r\n\r\n`;
  const said = await exchange(listener.port, long);
  assert.match(said, /^HTTP\/1\.1 431 .*\r\n/);
  assert.match(
    said,
    /\r\nx-why: too_large\r\ncontent-length: 10\r\nconnection: close\r\n\r\ntoo_large!$/,
  );
  assert.match(await exchange(listener.port, "GARBAGE\r\n\r\n"), /^HTTP\/1\.1 400 .*malformed!$/s);
  const twoLengths =
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
  assert.match(await exchange(listener.port, twoLengths), /^HTTP\/1\.1 400 .*malformed!$/s);
  await listener.drain(1000);
});
