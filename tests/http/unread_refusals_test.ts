/** What is refused before it is a request has an answer in the words of its path all the same. */
import assert from "@std/assert";
import { shared, startTestService } from "../support/service.ts";

const service = shared(() => startTestService());

/** The first lines of requests that nobody serves, and the dialect of the answer. */
const refused: readonly [head: string, dialect: "service" | "messages" | "generate" | "chat"][] = [
  ["GET /livez HTTP/1.1\r\n\r\n", "service"],
  ["POST /chat/v1/messages HTTP/1.1\r\n\r\n", "messages"],
  ["POST /chat/v1/messages HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", "messages"],
  ["POST /anthropic/v1/messages?beta=true HTTP/1.1\r\nhost: a b\r\n\r\n", "messages"],
  ["POST /chat/v1/models/m:generateContent HTTP/1.1\r\nhost: x:99999\r\n\r\n", "generate"],
  ["POST /openai/v1/chat/completions HTTP/1.1\r\nhost: [::1\r\n\r\n", "chat"],
  ["OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", "service"],
  ["GET * HTTP/1.1\r\nhost: x\r\n\r\n", "service"],
  ["GET http://[::1/livez HTTP/1.1\r\nhost: x\r\n\r\n", "service"],
  ["POST http://x:99999/chat/v1/messages HTTP/1.1\r\nhost: x\r\n\r\n", "messages"],
  ["POST ftp://x/chat/v1/messages HTTP/1.1\r\nhost: x\r\n\r\n", "messages"],
  ["GET livez HTTP/1.1\r\nhost: x\r\n\r\n", "service"],
  ["GET /chat/v1\\x HTTP/1.1\r\nhost: x\r\n\r\n", "chat"],
  ["BREW / HTTP/1.1\r\nhost: x\r\n\r\n", "service"],
  ["GET / HTTP/3.7\r\nhost: x\r\n\r\n", "service"],
];

for (const [head, dialect] of refused) {
  Deno.test(`refused in the form of ${dialect}: ${JSON.stringify(head)}`, async () => {
    const { status, headers, body } = await ask(head);
    assert.equal(status, 400);
    assert.match(headers.get("content-type")!, /^application\/json/);
    const { error, ...beside } = JSON.parse(body);
    assert.equal(error.code, "invalid_request");
    assert.equal(error.type, "invalid_request_error");
    assert.ok(error.message.length > 10);
    const id = headers.get("x-request-id");
    assert.match(id!, /^\S{36}$/);
    assert.equal(headers.get("request-id"), dialect === "messages" ? id : null);
    assert.deepEqual(beside, dialect === "messages" ? { type: "error", request_id: id } : {});
    assert.equal("param" in error, dialect === "chat");
    assert.equal(error.status, dialect === "generate" ? "INVALID_ARGUMENT" : undefined);
  });
}

/** One request on a connection of its own, as bytes. */
async function ask(head: string): Promise<{ status: number; headers: Headers; body: string }> {
  const { hostname, port } = new URL(service().baseUrl);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(head));
  let text = "";
  const buffer = new Uint8Array(64 * 1024);
  for (let read = await connection.read(buffer); read !== null;) {
    text += new TextDecoder().decode(buffer.subarray(0, read));
    read = await connection.read(buffer).catch(() => null);
  }
  const [first, ...lines] = text.split("\r\n\r\n", 1)[0]!.split("\r\n");
  const headers = new Headers(lines.map((line): [string, string] => {
    const at = line.indexOf(":");
    return [line.slice(0, at), line.slice(at + 1).trim()];
  }));
  const body = text.slice(text.indexOf("\r\n\r\n") + 4);
  return { status: Number(first!.split(" ")[1]), headers, body };
}
