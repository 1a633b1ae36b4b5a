/**
 * How Codex and Anthropic's tool runner have a conversation summed up, at vendors that don't know
 * their requests for that.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type {
  Response as OpenAIResponse,
  ResponseInput,
} from "openai/resources/responses/responses";
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { startTodaysVendors } from "../support/todays_vendors.ts";
import { callingTool } from "../support/tool_calling_vendor.ts";

const world = shared(startTodaysVendors);

/** One model at a vendor of each dialect, two of which speak the caller's. */
const models = [
  "vendor-c/claude-haiku-4-5",
  "vendor-d/gemini-2.5-flash",
  "acme/acme-1",
  "vendor-g/grok-4.3",
] as const;

const trigger = { type: "compaction_trigger" } as const;
const parameters = { type: "object", properties: {}, additionalProperties: false };
const tools = [{ type: "function" as const, name: "f", parameters, strict: false }];
const conversation = [{ role: "user", content: "Mend the fence." }, trigger] as ResponseInput;

async function ask(
  model: string,
  input: ResponseInput,
  { stream = false, ...fields }: { stream?: boolean; store?: boolean } = {},
): Promise<{ response: OpenAIResponse; transactionId: string | null }> {
  const { baseUrl, key } = world();
  const client = new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
  const body = { model, input, tools, store: false, ...fields };
  if (!stream) {
    const { data, response } = await client.responses.create(body).withResponse();
    return { response: data, transactionId: response.headers.get("x-transaction-id") };
  }
  const { data, response } = await client.responses.create({ ...body, stream }).withResponse();
  let last: OpenAIResponse | undefined;
  for await (const event of data) if ("response" in event) last = event.response;
  return { response: last!, transactionId: response.headers.get("x-transaction-id") };
}

Deno.test("a conversation is summed up by the model of any vendor, and goes on at any other", async () => {
  world().play(callingTool(() => undefined));
  for (const model of models) {
    for (const stream of [false, true]) {
      const { response, transactionId } = await ask(model, conversation, { stream });
      const asked = world().last().body;
      assert.match(asked, /Write a summary of this whole conversation/, model);
      assert.doesNotMatch(asked, /compaction/);
      assert.deepEqual(response.output.map(({ type }) => type), ["compaction"], model);
      assert.deepEqual([response.status, response.usage?.output_tokens], ["completed", 5]);
      const row = await world().row(transactionId);
      assert.deepEqual([row.status, row.output_tokens], ["completed", 5]);
      assert.ok(Number(row.charged_usd) > 0);
      for (const next of [...models, "vendor-b/gpt-4.1"]) {
        const input = [...response.output, { role: "user", content: "Go on." }] as ResponseInput;
        await ask(next, input);
        const { body } = world().last();
        assert.match(body, /replaced by this summary[^"]*Fine\./, next);
        assert.doesNotMatch(body, /compaction/);
      }
    }
  }
  world().play();
});

Deno.test("a stored conversation is summed up, and its summary continued, by their ids", async () => {
  world().play(callingTool(() => undefined));
  for (const model of ["vendor-c/claude-haiku-4-5", "vendor-g/grok-4.3"]) {
    const asking = async (fields: object) => {
      const answer = await world().post("/chat/v1/responses", { model, ...fields });
      return await answer.json() as OpenAIResponse;
    };
    const { id } = await asking({ input: "Mend the fence." });
    const summary = await asking({ input: [trigger], previous_response_id: id });
    assert.deepEqual(summary.output.map(({ type }) => type), ["compaction"]);
    assert.match(world().last().body, /Mend the fence.*Write a summary/);
    await asking({ input: "Go on.", previous_response_id: summary.id });
    const { body } = world().last();
    assert.match(body, /replaced by this summary[^"]*Fine\./);
    assert.doesNotMatch(body, /Mend the fence|Write a summary/);
  }
  world().play();
});

Deno.test("a summary counts at OpenAI as the text that it will be there", async () => {
  const { response } = await ask("vendor-c/claude-haiku-4-5", conversation);
  world().play((exchange) => exchange.answer(200, { input_tokens: 42 }));
  const body = { model: "vendor-b/gpt-4.1", input: response.output };
  const counted = await world().post("/chat/v1/responses/input_tokens", body);
  assert.equal((await counted.json()).input_tokens, 42);
  assert.match(world().last().body, /replaced by this summary[^"]*Fine\./);
  world().play();
});

Deno.test("OpenAI sums up by itself: request and answer pass unchanged", async () => {
  const item = { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" };
  const answer = {
    ...{ id: "resp_1", object: "response", created_at: 1_700_000_000, status: "completed" },
    ...{ model: "gpt-4.1", output: [item] },
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  };
  world().play((exchange) => exchange.answer(200, answer));
  const { response } = await ask("vendor-b/gpt-4.1", conversation);
  assert.deepEqual(JSON.parse(world().last().body).input, conversation);
  assert.deepEqual(response.output, [item] as unknown);
  world().play();
});

Deno.test("a model that goes on instead of summing up fails the call, which is charged", async () => {
  world().play(callingTool(([first]) => first));
  for (const model of models) {
    const failed = await world().post("/chat/v1/responses", { model, input: conversation, tools });
    const { error } = await failed.json();
    assert.deepEqual([failed.status, error.code], [502, "upstream_invalid_response"], model);
    assert.match(error.message, /no summary/);
    const row = await world().row(failed.headers.get("x-transaction-id"));
    assert.deepEqual([row.status, row.output_tokens], ["failed", 5]);
    const body = { model, input: conversation, tools, stream: true };
    const streamed = await (await world().post("/chat/v1/responses", body)).text();
    assert.match(streamed, /event: response\.failed/, model);
    assert.doesNotMatch(streamed, /output_item/);
  }
  world().play();
});

Deno.test("a summary made by hand is read like any text; what is none is 400 before a vendor is asked", async () => {
  const made = (value: string) => ({
    type: "compaction",
    encrypted_content: `gwenv1.${
      btoa(JSON.stringify({ version: 1, dialect: "responses", kind: "summary", value }))
    }`,
  });
  const model = "vendor-c/claude-haiku-4-5";
  const long = "long ".repeat(200_000);
  const input = [made(long), { role: "user", content: "Go on." }];
  const taken = await world().post("/chat/v1/responses", { model, input });
  assert.equal(taken.status, 200, await taken.text());
  assert.ok(world().last().body.includes(long));
  const before = world().vendor.requests.length;
  for (const encrypted_content of ["gwenv1.rubbish", "gAAA"]) {
    const item = { type: "compaction", encrypted_content };
    const refused = await world().post("/chat/v1/responses", { model, input: [...input, item] });
    const { error } = await refused.json();
    assert.equal(refused.status, 400);
    assert.match(error.param, /^input\[2\]/);
  }
  assert.equal(world().vendor.requests.length, before);
});

function anthropic(): Anthropic {
  const { baseUrl, key } = world();
  return new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
}

/** Models of all vendors but Anthropic; the last one's speaks messages, and knows no summaries. */
const others = ["vendor-b/gpt-4.1", ...models.slice(1), "vendor-f/openai/gpt-5-mini"];

type Turns = Anthropic.Beta.BetaMessageParam[];

Deno.test("a messages caller's conversation is summed up at any vendor, and goes on at any other", async () => {
  world().play(callingTool(() => undefined));
  const client = anthropic().beta.messages;
  const mend: Turns = [{ role: "user", content: "Mend the fence." }];
  for (const model of others) {
    for (const stream of [false, true]) {
      const compaction = { type: "summarize" as const };
      const asked = { model, max_tokens: 500, messages: mend, compaction };
      const answer = stream
        ? await client.stream(asked).finalMessage()
        : await client.create(asked);
      assert.match(world().last().body, /Mend the fence[^]*Write a summary/, model);
      assert.doesNotMatch(world().last().body, /compaction/);
      const content = [
        { type: "compaction", content: "Fine.", encrypted_content: null, signature: "" },
      ];
      assert.deepEqual([answer.stop_reason, answer.content], ["compaction", content], model);
      assert.equal(answer.usage.output_tokens, 5);
      for (const next of [...others, "vendor-c/claude-haiku-4-5"]) {
        const summary = { role: answer.role, content: answer.content } as Turns[number];
        // As `thread` does, and a caller may: what was summed up comes with the summary.
        const messages: Turns = [...mend, summary, { role: "user", content: "Go on." }];
        await client.create({ model: next, max_tokens: 500, messages });
        const { body } = world().last();
        assert.match(body, /replaced by this summary[^"]*Fine\./, next);
        assert.doesNotMatch(body, /compaction|Mend the fence/, next);
      }
    }
  }
  world().play();
});

Deno.test("the instructions of a messages caller replace the question", async () => {
  world().play(callingTool(() => undefined));
  const messages: Turns = [{ role: "user", content: "Mend the fence." }];
  const compaction = { type: "summarize" as const, instructions: "Only the fences." };
  await anthropic().beta.messages.create({
    model: others[0]!,
    max_tokens: 9,
    messages,
    compaction,
  });
  assert.match(world().last().body, /Only the fences\./);
  assert.doesNotMatch(world().last().body, /Write a summary/);
  world().play();
});

Deno.test("a tool runner compacts between two turns, and goes on without a summary if there is none", async () => {
  for (const summarizes of [true, false]) {
    const isQuestion = (body: string) => body.includes("Write a summary");
    const calling = callingTool(([first]) => first);
    const telling = callingTool(() => undefined);
    world().play((exchange) =>
      (summarizes && isQuestion(exchange.request.body) ? telling : calling)(exchange)
    );
    let runs = 0;
    const input_schema = { type: "object" as const, properties: {} };
    const tool = {
      name: "f",
      input_schema,
      run: () => `${++runs}`,
      parse: (input: unknown) => input,
    };
    const before = world().vendor.requests.length;
    const runner = anthropic().beta.messages.toolRunner({
      ...{ model: "acme/acme-1", max_tokens: 500, max_iterations: 3 },
      ...{ messages: [{ role: "user", content: "Mend the fence." }], tools: [tool] },
    });
    const blocks: string[] = [];
    for await (const { content } of runner) {
      if (blocks.length === 0) runner.compactBeforeNextTurn();
      blocks.push(content.map((block) => block.type).join());
    }
    assert.deepEqual(blocks.slice(0, 2), ["tool_use", "compaction"]);
    const [, asked, next] = world().vendor.requests.slice(before).map(({ body }) => body);
    assert.ok(isQuestion(asked!));
    assert.match(next!, summarizes ? /replaced by this summary[^"]*Fine\./ : /Mend the fence/);
    assert.equal(next!.includes("Mend the fence"), !summarizes);
  }
  world().play();
});
