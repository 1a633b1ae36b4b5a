/** Anthropic's bash, text editor and memory tools, which its library runs, with every vendor's models. */
import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { startTodaysVendors } from "../support/todays_vendors.ts";
import { callingTool } from "../support/tool_calling_vendor.ts";

const world = shared(startTodaysVendors);

type Json = Record<string, unknown>;
type Tool = Parameters<Anthropic["beta"]["messages"]["toolRunner"]>[0]["tools"][number];

const models = ["vendor-b/gpt-5.6-sol", "vendor-d/gemini-2.5-flash", "acme/acme-1"];

const done = () => "done";
const handlers = {
  ...{ view: done, create: done, str_replace: done, insert: done, delete: done, rename: done },
};

/** Each as the library sends it, and what it was called with. */
function tools(runs: string[]): Tool[] {
  const runnable = (definition: object, name: string): Tool =>
    ({
      ...definition,
      name,
      parse: (input: unknown) => input,
      run: () => (runs.push(name), "done"),
    }) as unknown as Tool;
  return [
    runnable({ type: "bash_20250124" }, "bash"),
    runnable({ type: "text_editor_20250728" }, "str_replace_based_edit_tool"),
    runnable({ ...betaMemoryTool(handlers) }, "memory"),
  ];
}

for (const model of models) {
  Deno.test(`the official runner's own tools are called by ${model}, whole and streamed`, async () => {
    for (const [at, name] of ["bash", "str_replace_based_edit_tool", "memory"].entries()) {
      world().play(callingTool((names) => names.find((one) => one === name)));
      const client = new Anthropic({
        baseURL: `${world().baseUrl}/chat`,
        apiKey: world().key,
        maxRetries: 0,
      });
      const runs: string[] = [];
      const last = await client.beta.messages.toolRunner({
        model,
        max_tokens: 99,
        tools: tools(runs),
        messages: [{ role: "user", content: "Begin." }],
        stream: at === 1,
      }).runUntilDone();
      assert.deepEqual(runs, [name]);
      assert.deepEqual(last.content.map((block) => block.type), ["text"]);
      assert.match(world().vendor.requests.at(-1)!.body, /str_replace/);
    }
  });
}

Deno.test("Anthropic's own models get these tools as they were sent", async () => {
  world().play(callingTool(() => undefined));
  const answer = await world().post("/chat/v1/messages", {
    ...{ model: "vendor-c/claude-haiku-4-5", max_tokens: 99 },
    tools: [{ type: "bash_20250124", name: "bash" }],
    messages: [{ role: "user", content: "Begin." }],
  });
  assert.equal(answer.status, 200, await answer.text());
  const { tools } = JSON.parse(world().vendor.requests.at(-1)!.body) as { tools: Json[] };
  assert.deepEqual(tools, [{ type: "bash_20250124", name: "bash" }]);
});

Deno.test("a version that isn't known can't be carried, and what a known one adds is named", async () => {
  world().play(callingTool(() => undefined));
  const ask = (tool: Json) =>
    world().post("/chat/v1/messages", {
      ...{ model: models[0], max_tokens: 99, tools: [tool] },
      messages: [{ role: "user", content: "Begin." }],
    });
  const newer = await ask({ type: "bash_20991231", name: "bash" });
  const { error } = await newer.json();
  assert.equal(newer.status, 400);
  assert.match(error.message, /^tools\[0\]/);
  const editor = { type: "text_editor_20250728", name: "str_replace_based_edit_tool" };
  const limited = await ask({ ...editor, max_characters: 10_000 });
  assert.equal(limited.status, 200, await limited.text());
  assert.equal(limited.headers.get("x-translation-loss"), "tools[0].max_characters");
});
