import assert from "@std/assert";
import { Secret } from "../base/secret.ts";
import { createRegistry } from "./registry.ts";
import { answerHeaders, vendorHeaders } from "./vendor_headers.ts";

const registry = createRegistry({}, []);
const key = new Secret("vendor-key");
const service = "dmt_service-key";

/** Everything a caller might send. */
const callerHeaders: Record<string, string> = {
  authorization: `Bearer ${service};sk-own`,
  "x-api-key": service,
  "x-goog-api-key": service,
  "proxy-authorization": service,
  cookie: `key=${service}`,
  connection: "keep-alive, x-secret",
  "keep-alive": "timeout=5",
  "transfer-encoding": "chunked",
  te: "trailers",
  upgrade: "h2c",
  host: "gateway.example",
  "content-length": "9",
  "accept-encoding": "gzip",
  "x-forwarded-for": "10.0.0.1",
  forwarded: "for=10.0.0.1",
  "x-request-id": "r",
  "x-session-id": "s",
  "x-user-id": "u",
  "user-agent": "curl",
  "openai-organization": "org-1",
  "openai-project": "proj-1",
  "openai-beta": "assistants=v2",
  "anthropic-version": "2026-01-01",
  "anthropic-beta": "files",
  "anthropic-new-thing": "1",
  "anthropic-workspace-id": "wrkspc-1",
  "anthropic-user-profile-id": "uprof-1",
  "openai-new-thing": "2",
  "x-grok-conv-id": "c1",
  "x-hf-bill-to": "org",
  "x-codex-turn-state": "t",
  originator: "codex_cli_rs",
  "session-id": "s1",
  "x-openai-internal-codex-responses-lite": "true",
  "x-goog-api-client": "genai",
  "http-referer": "https://app.example",
  "x-title": "App",
};
const caller = {
  header: (name: string) => callerHeaders[name],
  headerNames: () => Object.keys(callerHeaders),
};
const managed = { sameDialect: true, isOwnKey: false };

const sent: [string, Record<string, string>][] = [
  ["vendor-a", { authorization: "Bearer vendor-key" }],
  ["vendor-b", {
    authorization: "Bearer vendor-key",
    "openai-beta": "assistants=v2",
    "openai-new-thing": "2",
    "x-codex-turn-state": "t",
    originator: "codex_cli_rs",
    "session-id": "s1",
    "x-openai-internal-codex-responses-lite": "true",
  }],
  ["vendor-c", {
    "x-api-key": "vendor-key",
    "anthropic-version": "2026-01-01",
    "anthropic-beta": "files",
    "anthropic-new-thing": "1",
  }],
  ["vendor-d", { "x-goog-api-key": "vendor-key" }],
  ["vendor-e", { "x-goog-api-key": "vendor-key" }],
  ["vendor-f", {
    authorization: "Bearer vendor-key",
    "http-referer": "https://app.example",
    "x-title": "App",
  }],
  ["vendor-g", { authorization: "Bearer vendor-key", "x-grok-conv-id": "c1" }],
];

/** What is sent besides where the key is the caller's own. */
const sentWithOwnKey: Readonly<Record<string, Record<string, string>>> = {
  "vendor-a": { "x-hf-bill-to": "org" },
  "vendor-b": { "openai-organization": "org-1", "openai-project": "proj-1" },
  "vendor-c": {
    "anthropic-workspace-id": "wrkspc-1",
    "anthropic-user-profile-id": "uprof-1",
  },
};
for (const [label, headers] of sent) {
  Deno.test(`${label} gets its key, what its row names, and nothing else of the caller`, () => {
    const vendor = registry.find(label)!;
    const built = vendorHeaders(vendor, key, caller, managed);
    assert.deepEqual(built, headers);
    assert.doesNotMatch(JSON.stringify(built), /dmt_|sk-own/);
  });
  Deno.test(`${label} is told of the caller's own account with the caller's own key alone`, () => {
    const vendor = registry.find(label)!;
    const built = vendorHeaders(vendor, key, caller, { sameDialect: true, isOwnKey: true });
    assert.deepEqual(built, { ...headers, ...sentWithOwnKey[label] });
    const translated = vendorHeaders(vendor, key, caller, { sameDialect: false, isOwnKey: true });
    for (const name of Object.keys(sentWithOwnKey[label] ?? {})) {
      assert.equal(translated[name], undefined, "nobody translated it");
    }
  });
}

const alwaysSent = [
  ...["authorization", "x-api-key", "x-goog-api-key", "http-referer", "x-title"],
  "x-grok-conv-id",
];

Deno.test("what a caller of another dialect says of its own version does not reach the vendor", () => {
  for (const [label, headers] of sent) {
    const rest = Object.fromEntries(
      Object.entries(headers).filter(([name]) => alwaysSent.includes(name)),
    );
    const version = label === "vendor-c" ? { "anthropic-version": "2023-06-01" } : {};
    const kind = { sameDialect: false, isOwnKey: false };
    const built = vendorHeaders(registry.find(label)!, key, caller, kind);
    assert.deepEqual(built, { ...rest, ...version });
  }
});

Deno.test("where a row forwards the header of its own key, the vendor's key is sent all the same", () => {
  for (const auth of ["bearer", "x-api-key", "x-goog-api-key"] as const) {
    const name = auth === "bearer" ? "authorization" : auth;
    const careless = { ...registry.find("vendor-b")!, forwardHeaders: [name], auth };
    const translated = { sameDialect: false, isOwnKey: false };
    const expected = auth === "bearer" ? "Bearer vendor-key" : "vendor-key";
    assert.deepEqual(vendorHeaders(careless, key, caller, translated), { [name]: expected });
  }
});

Deno.test("without the caller's own version the row's is sent", () => {
  const built = vendorHeaders(
    registry.find("vendor-c")!,
    key,
    { header: () => undefined },
    managed,
  );
  assert.deepEqual(built, { "x-api-key": "vendor-key", "anthropic-version": "2023-06-01" });
});

/** What a vendor's answer may carry; RFC 9110 §7.6.1. */
const kept = {
  "content-type": "text/event-stream",
  "content-language": "en",
  "openai-processing-ms": "12",
  "openai-version": "2020-10-01",
  "openai-model": "gpt-5.6-sol-2026-07-30",
  "x-reasoning-included": "true",
  "x-codex-turn-state": "t2",
};
const dropped = {
  connection: "keep-alive",
  "keep-alive": "timeout=5",
  "transfer-encoding": "chunked",
  te: "trailers",
  trailer: "x",
  upgrade: "h2c",
  "proxy-authenticate": "Basic",
  "content-length": "100",
  "content-encoding": "gzip",
  "set-cookie": "__cf_bm=1",
  "openai-organization": "org-1",
  "openai-project": "proj-1",
  "anthropic-organization-id": "org-2",
  "x-ratelimit-limit-requests": "1",
  "x-ratelimit-remaining-tokens": "2",
  "x-ratelimit-reset-requests": "6m0s",
  "anthropic-ratelimit-requests-limit": "3",
  "retry-after": "3",
  "cf-ray": "x",
  server: "cloudflare",
  "strict-transport-security": "max-age=1",
  "content-security-policy": "none",
  "access-control-allow-origin": "*",
  location: "https://elsewhere.example",
  "x-goog-quota-user": "u",
};

Deno.test("of a vendor's answer only harmless headers reach the caller", () => {
  assert.deepEqual(answerHeaders({ ...dropped, ...kept }), kept);
  for (const [name, value] of Object.entries(dropped)) {
    assert.deepEqual(answerHeaders({ [name]: value }), {}, name);
  }
  assert.deepEqual(answerHeaders({}), {});
});

Deno.test("the vendor's id of a request has a name that says whose it is", () => {
  const named = (headers: Record<string, string>) => answerHeaders(headers)["x-vendor-request-id"];
  assert.equal(named({ "request-id": "req_1" }), "req_1");
  assert.equal(named({ "x-request-id": "req_2" }), "req_2");
  assert.equal(named({ "request-id": "req_1", "x-request-id": "lb-9" }), "req_1");
  for (const odd of ["", "two words", "x".repeat(201), "é"]) {
    assert.equal(named({ "request-id": odd }), undefined);
  }
  const passed = answerHeaders({ "request-id": "req_1", "x-request-id": "req_2" });
  assert.deepEqual(passed, { "x-vendor-request-id": "req_1" });
});
