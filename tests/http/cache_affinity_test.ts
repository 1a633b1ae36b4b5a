/** What keeps a conversation at one server of a vendor, and so near its prompt cache. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { openSocket } from "../support/response_socket.ts";
import { hello, startTodaysVendors } from "../support/todays_vendors.ts";
import { callingTool } from "../support/tool_calling_vendor.ts";

const world = shared(startTodaysVendors);

const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
const key = { prompt_cache_key: "conversation-1" };

/** A caller of a dialect, the vendor's endpoint that is called, and which of the two arrive there. */
const calls: readonly {
  path: string;
  body: Record<string, unknown>;
  endpoint: string;
  arrives: readonly ("prompt_cache_key" | "x-grok-conv-id")[];
}[] = [
  {
    path: "chat/completions",
    body: { model: "vendor-b/gpt-4.1", messages: hello, ...key },
    ...{ endpoint: "/b/chat/completions", arrives: ["prompt_cache_key"] },
  },
  {
    path: "responses",
    body: { model: "vendor-b/gpt-5.6-sol", input: "Hi", ...key },
    ...{ endpoint: "/b/responses", arrives: ["prompt_cache_key"] },
  },
  // Its chat endpoint takes no tools: the call is translated.
  {
    path: "chat/completions",
    body: { model: "vendor-b/gpt-5.6-sol", messages: hello, tools, ...key },
    ...{ endpoint: "/b/responses", arrives: ["prompt_cache_key"] },
  },
  {
    path: "responses",
    body: { model: "vendor-g/grok-4.3", input: "Hi", ...key },
    ...{ endpoint: "/g/responses", arrives: ["prompt_cache_key", "x-grok-conv-id"] },
  },
  {
    path: "chat/completions",
    body: { model: "vendor-g/grok-4.3", messages: hello, ...key },
    ...{ endpoint: "/g/chat/completions", arrives: ["prompt_cache_key", "x-grok-conv-id"] },
  },
  {
    path: "messages",
    body: { model: "vendor-g/grok-4.3", max_tokens: 99, messages: hello },
    ...{ endpoint: "/g/chat/completions", arrives: ["x-grok-conv-id"] },
  },
  {
    path: "models/vendor-g/grok-4.3:generateContent",
    body: { contents: [{ parts: [{ text: "Hi" }] }] },
    ...{ endpoint: "/g/chat/completions", arrives: ["x-grok-conv-id"] },
  },
];

/** What the vendor got, by where it was asked. */
function gotAt(endpoint: string) {
  const { path, body, headers } = world().last();
  assert.equal(path, endpoint);
  const sent = JSON.parse(body) as Record<string, unknown>;
  return {
    prompt_cache_key: sent.prompt_cache_key,
    "x-grok-conv-id": headers["x-grok-conv-id"],
  };
}

for (const { path, body, endpoint, arrives } of calls) {
  const name = `${path.replace(/.*:/, "")} → ${endpoint}${body.tools ? " with tools" : ""}`;
  Deno.test(`${name}: ${arrives.join(" and ")} ${arrives.length > 1 ? "arrive" : "arrives"}`, async () => {
    world().play();
    const headers = { "x-grok-conv-id": "conversation-2" };
    const answer = await world().post(`/chat/v1/${path}`, body, headers);
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-translation-loss"), null);
    assert.deepEqual(gotAt(endpoint), {
      prompt_cache_key: arrives.includes("prompt_cache_key") ? "conversation-1" : undefined,
      "x-grok-conv-id": arrives.includes("x-grok-conv-id") ? "conversation-2" : undefined,
    });
  });
}

Deno.test("each turn of a socket carries the key of its frame and the header of its handshake", async () => {
  world().play(callingTool(() => undefined));
  const headers = { "x-grok-conv-id": "conversation-2" };
  await using socket = await openSocket(world(), "/chat/v1", headers);
  for (const prompt_cache_key of ["turn-1", "turn-2"]) {
    await socket.ask({ model: "vendor-g/grok-4.3", input: "Hi", prompt_cache_key });
    assert.deepEqual(gotAt("/g/responses"), { ...headers, prompt_cache_key });
  }
});

Deno.test("a vendor without a place for the key is not sent it, and the loss is named", async () => {
  world().play();
  const body = { model: "acme/acme-1", input: "Hi", ...key };
  const answer = await world().post("/chat/v1/responses", body);
  assert.equal(answer.headers.get("x-translation-loss"), "prompt_cache_key", await answer.text());
  assert.equal(gotAt("/acme/chat/completions").prompt_cache_key, undefined);
});
