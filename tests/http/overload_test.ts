/** What the service has no room for is refused at once, in the caller's words (interface.md §5). */
import assert from "@std/assert";
import { Hono } from "hono";
import { createAdaptorServer } from "@hono/node-server";
import http from "node:http";
import { Admission } from "../../src/overload/admission.ts";
import { systemClock } from "../../src/base/clock.ts";
import { createFrontDoor } from "../../src/http/front_door.ts";
import { startSimulatedService, type TestService } from "../support/service.ts";
import { within } from "../support/within.ts";

Deno.test("an account at its share of concurrent calls is refused in its dialect, others aren't", async () => {
  await using service = await startSimulatedService({ CALLS_IN_FLIGHT_MAX: "16" });
  const made = await service.admin("account", "create", "--name", "other");
  assert.equal(made.exitCode, 0);
  const { key: other } = await service.createKey("--account", "other");
  // Both are known from here on.
  for (const key of [service.key, other]) {
    const answer = await service.fetch("/api/v1/status", { headers: { "x-api-key": key } });
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  }
  const hanging = await Promise.all(Array.from({ length: 4 }, () => hang(service)));
  try {
    await within(30_000, until(() => isUnderWay(service, 4)));
    for (
      const [path, field] of [
        ["/chat/v1/chat/completions", "param"],
        ["/chat/v1/messages", "type"],
        ["/chat/v1/models/vendor-d%2Fgemini-2.5-flash:generateContent", "status"],
      ] as const
    ) {
      const answer = await within(
        30_000,
        service.fetch(path, {
          method: "POST",
          headers: { "x-api-key": service.key, "x-request-id": "mine" },
          body: "{}",
        }),
      );
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get("retry-after"), "1");
      assert.equal(answer.headers.get("x-request-id"), "mine");
      assert.ok(answer.headers.has("content-security-policy"));
      const body = await answer.json();
      assert.deepEqual([body.error.type, body.error.code], ["overloaded_error", "overloaded"]);
      assert.ok(field in (field === "type" ? body : body.error), path);
    }
    // The router resolves dot segments: these are the path of a call, not the dashboard's.
    for (const dots of ["..", "%2E%2e", "x/../.."]) {
      const path = `/dashboard/${dots}/chat/v1/chat/completions`;
      assert.equal(await within(30_000, rawStatus(service, path)), 503, path);
    }
    const status = (path: string, key: string) =>
      service.fetch(path, { headers: { "x-api-key": key } }).then(async (answer) => {
        await answer.body?.cancel();
        return answer.status;
      });
    assert.equal(await status("/api/v1/status", other), 200);
    assert.equal(await status("/livez", service.key), 200);
    const metrics = await (await service.fetch("/metrics")).text();
    assert.match(metrics, /^gateway_calls_shed_total 6$/m);
    assert.match(metrics, /^gateway_calls_under_way 4$/m);
  } finally {
    for (const leave of hanging) leave();
  }
  await within(
    30_000,
    until(() => isUnderWay(service, 0)),
  );
});

/** A call whose body never comes to its end. */
async function hang({ baseUrl, key }: { baseUrl: string; key: string }): Promise<() => void> {
  const { hostname, port } = new URL(baseUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(
    `POST /chat/v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n` +
      "content-length: 100\r\n\r\n{",
  ));
  return () => connection.close();
}

/** The status of a call to a path as it stands: `fetch` would resolve its dot segments itself. */
function rawStatus({ baseUrl, key }: TestService, path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(baseUrl);
  const headers = { "x-api-key": key, "content-length": "2" };
  return new Promise((resolve, reject) => {
    http.request({ hostname, port, path, method: "POST", headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on("error", reject).end("{}");
  });
}

async function isUnderWay(service: TestService, calls: number): Promise<boolean> {
  const metrics = await (await service.fetch("/metrics")).text();
  return metrics.includes(`\ngateway_calls_under_way ${calls}\n`);
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!await isTrue()) await new Promise((resolve) => setTimeout(resolve, 50));
}

Deno.test("a work that blocks the event loop is named in log and metric", async () => {
  await using service = await startSimulatedService();
  // Until the start's own work is done.
  await new Promise((resolve) => setTimeout(resolve, 500));
  // The service runs in this process: what stands still here stands still there, while a call's
  // work is the last that was begun.
  const calling = service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "Hello" }],
  }, { "x-request-id": "the-culprit" });
  const answer = await calling;
  const end = performance.now() + 600;
  while (performance.now() < end);
  await answer.body?.cancel();
  await within(
    30_000,
    until(() =>
      Promise.resolve(
        service.log.some((line) => line.includes("the event loop was blocked")),
      )
    ),
  );
  const metrics = await (await service.fetch("/metrics")).text();
  assert.match(metrics, /^gateway_event_loop_blocked_total\{route="[^"]+"\} \d+$/m);
  assert.ok(!service.log.some((line) => line.includes("Hello")));
});

Deno.test("the front door lets an answer through untouched, and counts its end", async () => {
  const admission = new Admission({ maxUnderWay: 100, clock: systemClock });
  const door = createFrontDoor({ admission, errorDialect: () => "service" });
  const app = new Hono();
  app.get("/api", (context) => context.text(String(admission.underWay)));
  const server = createAdaptorServer({
    fetch: app.fetch,
    createServer: ((options: http.ServerOptions, listener: http.RequestListener) =>
      http.createServer(options, door.guard(listener))) as typeof http.createServer,
  }) as http.Server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/api`)).text(), "1");
  await within(30_000, until(() => Promise.resolve(admission.underWay === 0)));
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
});
