/** Connections that rest after a read of many chunks. */
import assert from "@std/assert";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { dial, pause } from "../../tests/support/raw_connection.ts";

const head = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";

Deno.test("a body that comes byte by byte is read on while others keep beginning such bodies", async () => {
  const listener = await open(async (request) => new Response(`${(await request.text()).length}`));
  using honest = await dial(listener.port);
  // More than the runtime reads in one turn.
  const chunks = 200_000;
  let isAnswered = false;
  const answer = (async () => {
    await honest.send(head + "1\r\na\r\n".repeat(chunks) + "0\r\n\r\n");
    const text = await honest.piece();
    isAnswered = true;
    return text;
  })();
  const others: Awaited<ReturnType<typeof dial>>[] = [];
  try {
    while (!isAnswered && others.length < 300) {
      const other = await dial(listener.port);
      others.push(other);
      // It rests for some 40 ms; in the 20 ms until the next one begins, one or two can read on.
      await other.send(head + "1\r\na\r\n".repeat(10_000));
      await pause(20);
    }
    assert.ok(isAnswered, `not after ${others.length} others`);
    assert.match(await answer, new RegExp(`${chunks}$`));
  } finally {
    for (const other of others) other[Symbol.dispose]();
    await listener.abort();
  }
});
