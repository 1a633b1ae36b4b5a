import assert from "@std/assert";
import http from "node:http";
import { systemClock } from "../base/clock.ts";
import { acceptTargetOf, listen } from "./accept_target.ts";

/** Knocks once at a server on loopback that is taken to listen on `host`. */
async function knockAt(host: string): Promise<string> {
  const connections = { accepted: 0, most: 100, size: 0, shrink() {} };
  const server = http.createServer();
  server.on("connection", () => void connections.accepted++);
  await listen(server, { port: 0, host: "127.0.0.1" });
  try {
    const { port } = server.address() as { port: number };
    return await acceptTargetOf(server, connections, { port, host }, systemClock).knock();
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

Deno.test("a listener on all addresses is reached over IPv4 where IPv6 is turned off", async () => {
  assert.equal(await knockAt("::"), "taken");
});

Deno.test("a listener on an address that doesn't lead to it isn't reached", async () => {
  assert.equal(await knockAt("127.0.0.2"), "failed");
});
