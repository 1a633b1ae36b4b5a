import assert from "@std/assert";
import { systemClock } from "../../src/base/clock.ts";
import { mintKey } from "../../src/keys/credential.ts";
import { type ErrorFields, play, type Scenario, testScenarios } from "../support/scenarios.ts";
import { shared, startTestService, type TestService } from "../support/service.ts";

/** A key with a right checksum that no store knows. */
const unknownKey = mintKey(systemClock).value.reveal();

interface Fixtures extends TestService {
  revoked: string;
  expired: string;
}

const service = shared(async (): Promise<Fixtures> => {
  const started = await startTestService();
  const revoked = await started.createKey();
  const expired = await started.createKey("--expires", soon());
  // It is known to the service before it is revoked: the cache must forget it.
  for (const key of [revoked.key, expired.key]) {
    const headers = { authorization: `Bearer ${key}` };
    assert.equal((await started.fetch("/api/v1/status", { headers })).status, 200);
  }
  await started.admin("key", "revoke", revoked.id);
  return { ...started, revoked: revoked.key, expired: expired.key };
});

const missing = {
  type: "authentication_error",
  code: "missing_api_key",
  message: /Authorization: Bearer/,
};
const invalid = {
  type: "authentication_error",
  code: "invalid_api_key",
  message: /Invalid API key/,
};
/** A client that still has a vendor's key, or one that was not copied whole, is told so. */
const notOurs = { ...invalid, message: /Invalid API key.*starts with 'dmt_' and has 53 char/ };

/** Credentials that are none, and the error that each must get. */
const credentials: readonly {
  name: string;
  headers: (at: Fixtures) => Record<string, string>;
  query?: (at: Fixtures) => string;
  error: Pick<ErrorFields, "type" | "code" | "message">;
}[] = [
  { name: "no key", headers: () => ({}), error: missing },
  {
    name: "a key in the query",
    headers: () => ({}),
    query: (at) => `?api_key=${at.key}&key=${at.key}`,
    error: missing,
  },
  { name: "an empty header", headers: () => ({ authorization: "" }), error: missing },
  { name: "a scheme alone", headers: () => ({ authorization: "Bearer " }), error: missing },
  {
    name: "a good key under another scheme",
    headers: (at) => ({ authorization: `Basic ${at.key}` }),
    error: missing,
  },
  {
    name: "a good key without a scheme",
    headers: (at) => ({ authorization: at.key }),
    error: missing,
  },
  {
    name: "a good key in a cookie",
    headers: (at) => ({ cookie: `api_key=${at.key}` }),
    error: missing,
  },
  {
    name: "a malformed key",
    headers: () => ({ authorization: "Bearer dmt_short" }),
    error: notOurs,
  },
  {
    name: "a key with one character changed",
    headers: (at) => ({ authorization: `Bearer ${changed(at.key)}` }),
    error: invalid,
  },
  {
    name: "a vendor's key",
    headers: () => ({ authorization: "Bearer sk-0123456789abcdef" }),
    error: notOurs,
  },
  {
    name: "an unknown key",
    headers: () => ({ authorization: `Bearer ${unknownKey}` }),
    error: invalid,
  },
  {
    name: "an unknown key in X-API-Key",
    headers: () => ({ "x-api-key": unknownKey }),
    error: invalid,
  },
  {
    name: "a revoked key",
    headers: (at) => ({ authorization: `Bearer ${at.revoked}` }),
    error: invalid,
  },
  {
    name: "a revoked key in X-API-Key",
    headers: (at) => ({ "x-api-key": at.revoked }),
    error: invalid,
  },
  {
    name: "a good key with an empty vendor key",
    headers: (at) => ({ authorization: `Bearer ${at.key};` }),
    error: { ...invalid, code: "invalid_vendor_api_key", message: /is missing/ },
  },
  {
    name: "a service key in the place of the vendor key",
    headers: (at) => ({ authorization: `Bearer ${at.key};${at.key}` }),
    error: { ...invalid, code: "invalid_vendor_api_key", message: /a key of this service/ },
  },
];

/** One path of every family of routes, unknown ones too, and the dialect of its errors. */
const routes: readonly {
  path: string;
  method?: string;
  dialect: NonNullable<ErrorFields["dialect"]>;
}[] = [
  { path: "/api/v1/status", dialect: "service" },
  { path: "/api/v1/exports", method: "POST", dialect: "service" },
  { path: "/chat/v1/models", dialect: "chat" },
  { path: "/chat/v1/health", dialect: "chat" },
  { path: "/chat/v1/chat/completions", method: "POST", dialect: "chat" },
  { path: "/vendor-a/v1/models", dialect: "chat" },
  { path: "/huggingface/v1/chat/completions", method: "POST", dialect: "chat" },
  { path: "/vendor-b/v1/chat/completions", method: "POST", dialect: "chat" },
  { path: "/openai/v1/models", dialect: "chat" },
  { path: "/vendor-c/v1/models", dialect: "messages" },
  { path: "/anthropic/health", dialect: "messages" },
  { path: "/chat/v1/messages", method: "POST", dialect: "messages" },
  { path: "/vendor-d/v1beta/models", dialect: "generate" },
  { path: "/google/v1/models/x:generateContent", method: "POST", dialect: "generate" },
  { path: "/vendor-e/health", dialect: "chat" },
  { path: "/gemini/v1/chat/completions", method: "POST", dialect: "chat" },
  { path: "/vendor-f/v1/chat/completions", method: "POST", dialect: "chat" },
  { path: "/xai/v1/models", dialect: "chat" },
  { path: "/", dialect: "service" },
  { path: "/no/such/path", dialect: "service" },
  { path: "/vendor-z/v1/models", dialect: "service" },
  { path: "/api/v1/status/", dialect: "service" },
  { path: "/vendor-c/no-such-path", dialect: "messages" },
  { path: "/vendor-b/v1/chat/completions", method: "DELETE", dialect: "chat" },
  { path: "/api/v1/status", method: "OPTIONS", dialect: "service" },
];

for (const route of routes) {
  const method = route.method ?? "GET";
  Deno.test(`${method} ${route.path} is refused with 401 without a valid key`, async () => {
    const at = service();
    for (const { name, headers, query, error } of credentials) {
      const scenario: Scenario = {
        name,
        method,
        path: route.path + (query?.(at) ?? ""),
        // A body that is wrong as well: the key is looked at first.
        ...(method === "POST" ? { body: "{" } : {}),
        headers: headers(at),
        key: null,
        status: 401,
        error: {
          ...error,
          dialect: route.dialect,
          ...(route.dialect === "generate" ? { status: "UNAUTHENTICATED" } : {}),
        },
        unexpected: [at.revoked, unknownKey, "dmt_short", "sk-0123456789"],
      };
      await play(at, scenario).catch((thrown) => {
        throw new Error(`${name}: ${thrown instanceof Error ? thrown.message : thrown}`);
      });
    }
  });
}

Deno.test("an expired key is refused with 401, and was good before", async () => {
  const at = service();
  const headers = { authorization: `Bearer ${at.expired}` };
  const deadline = performance.now() + 60_000;
  for (;;) {
    const answer = await at.fetch("/api/v1/status", { headers });
    const body = await answer.json();
    if (answer.status === 401) {
      assert.equal(body.error.code, "invalid_api_key");
      return;
    }
    assert.ok(performance.now() < deadline, "the key still works after its time");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
});

Deno.test("HEAD is refused like GET, without a body", async () => {
  const answer = await fetch(`${service().baseUrl}/api/v1/status`, { method: "HEAD" });
  assert.equal(answer.status, 401);
  assert.equal(await answer.text(), "");
});

testScenarios(service, [
  {
    name: "a good key is taken in Authorization, whatever the case of the scheme",
    path: "/api/v1/status",
    status: 200,
    check: async () => {
      for (const scheme of ["bearer", "BEARER", "Bearer "]) {
        const headers = { authorization: `${scheme} ${service().key}` };
        assert.equal((await service().fetch("/api/v1/status", { headers })).status, 200, scheme);
      }
    },
  },
]);

Deno.test("a valid key is accepted in X-API-Key, beside an Authorization that is not a key", async () => {
  const { key } = service();
  for (const more of [{}, { authorization: "Bearer sk-of-a-client-library" }]) {
    const headers = { "x-api-key": key, ...more };
    assert.equal((await service().fetch("/api/v1/status", { headers })).status, 200);
  }
});

Deno.test("x-goog-api-key is taken on generate paths only", async () => {
  const headers = { "x-goog-api-key": service().key };
  const generate = await service().fetch("/vendor-d/v1beta/models", { headers });
  // The vendor has no key here: authenticated, then refused for that.
  assert.equal(generate.status, 404);
  assert.equal((await generate.json()).error.code, "vendor_not_configured");
  assert.equal((await service().fetch("/vendor-b/v1/models", { headers })).status, 401);
  assert.equal((await service().fetch("/api/v1/status", { headers })).status, 401);
});

Deno.test("a refusal of x-goog-api-key tells where it is taken", async () => {
  const google = { "x-goog-api-key": service().key };
  for (const path of ["/chat/v1/chat/completions", "/api/v1/status"]) {
    const answer = await service().fetch(path, { headers: google });
    assert.equal(answer.status, 401);
    const { code, message } = (await answer.json()).error;
    assert.equal(code, "missing_api_key");
    assert.match(message, /^x-goog-api-key: .*generate paths and \/v1\/models.*Authorization/);
    assert.ok(!message.includes(service().key));
  }
  // What @google/genai 3 with the base URL `/chat` asks for beside models isn't offered.
  for (const path of ["/chat/v1/files", "/chat/v1/cachedContents/c", "/chat/v1alpha/auth_tokens"]) {
    const unknown = await service().fetch(path, { headers: google });
    const { error } = await unknown.json();
    assert.deepEqual([unknown.status, error.code], [404, "endpoint_not_found"]);
    const stranger = await fetch(`${service().baseUrl}${path}`, {
      headers: { "x-goog-api-key": "dmt_x" },
    });
    assert.equal(stranger.status, 401);
    await stranger.body?.cancel();
  }
  for (const headers of [{}, { "x-goog-api-key": " " }]) {
    const answer = await fetch(`${service().baseUrl}/vendor-d/v1beta/models`, { headers });
    assert.match((await answer.json()).error.message, /^No API key was sent/);
  }
});

Deno.test("a preflight that no CORS_ORIGINS allows is refused with the setting's name", async () => {
  const answer = await fetch(`${service().baseUrl}/chat/v1/chat/completions`, {
    method: "OPTIONS",
    headers: { origin: "https://app.example", "access-control-request-method": "POST" },
  });
  assert.equal(answer.status, 401);
  const { error } = await answer.json();
  assert.equal(error.code, "missing_api_key");
  assert.match(error.message, /^Browsers may call from the origins in CORS_ORIGINS/);
});

Deno.test("the caller's X-Request-ID is echoed, one that can't be a header value is replaced", async () => {
  const echoed = await service().fetch("/api/v1/status", { headers: { "x-request-id": "mine-1" } });
  assert.equal(echoed.headers.get("x-request-id"), "mine-1");
  for (const bad of ["two words", "x".repeat(201)]) {
    const answer = await service().fetch("/api/v1/status", { headers: { "x-request-id": bad } });
    assert.match(answer.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
  }
});

function changed(key: string): string {
  return key.slice(0, 10) + (key[10] === "a" ? "b" : "a") + key.slice(11);
}

/** Long enough for a machine that stands still for seconds to use the key before. */
function soon(): string {
  return new Date(Date.now() + 8_000).toISOString();
}
