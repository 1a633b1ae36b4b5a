import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { parseConfig } from "../../src/main/config.ts";
import { securityHeaders } from "../support/scenarios.ts";
import { freePort } from "../support/free_port.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { certificateFiles, testCertificate } from "../support/service_certificate.ts";
import { temporaryDirectory } from "../support/service_files.ts";

Deno.test("the service speaks HTTPS, and its plain port says nothing but 308 to it", async () => {
  const directory = temporaryDirectory("https");
  const client = Deno.createHttpClient({ caCerts: [testCertificate] });
  const plainPort = freePort();
  const env = { ...await certificateFiles(directory), HTTP_PORT: String(plainPort) };
  await using service = await startTestService({ env, client });
  assert.match(service.baseUrl, /^https:\/\/127\.0\.0\.1:\d+$/);
  const secure = await service.fetch("/api/v1/status");
  assert.deepEqual([secure.status, (await secure.json()).status], [200, "ok"]);
  const unknown = await service.fetch("/no/such/path");
  assert.equal(unknown.status, 404);
  assert.equal(unknown.headers.get("strict-transport-security"), "max-age=31536000");
  await unknown.body?.cancel();
  for (const method of ["GET", "POST", "DELETE"]) {
    const redirect = await fetch(`http://127.0.0.1:${plainPort}/api/v1/status?a=%2F&b`, {
      method,
      redirect: "manual",
      // A good key doesn't open the plain port.
      headers: { authorization: `Bearer ${service.key}`, "x-request-id": `r-${method}` },
      ...(method === "POST" ? { body: "{}" } : {}),
    });
    assert.equal(redirect.status, 308);
    assert.equal(redirect.headers.get("x-request-id"), `r-${method}`);
    assert.equal(redirect.headers.get("location"), `${service.baseUrl}/api/v1/status?a=%2F&b`);
    for (const [name, value] of Object.entries(securityHeaders)) {
      assert.equal(redirect.headers.get(name), value);
    }
    assert.equal(await redirect.text(), "");
  }
  // A client that follows gets its answer.
  const followed = await fetch(`http://localhost:${plainPort}/livez`, { client });
  assert.deepEqual([followed.status, followed.url], [
    200,
    `https://localhost:${new URL(service.baseUrl).port}/livez`,
  ]);
  await followed.body?.cancel();
  client.close();
  // Without an id of the caller's, the answer has a new one.
  const redirected = await sayTo(plainPort, "GET /livez HTTP/1.1\r\nhost: localhost\r\n");
  assert.match(redirected, /^HTTP\/1\.1 308 .*x-request-id: [\da-f-]{36}\r\n/s);
  // Neither the certificate nor the listener has this name.
  const said = await sayTo(plainPort, "GET /livez HTTP/1.1\r\nhost: evil.example\r\n");
  assert.match(said, /^HTTP\/1\.1 400 .*BASE_URL/s);
  assert.doesNotMatch(said, /evil/);
});

async function sayTo(port: number, head: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(`${head}connection: close\r\n\r\n`));
  return await new Response(connection.readable).text();
}

Deno.test("a stream over HTTPS carries the security headers too", async () => {
  const directory = temporaryDirectory("https");
  const client = Deno.createHttpClient({ caCerts: [testCertificate] });
  const simulators = await startSimulators();
  const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
  const env = {
    ...await certificateFiles(directory),
    VENDOR_B_BASE_URL: baseUrl,
    VENDOR_B_API_KEY: apiKey,
  };
  await using service = await startTestService({ env, client });
  const answer = await service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    stream: true,
    messages: [{ role: "user", content: "hello" }],
  });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
  for (const [name, value] of Object.entries(securityHeaders)) {
    assert.equal(answer.headers.get(name), value);
  }
  assert.match(await answer.text(), /data: \[DONE\]\n\n$/);
  await simulators.close();
  client.close();
});

Deno.test("plain HTTP is served off loopback only if that is configured", () => {
  const data = { DATA_DIR: "/tmp/never-made" };
  for (const HOST of ["0.0.0.0", "::", "192.0.2.1", "gateway.example"]) {
    assert.throws(
      () => parseConfig({ ...data, HOST }),
      /^ConfigError: HOST=.* would serve plain HTTP beyond this machine: set TLS_CERT_FILE/,
    );
    parseConfig({ ...data, HOST, TRUST_PROXY: "true" });
    parseConfig({ ...data, HOST, ALLOW_PLAIN_HTTP: "true" });
  }
  for (const HOST of ["127.0.0.1", "localhost", "::1", "127.9.9.9"]) parseConfig({ ...data, HOST });
});

Deno.test("browsers of named origins may call, others may not", async () => {
  const CORS_ORIGINS = "https://app.example.com,http://localhost:3000";
  await using service: TestService = await startTestService({ env: { CORS_ORIGINS } });
  const preflight = (origin: string) =>
    fetch(`${service.baseUrl}/chat/v1/chat/completions`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, x-request-id",
      },
    });
  for (const origin of CORS_ORIGINS.split(",")) {
    const allowed = await preflight(origin);
    assert.ok(allowed.ok, "OPTIONS is answered without a key");
    assert.equal(allowed.headers.get("access-control-allow-origin"), origin);
    assert.match(allowed.headers.get("access-control-allow-methods") ?? "", /POST/);
    assert.match(
      allowed.headers.get("access-control-allow-headers") ?? "",
      /authorization.*content-type.*x-request-id/i,
    );
    assert.match(allowed.headers.get("vary") ?? "", /origin/i);
    assert.equal(allowed.headers.get("x-frame-options"), "DENY");
    const call = await service.fetch("/api/v1/status", { headers: { origin } });
    assert.equal(call.headers.get("access-control-allow-origin"), origin);
    assert.match(call.headers.get("access-control-expose-headers") ?? "", /X-Transaction-ID/);
    await call.body?.cancel();
    // A browser must be able to read why it was refused.
    const refused = await fetch(`${service.baseUrl}/api/v1/status`, { headers: { origin } });
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get("access-control-allow-origin"), origin);
    await refused.body?.cancel();
  }
  for (const origin of ["https://evil.example.com", "https://app.example.com.evil.io", "null"]) {
    const refused = await preflight(origin);
    assert.equal(refused.headers.get("access-control-allow-origin"), null);
    const call = await service.fetch("/api/v1/status", { headers: { origin } });
    assert.equal(call.headers.get("access-control-allow-origin"), null);
    await call.body?.cancel();
  }
});

Deno.test("behind a proxy a start without BASE_URL says what will be wrong, one with it nothing", async () => {
  const said: boolean[] = [];
  for (const more of [{}, { BASE_URL: "https://gateway.example.com" }]) {
    await using service = await startTestService({ env: { TRUST_PROXY: "true", ...more } });
    said.push(service.log.some((line) => line.includes("TRUST_PROXY is set, but BASE_URL isn't")));
  }
  assert.deepEqual(said, [true, false]);
});
