/** The cost of a call in which another model wrote an SVG, as OpenAI's library makes it. */
import assert from "@std/assert";
import OpenAI from "openai";
import { shared } from "../support/service.ts";
import { responsesAnswer, startTodaysVendors } from "../support/todays_vendors.ts";

const world = shared(startTodaysVendors);

const svgUsage = {
  ...{ model: "gpt-5.5", input_tokens: 1000, output_tokens: 2000, total_tokens: 3000 },
  reasoning_tokens: 500,
};
const answer = {
  ...responsesAnswer,
  model: "gpt-5-mini",
  tools: [{ type: "image_generation", model: "gpt-image-2", output_format: "svg" }],
  tool_usage: { image_gen: { input_tokens: 100, output_tokens: 100, total_tokens: 200 } },
  output: [{
    ...{ type: "image_generation_call", id: "ig_1", status: "completed", result: "PHN2Zz4=" },
    svg_usage: svgUsage,
  }],
  usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
};

const request = {
  model: "gpt-5-mini",
  input: "Draw the sea.",
  tools: [{ type: "image_generation", output_format: "svg" }],
} as const;

const clientWith = (apiKey: string) =>
  new OpenAI({ apiKey, baseURL: `${world().baseUrl}/vendor-b/v1`, maxRetries: 0 });

for (const stream of [false, true]) {
  Deno.test(`the record's cost includes the SVG's author${stream ? " in a stream" : ""}`, async () => {
    world().play((exchange) =>
      stream
        ? exchange.stream([
          `data: ${JSON.stringify({ type: "response.completed", response: answer })}\n\n`,
        ], { "content-type": "text/event-stream" })
        : exchange.answer(200, answer)
    );
    const client = clientWith(`${world().key};sk-of-the-caller`);
    const body = { ...request, tools: [...request.tools], stream };
    const { data, response } = await client.responses.create(body).withResponse();
    if (Symbol.asyncIterator in data) { for await (const _ of data) { /* to the end */ } }
    const row = await world().row(response.headers.get("x-transaction-id"));
    assert.deepEqual(
      [row.cost_usd, row.input_tokens, row.output_tokens, row.reasoning_tokens],
      ["0.068525000", 1120, 2110, 500],
    );
    assert.equal(row.charged_usd, "0.000000000");
  });
}

Deno.test("an SVG's author alone is priced once, where the images' own tokens aren't reported", async () => {
  const { tool_usage: _, ...bare } = answer;
  world().play((exchange) => exchange.answer(200, bare));
  const client = clientWith(`${world().key};sk-of-the-caller`);
  const { response } = await client.responses.create({ ...request, tools: [...request.tools] })
    .withResponse();
  const row = await world().row(response.headers.get("x-transaction-id"));
  assert.deepEqual([row.cost_usd, row.input_tokens, row.output_tokens, row.billing_basis], [
    "0.065025000",
    1020,
    2010,
    "reported",
  ]);
});

Deno.test("with the service's key an SVG is refused, since its author's tokens have no limit", async () => {
  world().play((exchange) => exchange.answer(200, answer));
  await assert.rejects(
    clientWith(world().key).responses.create({ ...request, tools: [...request.tools] }),
    { status: 400, code: "unsupported_parameter" },
  );
});
