import assert from "@std/assert";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());
const messages = [{ role: "user", content: "hello" }];
const chat = (more = {}) => JSON.stringify({ model: "vendor-b/gpt-4.1", messages, ...more });
const exported = JSON.stringify({
  start_date: "2026-01-01T00:00:00Z",
  end_date: "2030-01-01T00:00:00Z",
});

const answers: readonly [name: string, method: string, path: string, body?: string][] = [
  ["a call", "POST", "/chat/v1/chat/completions", chat()],
  ["a stream", "POST", "/chat/v1/chat/completions", chat({ stream: true })],
  ["an error", "POST", "/chat/v1/chat/completions", "{"],
  ["status", "GET", "/api/v1/status"],
  ["models", "GET", "/chat/v1/models"],
  ["an export", "POST", "/api/v1/exports", exported],
  ["exports", "GET", "/api/v1/exports"],
  ["an unknown path", "GET", "/no/such/path"],
];

for (const [name, method, path, body] of answers) {
  Deno.test(`what a key gets is kept by nobody on the way: ${name}`, async () => {
    const { baseUrl, key } = service();
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body }),
    });
    await answer.body?.cancel();
    assert.equal(answer.headers.get("cache-control"), "no-store");
  });
}

Deno.test("a file of an export is kept by nobody on the way, whole or in part", async () => {
  const { baseUrl, key, post } = service();
  const asked = await post("/api/v1/exports", {
    range: { start: "2026-01-01", end: "2030-01-01" },
  });
  const { request_id: id } = await asked.json();
  for (const range of [undefined, "bytes=0-1", "bytes=99999999-"]) {
    const answer = await fetch(`${baseUrl}/api/v1/exports/${id}/stream`, {
      headers: { authorization: `Bearer ${key}`, ...(range === undefined ? {} : { range }) },
    });
    await answer.body?.cancel();
    assert.ok([200, 206, 416].includes(answer.status));
    assert.equal(answer.headers.get("cache-control"), "no-store");
  }
});

Deno.test("what a browser can be led to says who may embed, open and learn of it", async () => {
  const { baseUrl } = service();
  for (const path of ["/dashboard", "/reference", "/openapi.json", "/livez", "/api/v1/status"]) {
    const answer = await fetch(baseUrl + path, { redirect: "manual" });
    await answer.body?.cancel();
    assert.equal(answer.headers.get("cross-origin-opener-policy"), "same-origin", path);
    assert.equal(answer.headers.get("cross-origin-resource-policy"), "same-origin", path);
    assert.match(answer.headers.get("permissions-policy") ?? "", /camera=\(\)/, path);
    assert.match(answer.headers.get("referrer-policy") ?? "", /^(no-referrer|same-origin)$/, path);
    assert.equal(answer.headers.get("content-security-policy"), "default-src 'self'", path);
    assert.ok(answer.headers.has("cache-control"), path);
  }
});
