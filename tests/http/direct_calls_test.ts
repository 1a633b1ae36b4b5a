/** The fast path of ordinary calls answers as the web framework does. */
import assert from "@std/assert";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());
const chat = "/chat/v1/chat/completions";
const hello = { model: "vendor-b/gpt-4.1", messages: [{ role: "user", content: "Hello." }] };
const contents = { contents: [{ role: "user", parts: [{ text: "Hello." }] }] };
const gemini = "/vendor-d/v1beta/models/gemini-2.5-flash";
const message = { ...hello, model: "claude-sonnet-4-6", max_tokens: 50 };

interface Sent {
  path?: string;
  body?: string | object;
  headers?: Record<string, string>;
}

const requests: Record<string, Sent> = {
  "a whole answer": { body: hello },
  "a stream": { body: { ...hello, stream: true, stream_options: { include_usage: true } } },
  "messages": { path: "/vendor-c/v1/messages?beta=true", body: message },
  "a stream of messages": { path: "/chat/v1/messages", body: { ...message, stream: true } },
  "responses": { path: "/chat/v1/responses", body: { model: "vendor-b/gpt-4.1", input: "Hi." } },
  "tokens of responses": {
    path: "/chat/v1/responses/input_tokens",
    body: { model: "vendor-b/gpt-4.1", input: "Hi." },
  },
  "generate": { path: `${gemini}:generateContent`, body: contents },
  "generate, without its folder": {
    path: "/chat/v1/vendor-b/gpt-4.1:generateContent",
    body: contents,
  },
  "a stream of generate": { path: `${gemini}:streamGenerateContent?alt=sse`, body: contents },
  "tokens of generate": { path: `${gemini}:countTokens`, body: contents },
  "a method that nobody has": { path: `${gemini}:generate`, body: contents },
  "a model that is encoded": { path: `${gemini}%2Da:generateContent`, body: contents },
  "generate with a wrong key": {
    path: `${gemini}:generateContent`,
    body: contents,
    headers: { authorization: "Bearer dmt_wrong" },
  },
  "a failure of the vendor": {
    body: { ...hello, messages: [{ role: "user", content: "[error:400]" }] },
  },
  "a stream that is cut": {
    body: { ...hello, stream: true, messages: [{ role: "user", content: "[cut]" }] },
  },
  "no key": { body: hello, headers: { authorization: "" } },
  "a wrong key": { body: hello, headers: { authorization: "Bearer dmt_wrong" } },
  "a wrong key, messages": {
    path: "/chat/v1/messages",
    body: message,
    headers: { authorization: "Bearer dmt_wrong" },
  },
  "no JSON": { body: "{" },
  "no UTF-8": { body: "\u00ff", headers: { "x-latin": "1" } },
  "no body": { body: "" },
  "a missing field": { body: { model: "vendor-b/gpt-4.1" } },
  "an unknown model": { body: { ...hello, model: "vendor-b/none" } },
  "a label that is too long": { body: hello, headers: { "x-user-id": "u".repeat(300) } },
  "two labels": { body: hello, headers: { "x-user-id": "a, b", "x-session-id": "s" } },
  "an id of the caller's": { body: hello, headers: { "x-request-id": "mine/1" } },
};

const differing =
  /^(date|x-request-id|request-id|x-transaction-id|x-vendor-request-id|x-ratelimit-.*|transfer-encoding|content-length|keep-alive|vary|server-timing)$/;

async function answer(
  { path = chat, body = "", headers = {} }: Sent,
  more: Record<string, string>,
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${service().baseUrl}${path}`, {
    method: "POST",
    headers: {
      ...{ authorization: `Bearer ${service().key}`, "content-type": "application/json" },
      ...headers,
      ...more,
    },
    body: headers["x-latin"] ? new Uint8Array([0xff]) : text,
  });
  const read = await response.text().catch((thrown) => `broken: ${thrown.name}`);
  return {
    status: response.status,
    names: [...response.headers.keys()].filter((name) =>
      !/transfer-encoding|content-length/.test(name)
    ),
    headers: Object.fromEntries([...response.headers].filter(([name]) => !differing.test(name))),
    body: read
      .replace(
        /"(id|request_id|item_id|x_transaction_id|responseId|createTime)":"[^"]*"/g,
        '"$1":"…"',
      )
      .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
      .replace(/(chatcmpl|msg|resp|rs|req)[-_][\w-]+/g, "$1…")
      .replace(/"obfuscation":"[^"]*"/g, '"obfuscation":""'),
  };
}

for (const [name, sent] of Object.entries(requests)) {
  Deno.test(`the same answer on both paths: ${name}`, async () => {
    const direct = await answer(sent, {});
    // What a browser sends goes through the web framework.
    const routed = await answer(
      {
        ...sent,
        headers: {
          ...sent.headers,
          ...(name.startsWith("an id") ? { "x-request-id": "mine/2" } : {}),
        },
      },
      { origin: "http://elsewhere.example" },
    );
    assert.deepEqual(direct, routed);
    assert.ok(direct.status > 0);
  });
}

Deno.test("both paths are recorded alike", async () => {
  for (const more of [{}, { origin: "http://elsewhere.example" }]) {
    const ended = await answer({ body: hello, headers: { "x-user-id": "direct" } }, more);
    assert.equal(ended.status, 200);
  }
  const rows = await service().rows({ user_id: "direct" });
  assert.equal(rows.length, 2);
  const [first, second] = rows.map((row) => [row.endpoint, row.status, row.cost_usd, row.mode]);
  assert.deepEqual(first, second);
});
