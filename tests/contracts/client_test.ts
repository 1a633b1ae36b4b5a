import assert from "@std/assert";
import { CallError, createClient } from "../../contracts/client.ts";
import { contracts, familyContracts } from "../../contracts/mod.ts";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());
const api = () => service().api();
const messages = [{ role: "user" as const, content: "[say:Hello.]" }];

Deno.test("the endpoints of the contracts are called, and their answers are what they say", async () => {
  const { status, body } = await api().status();
  assert.deepEqual([status, body.status], [200, "ok"]);
  const chat = await api().unifiedChat({ body: { model: "vendor-b/gpt-4.1", messages } });
  assert.equal(chat.body.choices[0]?.message.content, "Hello.");
  assert.ok(chat.headers.get("x-transaction-id"));
  const content = await api().unifiedGenerate.whole({
    params: { model: "vendor-b/gpt-4.1" },
    body: { contents: [{ parts: [{ text: "[say:Hello.]" }] }] },
  });
  assert.equal(content.body.candidates?.[0]?.content?.parts?.[0]?.text, "Hello.");
  const export_ = await api().createExport({ body: { start_date: "2020-01-01T00:00:00Z" } });
  assert.equal(JSON.parse(export_.body).length, 2);
});

Deno.test("a vendor's family is called by its contracts, which are made from its row", async () => {
  const family = vendorFamilies.find(({ label }) => label === "vendor-c")!;
  const { baseUrl, key: apiKey } = service();
  const client = createClient(familyContracts(family), { baseUrl, apiKey });
  assert.equal("chat" in client && client.chat, undefined);
  const body = { model: "claude-haiku-4-5", max_tokens: 64, messages };
  const answer = await client.messages!.create({ body });
  assert.equal(answer.body.role, "assistant");
});

Deno.test("an error is thrown with its code, and returned as it is by raw", async () => {
  const wrong = { body: { model: "vendor-b/none", messages } };
  const thrown = await api().unifiedChat(wrong).catch((reason: unknown) => reason);
  if (!(thrown instanceof CallError)) throw thrown;
  assert.deepEqual([thrown.status, thrown.code], [404, "model_not_found"]);
  const raw = await api().unifiedChat.raw(wrong);
  assert.equal(raw.status, 404);
  assert.equal((await raw.json()).error.param, "model");
});

Deno.test("an answer that isn't what its contract says is an error", async () => {
  const lying = createClient(contracts, {
    baseUrl: "http://service",
    fetch: () => Promise.resolve(Response.json({ status: "fine" })),
  });
  await assert.rejects(lying.livez(), { name: "ZodError" });
});

Deno.test("parameters that need it are escaped", async () => {
  const seen: string[] = [];
  const client = createClient(contracts, {
    baseUrl: "http://service",
    fetch(url) {
      seen.push(url);
      return Promise.resolve(Response.json({}));
    },
  });
  await client.getCohort.raw({ params: { cohort_id: "a/ü?" }, query: { compare: "b c&d" } });
  assert.deepEqual(seen, ["http://service/api/v1/cohort/a%2F%C3%BC%3F?compare=b+c%26d"]);
});
