/** The files on the page that a LiteLLM configuration becomes are ones that a start takes. */
import assert from "@std/assert";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { startSimulatedService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";

const page = Deno.readTextFileSync("docs/migrating.md");
const directory = temporaryDirectory("migrating");
const printedServer = "http://10.0.0.5:8000/v1";

const choices = [{
  index: 0,
  message: { role: "assistant", content: "From your own server." },
  finish_reason: "stop",
}];
const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };

function answer(exchange: FakeExchange): unknown {
  const { model } = JSON.parse(exchange.request.body);
  const body = { id: "chatcmpl-1", object: "chat.completion", created: 1, model, choices, usage };
  return exchange.answer(200, body);
}

/** Writes the block that is marked `json NAME`, with the address of `server` for the page's. */
async function fileOf(name: string, server: string): Promise<string> {
  const [, text] = new RegExp("```json " + name + "\\n(.*?)```", "s").exec(page) ?? [];
  if (text === undefined) throw new Error(`The page has no block 'json ${name}'.`);
  const path = `${directory}/${name}.json`;
  await Deno.writeTextFile(path, text.replace(printedServer, server));
  return path;
}

async function call(service: TestService, model: string) {
  const answered = await service.fetch("/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({ model, messages: [{ role: "user", content: "[say:Hello.]" }] }),
  });
  const { choices } = await answered.json();
  assert.equal(answered.status, 200, model);
  const header = (name: string) => answered.headers.get(name);
  return { text: choices[0].message.content, model: header("X-Model"), cost: header("X-Cost-USD") };
}

Deno.test("models, a server of one's own and its prices, as the page has them", async () => {
  await using server = await startFakeVendor(answer);
  await using service = await startSimulatedService({
    MODELS_FILE: await fileOf("models", server.url),
    VENDORS_FILE: await fileOf("vendors", server.url),
    PRICES_FILE: await fileOf("prices", server.url),
    VLLM_API_KEY: "any-word",
  });
  const local = await call(service, "local");
  assert.deepEqual(local, {
    text: "From your own server.",
    model: "vllm/qwen3",
    // 1,000 tokens at 0.20 and 100 at 0.60 per million.
    cost: "0.000260000",
  });
  assert.equal(server.requests.at(-1)!.headers["authorization"], "Bearer any-word");
  const { text, model } = await call(service, "assistant");
  assert.equal(text, "Hello.");
  assert.match(model!, /^vendor-(?:c\/claude-sonnet-4-6|b\/gpt-5-mini)$/);
});
