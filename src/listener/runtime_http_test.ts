import assert from "@std/assert";
import http from "node:http";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { dial, get } from "../../tests/support/raw_connection.ts";
import { keepNoParsers, listNoRequests, SharedParsersError } from "./runtime_http.ts";

Deno.test("the runtime's pool of parsers keeps none", async () => {
  keepNoParsers();
  const parsers = new Set<unknown>();
  const server = http.createServer((_request, response) => response.end("fine"));
  server.on("connection", (socket: object) => parsers.add(Reflect.get(socket, "parser")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address!.port : 0;
  for (let times = 0; times < 5; times++) {
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
    assert.equal(await answer.text(), "fine");
  }
  assert.equal(parsers.size, 5, "each connection had one of its own");
  await new Promise((resolve) => server.close(resolve));
});

Deno.test("a runtime whose pool can't be switched off ends the start", () => {
  const pool = { max: 1000, list: [], alloc: () => ({ close() {} }), free: () => true };
  for (const inside of [null, {}, { parsers: {} }, { parsers: pool }]) {
    assert.throws(() => keepNoParsers(inside), SharedParsersError);
  }
  keepNoParsers({ parsers: { ...pool, free: () => false } });
});

Deno.test("the runtime's list of requests under way can be switched off", async () => {
  const server = http.createServer((_request, response) => response.end("fine"));
  assert.equal(listNoRequests(server), false, "there is none before the server listens");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  assert.equal(listNoRequests(server), true);
  const address = server.address();
  const port = typeof address === "object" ? address!.port : 0;
  for (let times = 0; times < 3; times++) {
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "fine");
  }
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

Deno.test("the runtime starts no timer after an answer", async () => {
  const { promise: timeoutMs, resolve } = Promise.withResolvers<number | undefined>();
  const listener = await open(() => new Response("fine"), {}, {
    guard: (answer) => (incoming, outgoing) => {
      // The runtime's own listener comes first.
      outgoing.on("finish", () => resolve(incoming.socket.timeout));
      return answer(incoming, outgoing);
    },
  });
  using connection = await dial(listener.port);
  await connection.send(get);
  assert.match(await connection.piece(), /200/);
  assert.equal(await timeoutMs ?? 0, 0);
  await listener.drain(1000);
});
