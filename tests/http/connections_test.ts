/** What becomes of a connection whose request was refused unread. */
import assert from "@std/assert";
import { shared, startTestService } from "../support/service.ts";

const service = shared(() => startTestService({ env: { MAX_BODY_BYTES: "100000" } }));

Deno.test("after a body that is too large a connection ends in order, or serves on if all of it had arrived", async () => {
  const piece = "x".repeat(50_000);
  const announced = `content-length: ${10 * piece.length}\r\n\r\n${piece.repeat(10)}`;
  const chunk = `${piece.length.toString(16)}\r\n${piece}\r\n`;
  const inChunks = `transfer-encoding: chunked\r\n\r\n${chunk.repeat(10)}0\r\n\r\n`;
  for (const body of [announced, inChunks]) {
    await using connection = await open();
    const post = "POST /chat/v1/chat/completions HTTP/1.1\r\ncontent-type: application/json\r\n";
    const answer = await connection.ask(post, body);
    assert.match(answer, /^HTTP\/1\.1 413 .*"request_too_large"/s);
    const isLast = /^connection: close\r$/im.test(answer);
    // What is announced as too large is answered at once; of chunks all may have arrived.
    assert.ok(isLast || body !== announced);
    if (isLast) {
      assert.equal(await connection.next(), null);
      continue;
    }
    // Longer than the listener waits for what nobody reads before it ends the connection.
    await new Promise((resolve) => setTimeout(resolve, 700));
    assert.match(
      await connection.ask("GET /api/v1/status HTTP/1.1\r\n", "\r\n"),
      /^HTTP\/1\.1 200 /,
    );
  }
});

async function open() {
  const { hostname, port } = new URL(service().baseUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const buffer = new Uint8Array(64 * 1024);
  return {
    /** Sends a request and gives the answer's head and body, as far as they came at once. */
    async ask(head: string, rest: string): Promise<string> {
      const key = `host: x\r\nauthorization: Bearer ${service().key}\r\n`;
      const bytes = new TextEncoder().encode(head + key + rest);
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
      let text = "";
      while (!/\r\n\r\n./s.test(text)) {
        const length = await connection.read(buffer);
        if (length === null) return `${text}(closed)`;
        text += new TextDecoder().decode(buffer.subarray(0, length));
      }
      return text;
    },
    /** Length of what arrives next; null at the connection's end, and a reset rejects. */
    next: () => connection.read(buffer),
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  };
}
