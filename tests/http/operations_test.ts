import assert from "@std/assert";
import { dial } from "../support/raw_connection.ts";
import { play, testScenarios } from "../support/scenarios.ts";
import { shared, startSimulatedService, startTestService } from "../support/service.ts";

const metricsToken = "metrics-token-of-a-test";
const service = shared(() =>
  startSimulatedService({ METRICS_TOKEN: metricsToken, TRUST_PROXY: "true" })
);

/** A caller that the proxy in front saw coming from elsewhere. */
const fromAfar = { "x-forwarded-for": "127.0.0.1, 203.0.113.9" };

testScenarios(service, [
  {
    name: "status has every field of both shapes, and what the key may do and spend",
    path: "/api/v1/status",
    status: 200,
    answerHeaders: { "content-type": "application/json" },
    check({ json }) {
      const { version, timestamp, scopes, ...rest } = json as Record<string, unknown>;
      assert.deepEqual(rest, {
        status: "ok",
        project: "default",
        service: "llm-gateway",
        user_id: 1,
        authenticated: true,
        balance_usd: "10.000000000",
        caps: { day: null, month: null },
        rate_limit: { requests_per_minute: 1_000_000, burst: 1_000_000 },
      });
      // A key made without scopes may do everything but what is never implied.
      for (const scope of ["chat", "vendor-b", "interactions", "credits", "status"]) {
        assert.ok((scopes as string[]).includes(scope), scope);
      }
      assert.ok(!(scopes as string[]).includes("admin"));
      assert.match(String(version), /^\d+\.\d+\.\d+/);
      assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      assert.ok(Math.abs(Date.now() - Date.parse(String(timestamp))) < 60_000);
    },
  },
  {
    name: "livez answers without a key",
    path: "/livez",
    key: null,
    status: 200,
    check: ({ json }) => assert.deepEqual(json, { status: "ok" }),
  },
  {
    name: "readyz answers without a key when the store does",
    path: "/readyz",
    key: null,
    status: 200,
    check: ({ json }) => assert.deepEqual(json, { status: "ok" }),
  },
  {
    name: "METRICS_TOKEN opens the metrics, in the Prometheus text format",
    path: "/metrics",
    key: metricsToken,
    status: 200,
    answerHeaders: { "content-type": /^text\/plain; version=0\.0\.4/ },
    expected: [/^# TYPE gateway_requests_total counter$/m, /^gateway_resident_bytes \d+$/m],
  },
  {
    name: "behind a proxy loopback alone doesn't open them: it may be anybody's call",
    path: "/metrics",
    key: null,
    status: 404,
    error: { type: "not_found_error", code: "endpoint_not_found", dialect: "service" },
  },
  {
    name: "metrics are not there for strangers",
    path: "/metrics",
    key: null,
    headers: fromAfar,
    status: 404,
    error: { type: "not_found_error", code: "endpoint_not_found", dialect: "service" },
  },
  {
    name: "a service key does not open the metrics",
    path: "/metrics",
    headers: fromAfar,
    status: 404,
    error: { type: "not_found_error", code: "endpoint_not_found", dialect: "service" },
  },
  {
    name: "METRICS_TOKEN opens the metrics off loopback",
    path: "/metrics",
    key: metricsToken,
    headers: fromAfar,
    status: 200,
    unexpected: [metricsToken],
  },
  ...[
    { "x-forwarded-for": "127.0.0.1" },
    { "x-forwarded-for": "127.evil" },
    { "x-forwarded-for": "::1" },
    { "x-forwarded-for": "" },
    { forwarded: "for=127.0.0.1" },
    { "x-real-ip": "127.0.0.1" },
  ].map((headers: Record<string, string>) => ({
    name: `a forwarded request needs the token, ${JSON.stringify(headers)}`,
    path: "/metrics",
    key: null,
    headers,
    status: 404,
    error: {
      type: "not_found_error",
      code: "endpoint_not_found",
      dialect: "service" as const,
    },
  })),
  ...["metrics-token-of-a-tesT", "", "x"].map((wrong) => ({
    name: `the token '${wrong}' does not open the metrics`,
    path: "/metrics",
    key: wrong,
    headers: fromAfar,
    status: 404,
    error: {
      type: "not_found_error",
      code: "endpoint_not_found",
      dialect: "service" as const,
    },
  })),
]);

Deno.test("without a token metrics answer on this machine's own names only, not to a rebound one", async () => {
  await using plain = await startTestService();
  const port = Number(new URL(plain.baseUrl).port);
  const statusFor = async (host: string) => {
    using connection = await dial(port);
    await connection.send(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    return /^HTTP\/1\.1 (\d+)/.exec(await connection.rest())?.[1];
  };
  for (const own of [`127.0.0.1:${port}`, `localhost:${port}`, "LOCALHOST", "[::1]:80"]) {
    assert.equal(await statusFor(own), "200", own);
  }
  // A page of that name, whose address was changed to 127.0.0.1 after it was loaded.
  for (const other of [`evil.example:${port}`, "127.0.0.1.evil.example", "localhost.evil", ""]) {
    const refused = other === "" ? "400" : "404";
    assert.equal(await statusFor(other), refused, other);
  }
});

Deno.test("metrics count calls, tokens and cost by vendor, and hold no content", async () => {
  const { post, fetch } = service();
  const answer = await post("/xai/v1/chat/completions", {
    model: "grok-4.3",
    messages: [{ role: "user", content: "canary-in-a-prompt" }],
  });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
  await fetch("/canary-in-a-path").then((unknown) => unknown.body?.cancel());
  const text = await (await fetch("/metrics", {
    headers: { authorization: `Bearer ${metricsToken}` },
  })).text();
  assert.match(
    text,
    /^gateway_calls_total\{vendor="vendor-g",model="grok-4.3",status="completed"\} 1$/m,
  );
  assert.match(
    text,
    /^gateway_tokens_total\{vendor="vendor-g",model="grok-4.3",kind="output"\} [1-9]\d*$/m,
  );
  assert.match(
    text,
    /^gateway_cost_usd_total\{vendor="vendor-g",model="grok-4.3",mode="managed"\} 0\.0*[1-9]/m,
  );
  assert.match(
    text,
    /^gateway_requests_total\{route="\/vendor-g\/v1\/chat\/completions",status="200"\} 1$/m,
  );
  assert.match(text, /^gateway_requests_total\{route="unknown",status="404"\} \d+$/m);
  assert.doesNotMatch(text, /canary|dmt_/);
});

Deno.test("with TRUST_PROXY plain requests get 308 to HTTPS, with method, path and query kept", async () => {
  const at = service();
  for (const method of ["GET", "POST", "DELETE"]) {
    await play(at, {
      name: method,
      method,
      path: "/api/v1/status?a=1&b=%2F",
      key: null,
      headers: { "x-forwarded-proto": "http" },
      status: 308,
      answerHeaders: {
        location: `https://127.0.0.1/api/v1/status?a=1&b=%2F`,
        "x-request-id": /^\S+$/,
      },
    });
  }
  // The last hop is the proxy's; what a caller wrote before it is not believed.
  await play(at, {
    name: "spoofed",
    path: "/api/v1/status",
    headers: { "x-forwarded-proto": "https, http" },
    status: 308,
  });
  await play(at, {
    name: "https",
    path: "/api/v1/status",
    headers: { "x-forwarded-proto": "https" },
    status: 200,
  });
  await play(at, {
    name: "a probe",
    path: "/livez",
    headers: { "x-forwarded-proto": "http" },
    status: 200,
  });
});
