/** Schemas of tools and answers towards OpenAI, which refuses what other vendors take. */
import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { shared, simulatedEnvironment, startTestService } from "../support/service.ts";

const world = shared(async () => {
  const simulators = await startSimulators();
  // It speaks chat alone.
  const own = { label: "acme", base_url: simulators.vendors["vendor-b"].baseUrl };
  const row = { ...own, api_key_env: "ACME_KEY", aliases: [], dialects: ["chat"], auth: "bearer" };
  const folder = await Deno.makeTempDir();
  const [vendors, prices] = [`${folder}/vendors.json`, `${folder}/prices.json`];
  await Deno.writeTextFile(vendors, JSON.stringify([row]));
  const price = { "acme/gpt-4.1": { input: "1", output: "2" } };
  await Deno.writeTextFile(prices, JSON.stringify(price));
  const env = simulatedEnvironment(simulators);
  const service = await startTestService({
    env: { ...env, ACME_KEY: env.VENDOR_B_API_KEY!, VENDORS_FILE: vendors, PRICES_FILE: prices },
  });
  const stop = async () => {
    await service.stop();
    await simulators.close();
    await Deno.remove(folder, { recursive: true });
  };
  return { service, stop };
});

const branch = (name: string) => ({ properties: { [name]: { type: "string" } }, required: [name] });

const schemas: Readonly<Record<string, Record<string, unknown>>> = {
  "an object without properties": { type: "object" },
  "branches at the top": { type: "object", anyOf: [branch("id"), branch("name")] },
  "rules for the whole at the top": {
    ...{ type: "object", properties: { id: { type: "string" }, name: { type: "string" } } },
    ...{ not: { required: ["id", "name"] }, enum: [{ id: "1" }, { name: "x" }] },
  },
  "a reference at the top": { $ref: "#/$defs/it", $defs: { it: { type: "object" } } },
  "arrays of anything": {
    type: "object",
    properties: {
      tags: { type: "array" },
      either: { type: ["string", "array"] },
      nested: { anyOf: [{ type: "array" }, { type: "null" }] },
    },
  },
  "tuples of both drafts": {
    type: "object",
    properties: {
      old: { type: "array", items: [{ type: "string" }, { type: "number" }] },
      new: { type: "array", prefixItems: [{ type: "string" }] },
    },
  },
};

// The first is called by responses.
for (const model of ["openai/gpt-5.6-sol", "acme/gpt-4.1"]) {
  for (const [name, schema] of Object.entries(schemas)) {
    Deno.test(`${name}: ${model} takes the tool of a messages and a generate caller`, async () => {
      const { service } = world();
      const messages = await service.post("/chat/v1/messages", {
        ...{ model, max_tokens: 100, messages: [{ role: "user", content: "Go" }] },
        tools: [{ name: "f", input_schema: schema }],
      });
      assert.equal(messages.status, 200, await messages.text());
      const generate = await service.post(`/chat/v1/models/${model}:generateContent`, {
        contents: [{ parts: [{ text: "Go" }] }],
        tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: schema }] }],
      });
      assert.equal(generate.status, 200, await generate.text());
    });
  }

  const answerSchemas: [string, Record<string, unknown>][] = [
    ["arrays of anything", schemas["arrays of anything"]!],
    ["a list", { type: "array", items: branch("name"), minItems: 1 }],
    ["a choice between objects", { anyOf: [branch("id"), branch("name")] }],
    ["an object without its type", branch("id")],
    ["a recursive object, as pydantic writes it", {
      $ref: "#/$defs/Node",
      $defs: {
        Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } }, required: [] },
      },
    }],
  ];
  for (const [name, schema] of answerSchemas) {
    Deno.test(`${name}: ${model} takes the answer's schema of a generate caller`, async () => {
      const { service } = world();
      const path = `/chat/v1/models/${model}`;
      const body = {
        contents: [{ parts: [{ text: "Go" }] }],
        generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema },
      };
      const whole = await service.post(`${path}:generateContent`, body);
      assert.equal(whole.status, 200, await whole.clone().text());
      const streamed = await service.post(`${path}:streamGenerateContent`, body);
      const elements: Answer[] = [await whole.json(), ...await streamed.json()];
      const texts = elements.map(({ candidates }) => candidates[0]!.content.parts[0]?.text ?? "");
      for (const text of [texts[0]!, texts.slice(1).join("")]) {
        assert.equal(Array.isArray(JSON.parse(text)), schema.type === "array", text);
      }
    });
  }

  Deno.test(`an optional property: ${model} takes what a messages caller has strict`, async () => {
    const schema = { type: "object", ...branch("id"), additionalProperties: false };
    const optional = { ...schema, properties: { ...schema.properties, name: { type: "string" } } };
    const losses = "output_config.format,tools[0].strict";
    for (const [one, lost] of [[schema, null], [optional, losses]] as const) {
      const answer = await world().service.post("/chat/v1/messages", {
        ...{ model, max_tokens: 100, messages: [{ role: "user", content: "Go" }] },
        output_config: { format: { type: "json_schema", schema: one } },
        tools: [{ name: "f", strict: true, input_schema: one }],
      });
      assert.equal(answer.status, 200, await answer.text());
      assert.equal(answer.headers.get("x-translation-loss"), lost);
    }
  });
}

interface Answer {
  candidates: { content: { parts: { text?: string }[] } }[];
}
