/** The search's fields in each dialect's words, and what becomes of those without one. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { dialects, type Name } from "../dialects/translated.ts";

type Json = Record<string, unknown>;

const place = { city: "Oslo", country: "NO", region: "Oslo", timezone: "Europe/Oslo" };

const asked: Readonly<Record<Exclude<Name, "generate">, Json>> = {
  chat: {
    messages: [{ role: "user", content: "q" }],
    web_search_options: {
      search_context_size: "low",
      user_location: { type: "approximate", approximate: place },
    },
  },
  responses: {
    input: "q",
    max_tool_calls: 4,
    tools: [{
      type: "web_search",
      filters: { allowed_domains: ["a.example"] },
      search_context_size: "low",
      user_location: { type: "approximate", ...place },
    }],
  },
  messages: {
    max_tokens: 9,
    messages: [{ role: "user", content: "q" }],
    tools: [{
      type: "web_search_20250305",
      name: "web_search",
      allowed_domains: ["a.example"],
      max_uses: 4,
      user_location: { type: "approximate", ...place },
    }],
  },
};

const models = {
  chat: "openai/gpt-5-mini",
  responses: "gpt-5.6-sol",
  messages: "claude-sonnet-4-6",
  generate: "gemini-3.8-flash",
} as const;

function cross(from: Name, to: Name, body: Json, more: Json = {}) {
  const request = finish(dialects[from].decodeRequest({ model: "m", ...body, ...more }));
  const { body: sent, losses } = finish(dialects[to].encodeRequest(request, {
    model: models[to],
    maxOutputTokens: undefined,
    webSearch: "tool",
  }));
  return { sent, losses: losses.map(({ path, weight }) => `${path} ${weight}`) };
}

const user_location = { type: "approximate", ...place };

Deno.test("place, limit, domains and size arrive in the target's words", () => {
  assert.deepEqual(cross("chat", "responses", asked.chat).sent.tools, [
    { type: "web_search", search_context_size: "low", user_location },
  ]);
  assert.deepEqual(cross("responses", "messages", asked.responses).sent.tools, [{
    type: "web_search_20250305",
    name: "web_search",
    max_uses: 4,
    allowed_domains: ["a.example"],
    user_location,
  }]);
  const { sent, losses } = cross("messages", "responses", asked.messages);
  assert.deepEqual(losses, []);
  assert.equal(sent.max_tool_calls, 4);
  assert.deepEqual(sent.tools, [{
    type: "web_search",
    filters: { allowed_domains: ["a.example"] },
    user_location,
  }]);
  assert.deepEqual(sent.include, ["reasoning.encrypted_content", "web_search_call.action.sources"]);
  assert.deepEqual(cross("messages", "chat", asked.messages).sent.tools, [{
    type: "web_search",
    allowed_domains: ["a.example"],
    max_uses: 4,
    user_location,
  }]);
});

Deno.test("what has no field is named: domains as a condition, the rest as hints", () => {
  assert.deepEqual(cross("messages", "generate", asked.messages).losses, [
    "tools[0].allowed_domains meaning",
    "tools[0].max_uses hint",
    "tools[0].user_location hint",
  ]);
  assert.deepEqual(cross("responses", "messages", asked.responses).losses, [
    "tools[0].search_context_size hint",
  ]);
  const excluded = {
    contents: [{ parts: [{ text: "q" }] }],
    tools: [{ googleSearch: { excludeDomains: ["b.example"] } }],
  };
  const { sent, losses } = cross("generate", "messages", excluded);
  assert.deepEqual(losses, []);
  assert.deepEqual(sent.tools, [
    { type: "web_search_20250305", name: "web_search", blocked_domains: ["b.example"] },
  ]);
  assert.deepEqual(cross("generate", "responses", excluded).losses, [
    "tools[0].googleSearch.excludeDomains meaning",
  ]);
  // Out of the vendor's cache only, as some agents ask by default.
  const cached = { input: "q", tools: [{ type: "web_search", external_web_access: false }] };
  assert.deepEqual(cross("responses", "messages", cached).losses, [
    "tools[0].external_web_access hint",
  ]);
});

Deno.test("a choice of the search is one in the target's words", () => {
  const chosen = { tool_choice: { type: "tool", name: "web_search" } };
  assert.equal(cross("messages", "responses", asked.messages, chosen).sent.tool_choice, "required");
  const back = cross("responses", "messages", asked.responses, {
    tool_choice: { type: "web_search_preview" },
  });
  assert.deepEqual(back.sent.tool_choice, { type: "tool", name: "web_search" });
  const { losses } = cross("messages", "generate", asked.messages, chosen);
  assert.ok(losses.includes("tool_choice hint"), losses.join());
  // Functions and the search in one request need the vendor's leave.
  const beside = cross("messages", "generate", {
    max_tokens: 9,
    messages: [{ role: "user", content: "q" }],
    tools: [
      { type: "web_search_20260318", name: "web_search" },
      { name: "f", input_schema: { type: "object", properties: { a: { type: "string" } } } },
    ],
  });
  assert.deepEqual(beside.losses, []);
  assert.deepEqual(beside.sent.toolConfig, { includeServerSideToolInvocations: true });
});

Deno.test("wrong fields of a search are refused by name", () => {
  for (
    const [tool, path] of [
      [{ filters: { allowed_domains: "a.example" } }, "tools[0].filters.allowed_domains"],
      [{ search_context_size: "huge" }, "tools[0].search_context_size"],
    ] as const
  ) {
    const body = { model: "m", input: "q", tools: [{ type: "web_search", ...tool }] };
    assert.throws(() => finish(dialects.responses.decodeRequest(body)), (thrown: unknown) => {
      assert.equal((thrown as { param?: string }).param, path);
      return true;
    });
  }
});
