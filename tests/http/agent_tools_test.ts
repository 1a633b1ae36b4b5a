/** What Codex sends with every request, towards vendors of the other dialects. */
import OpenAI from "openai";
import type {
  ResponseFunctionToolCall,
  ResponseInput,
  ResponseOutputItem,
  Tool,
} from "openai/resources/responses/responses";
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { startTodaysVendors } from "../support/todays_vendors.ts";
import { callingTool, toolNames } from "../support/tool_calling_vendor.ts";

const world = shared(startTodaysVendors);

/** One model at a vendor of each other dialect. */
const models = [
  "vendor-c/claude-haiku-4-5",
  "vendor-d/gemini-2.5-flash",
  "acme/acme-1",
] as const;

const parameters = { type: "object", properties: {}, additionalProperties: false };
const fn = (name: string) => ({ type: "function" as const, name, parameters, strict: false });

const codexTools: Tool[] = [
  fn("exec_command"),
  { type: "namespace", name: "mcp__dict", description: "Words.", tools: [fn("lookup")] },
  { type: "namespace", name: "multi_agent", description: "", tools: [fn("spawn"), fn("lookup")] },
  { type: "web_search" },
];

function client() {
  const { baseUrl, key } = world();
  return new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
}

function callIn(output: readonly ResponseOutputItem[]): ResponseFunctionToolCall {
  for (const item of output) if (item.type === "function_call") return item;
  throw new Error(`no call in ${JSON.stringify(output)}`);
}

Deno.test("Codex's namespaces and its search run on vendors of every dialect, whole and streamed", async () => {
  world().play(callingTool((tools) => tools.find((name) => name.startsWith("mcp__dict"))));
  for (const model of models) {
    for (const stream of [false, true]) {
      const input: ResponseInput = [{ role: "user", content: "What does it mean?" }];
      const ask = async () => {
        const body = { model, input, tools: codexTools, store: false };
        if (!stream) return await client().responses.create(body);
        return await client().responses.stream(body).finalResponse();
      };
      const first = await ask();
      const call = callIn(first.output);
      assert.equal(call.namespace, "mcp__dict", `${model} ${stream}`);
      assert.equal(call.name, "lookup");
      const sent = toolNames(JSON.parse(world().last().body));
      for (const name of ["exec_command", "mcp__dict__lookup", "multi_agent__spawn"]) {
        assert.ok(sent.includes(name), `${model}: ${sent}`);
      }
      input.push(...first.output as ResponseInput, {
        type: "function_call_output",
        call_id: call.call_id,
        output: "a word",
      });
      const second = await ask();
      assert.equal(second.output_text, "Fine.", `${model} ${stream}`);
      // The conversation names the call as the tools are named.
      assert.match(world().last().body, /"name":"mcp__dict__lookup".*"mcp__dict__lookup"/);
    }
  }
  world().play();
});

Deno.test("tools that come as an item, as Codex sends them, are tools at every vendor", async () => {
  world().play(callingTool((tools) => tools.find((name) => name.endsWith("__lookup"))));
  for (const model of models) {
    const answer = await client().responses.create({
      model,
      store: false,
      input: [
        { type: "additional_tools", role: "developer", tools: codexTools.slice(0, 2) },
        { role: "user", content: "What does it mean?" },
      ],
    });
    const call = callIn(answer.output);
    assert.deepEqual([call.namespace, call.name], ["mcp__dict", "lookup"], model);
  }
  world().play();
});

/** Claude Code's search: a call of its own whose only tool is the vendor's. */
const searchTool = { type: "web_search_20250305", name: "web_search", max_uses: 8 };

Deno.test("a search beside other tools is a named loss where the vendor has none; alone it is refused there", async () => {
  world().play();
  const search = { type: "web_search" };
  const ask = (tools: unknown[]) =>
    world().post("/chat/v1/responses", { model: "acme/acme-1", input: "hi", tools });
  const beside = await ask([fn("f"), search]);
  assert.equal(beside.status, 200, await beside.text());
  assert.equal(beside.headers.get("x-translation-loss"), "tools[1]");
  const alone = await ask([search]);
  assert.equal(alone.status, 400);
  assert.equal((await alone.json()).error.param, "tools[0]");
  // In a namespace's company too.
  const named = await ask([codexTools[1], search]);
  assert.equal(named.headers.get("x-translation-loss"), "tools[0].description,tools[1]");
  assert.equal(named.status, 200, await named.text());
});

Deno.test("a search without a price is such a loss in the vendor's own dialect, too", async () => {
  world().play();
  const search = { type: "web_search" };
  const ask = (tools: unknown[], headers: Record<string, string> = {}) =>
    world().post(
      "/chat/v1/responses",
      { model: "vendor-a/deepseek-ai/DeepSeek-V4-Flash", input: "hi", tools },
      headers,
    );
  const sentTools = () => JSON.parse(world().last().body).tools;
  const beside = await ask([search, fn("f")]);
  assert.equal(beside.status, 200, await beside.text());
  assert.equal(beside.headers.get("x-translation-loss"), "tools[0]");
  assert.deepEqual(toolNames({ tools: sentTools() }), ["f"]);
  for (const mode of ["default", "lenient"]) {
    const alone = await ask([search], { "x-translation-mode": mode });
    assert.equal(alone.status, 400, mode);
    assert.match((await alone.json()).error.message, /^tools\[0\]: .*no price for 'web_search'/);
  }
  const strict = await ask([search, fn("f")], { "x-translation-mode": "strict" });
  assert.equal(strict.status, 400);
  assert.equal((await strict.json()).error.param, "tools[0]");
  // Whether the caller's own account can search is up to the vendor.
  const own = await ask([search, fn("f")], { authorization: `Bearer ${world().key};hf_own` });
  assert.equal(own.headers.get("x-translation-loss"), null);
  assert.deepEqual(sentTools(), [search, fn("f")], await own.text());
});

Deno.test("Claude Code's search is the vendor's own search where it has one", async () => {
  world().play();
  const ask = (model: string) =>
    world().post("/chat/v1/messages", {
      model,
      max_tokens: 99,
      messages: [{ role: "user", content: "Perform a web search for the query: deno" }],
      tools: [searchTool],
      tool_choice: { type: "tool", name: "web_search" },
    });
  const searches = {
    "vendor-b/gpt-5.6-sol": /"type":"web_search"/,
    "vendor-d/gemini-2.5-flash": /"googleSearch"/,
  };
  for (const [model, sent] of Object.entries(searches)) {
    const answer = await ask(model);
    assert.equal(answer.status, 200, await answer.text());
    assert.match(world().last().body, sent);
  }
  const refused = await ask("acme/acme-1");
  assert.equal(refused.status, 400);
  assert.match((await refused.json()).error.message, /^tool(s\[0\]|_choice)/);
});
