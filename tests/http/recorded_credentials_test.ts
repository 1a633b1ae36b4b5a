/** Credentials inside of a request reach the vendor, and nothing that the gateway stores. */
import assert from "@std/assert";
import { filesWith } from "../support/files_with.ts";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { startTestService } from "../support/service.ts";

const token = `token-of-another-service-${crypto.randomUUID()}`;
const mcpTool = {
  type: "mcp",
  server_label: "notes",
  server_url: `https://mcp.example.com/${token}/mcp`,
  authorization: token,
  headers: { "X-Key": token },
};
const says = { role: "user", content: "Hello." };

interface Row {
  path: string;
  /** Of a name as the caller writes it. */
  escaped?: readonly [name: string, sent: string];
  body: Readonly<Record<string, unknown>>;
  recorded: Readonly<Record<string, unknown>>;
}

const rows: Readonly<Record<string, Row>> = {
  chat: {
    path: "/vendor-b/v1/chat/completions",
    body: { model: "gpt-5-mini", messages: [says], tools: [mcpTool] },
    recorded: { tools: [masked()] },
  },
  responses: {
    path: "/vendor-b/v1/responses",
    body: { model: "gpt-5-mini", input: "Hello.", tools: [mcpTool] },
    recorded: { tools: [masked()] },
  },
  messages: {
    path: "/vendor-c/v1/messages",
    body: {
      model: "claude-sonnet-4-6",
      max_tokens: 10,
      messages: [says],
      mcp_servers: [
        { type: "url", name: "notes", url: mcpTool.server_url, authorization_token: token },
      ],
    },
    recorded: {
      mcp_servers: [{
        type: "url",
        name: "notes",
        url: "https://mcp.example.com/***",
        authorization_token: "***",
      }],
    },
  },
  generate: {
    path: "/vendor-d/v1/models/gemini-2.5-flash:generateContent",
    body: {
      contents: [{ role: "user", parts: [{ text: "Hello." }] }],
      tools: [{
        mcpServers: [{
          name: "notes",
          streamableHttpTransport: { url: mcpTool.server_url, headers: { "X-Key": token } },
        }],
      }],
    },
    recorded: {
      tools: [{
        mcpServers: [{
          name: "notes",
          streamableHttpTransport: {
            url: "https://mcp.example.com/***",
            headers: { "X-Key": "***" },
          },
        }],
      }],
    },
  },
};

const googleTools = {
  sent: [
    { googleMaps: { authConfig: { apiKey: token } } },
    { exa_ai_search: { apiKey: token, customConfigs: { type: "auto" } } },
    { retrieval: { external_api: { endpoint: `https://a.example/${token}`, apiAuth: { token } } } },
  ],
  recorded: [
    { googleMaps: { authConfig: "***" } },
    { exa_ai_search: { apiKey: "***", customConfigs: { type: "auto" } } },
    { retrieval: { external_api: { endpoint: "https://a.example/***", apiAuth: "***" } } },
  ],
};

const otherRows: Readonly<Record<string, Row>> = {
  "tools of Gemini": {
    path: "/vendor-d/v1/models/gemini-2.5-flash:generateContent",
    body: { contents: [{ parts: [{ text: "Hello." }] }], tools: googleTools.sent },
    recorded: { tools: googleTools.recorded },
  },
  "a name with an escape": { ...rows.chat!, escaped: ["authorization", "\\u0061uthorization"] },
  images: {
    path: "/imagen/v1/generate",
    body: {
      model: "google/gemini-2.5-flash-image",
      prompt: "Hello.",
      provider_options: { google: { tools: googleTools.sent } },
    },
    recorded: { provider_options: { google: { tools: googleTools.recorded } } },
  },
  speech: {
    path: "/tts/v1/generate",
    body: {
      model: "google/gemini-2.5-flash-preview-tts",
      input: "Hello.",
      provider_options: { google: { tools: googleTools.sent } },
    },
    recorded: { provider_options: { google: { tools: googleTools.recorded } } },
  },
};

function masked() {
  return {
    ...mcpTool,
    server_url: "https://mcp.example.com/***",
    authorization: "***",
    headers: { "X-Key": "***" },
  };
}

/** Fails, as a vendor does whose MCP server can't be reached: the call is recorded even so. */
const fails = (exchange: FakeExchange) =>
  exchange.answer(400, {
    error: { type: "invalid_request_error", message: "The server can't be reached.", code: 400 },
  });

Deno.test("credentials reach the vendor, but no record, journal or log", async () => {
  await using vendor = await startFakeVendor(fails);
  await using service = await startTestService({
    env: {
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
      VENDOR_C_BASE_URL: `${vendor.url}/v1`,
      VENDOR_D_BASE_URL: `${vendor.url}/v1beta`,
    },
  });
  const authorization = `Bearer ${service.key};sk-own-key`;
  for (const [name, row] of Object.entries({ ...rows, ...otherRows })) {
    const { path, body, recorded, escaped = ["", ""] } = row;
    const before = vendor.requests.length;
    const answer = await service.post(path, JSON.stringify(body).replace(...escaped), {
      authorization,
      "content-type": "application/json",
    });
    await answer.text();
    assert.ok(vendor.requests[before]?.body.includes(token), `${name}: ${answer.status}`);
    const { request } = await service.row(answer.headers.get("x-transaction-id"));
    assert.deepEqual(request, { ...body, ...recorded }, name);
  }
  const files = await filesWith(service.dataDir, ["Hello."]);
  assert.ok(files.some((path) => path.includes("journal")), "the journal has the calls");
  assert.deepEqual(await filesWith(service.dataDir, [token]), []);
  assert.deepEqual(service.log.filter((line) => line.includes(token)), []);
});

Deno.test("a stored response doesn't have the credentials that its vendor repeats", async () => {
  await using vendor = await startFakeVendor((exchange) =>
    exchange.answer(200, {
      id: "resp_1",
      object: "response",
      status: "completed",
      created_at: 1,
      model: "gpt-5-mini",
      tools: JSON.parse(exchange.request.body).tools,
      output: [{
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Hello.", annotations: [] }],
      }],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    })
  );
  await using service = await startTestService({
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-b" },
  });
  const { path, body } = rows.responses!;
  const answer = await service.post(path, { ...body, store: true });
  const said = await answer.json();
  assert.deepEqual(said.tools, [mcpTool]);
  const stored = await (await service.fetch(`${path}/${said.id}`)).json();
  assert.deepEqual(stored, { ...said, tools: [masked()] });
  const row = await service.row(answer.headers.get("x-transaction-id"));
  assert.deepEqual(row.response, { ...said, tools: [masked()] });
  const more = { model: "gpt-5-mini", input: "And now?", previous_response_id: said.id };
  const next = await service.post(path, more);
  assert.equal(next.status, 200, await next.text());
});

Deno.test("a background call's answer doesn't repeat its credentials", async () => {
  await using vendor = await startFakeVendor(fails);
  await using service = await startTestService({
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-b" },
  });
  const { path, body } = rows.responses!;
  const answer = await service.post(path, { ...body, background: true });
  const { tools } = await answer.json();
  assert.deepEqual(tools, [masked()]);
});
