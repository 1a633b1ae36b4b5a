/** Reasoning of callers who continue answers, where the vendor keeps nothing of them. */
import assert from "@std/assert";
import OpenAI from "openai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { shared, startSimulatedService } from "../support/service.ts";
import type { Json } from "./wire.ts";

const simulated = shared(() => startSimulatedService({}, { database: "any" }));

const sealedModel = "vendor-b/gpt-5.4";

function openai(): OpenAI {
  const { baseUrl, key } = simulated();
  return new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
}

/** What vendor-b received last. */
function lastSent(): Json & { input: Json[] } {
  return simulated().simulators.requests("vendor-b").at(-1)!.body as Json & { input: Json[] };
}

for (const stream of [false, true]) {
  const ask = async (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
    stream
      ? await openai().responses.stream({ ...body, stream: true }).finalResponse()
      : await openai().responses.create(body);

  Deno.test(`reasoning is sealed for previous_response_id, unseen by the caller (stream ${stream})`, async () => {
    const reasoning = { effort: "high", summary: "auto" } as const;
    const first = await ask({ model: sealedModel, reasoning, input: "My name is Ada." });
    assert.deepEqual([lastSent().store, lastSent().include], [
      false,
      ["reasoning.encrypted_content"],
    ]);
    const thought = first.output.find((item) => item.type === "reasoning")!;
    assert.ok(thought && !("encrypted_content" in thought), JSON.stringify(thought));
    assert.equal((first as unknown as Json).store, true);
    const kept = await openai().responses.retrieve(first.id);
    assert.ok(!JSON.stringify(kept).includes("encrypted_content"));
    const row = (await simulated().rows()).at(-1)!;
    assert.ok(!JSON.stringify(row.response).includes("encrypted_content"));

    const second = await ask({
      model: sealedModel,
      reasoning,
      input: "What is my name?",
      previous_response_id: first.id,
    });
    const given = lastSent().input.filter(({ type }) => type === "reasoning");
    assert.deepEqual(given.map(({ id }) => id), [thought.id]);
    assert.ok(typeof given[0]!.encrypted_content === "string", "it came back sealed");

    await ask({
      model: sealedModel,
      reasoning,
      input: "And now?",
      previous_response_id: second.id,
    });
    const both = lastSent().input.filter(({ type }) => type === "reasoning");
    assert.equal(both.length, 2, "none of it is lost on the way");
    assert.ok(both.every(({ encrypted_content }) => typeof encrypted_content === "string"));
  });

  Deno.test(`who gives the answer's items back by hand is understood (stream ${stream})`, async () => {
    const reasoning = { effort: "high" } as const;
    const first = await ask({ model: sealedModel, reasoning, input: "My name is Ada." });
    const input: ResponseInputItem[] = [
      { role: "user", content: "My name is Ada." },
      ...asSent(first.output),
      { role: "user", content: "What is my name?" },
    ];
    await ask({ model: sealedModel, reasoning, input });
    const given = lastSent().input.filter(({ type }) => type === "reasoning");
    assert.equal(given.length, 1);
    assert.ok(typeof given[0]!.encrypted_content === "string");
    // What nobody here sealed is left out: the vendor would look for it.
    const unknown = { type: "reasoning" as const, id: "rs_of_nobody", summary: [] };
    await ask({ model: sealedModel, reasoning, input: [unknown, ...input.slice(1)] });
    assert.ok(!JSON.stringify(lastSent().input).includes("rs_of_nobody"));
  });

  Deno.test(`who asks for sealed reasoning, or for nothing to be kept, gets it as asked (stream ${stream})`, async () => {
    const reasoning = { effort: "high" } as const;
    const include = ["reasoning.encrypted_content"] as const;
    const asked = await ask({ model: sealedModel, reasoning, input: "Hi.", include: [...include] });
    const thought = asked.output.find((item) => item.type === "reasoning")!;
    assert.ok("encrypted_content" in thought, JSON.stringify(thought));
    assert.deepEqual(lastSent().include, include);
    const unkept = await ask({ model: sealedModel, reasoning, input: "Hi.", store: false });
    assert.deepEqual([lastSent().store, "include" in lastSent()], [false, false]);
    assert.equal((unkept as unknown as Json).store, false);
  });
}

Deno.test("another account finds no sealed reasoning by an id", async () => {
  const { admin, createKey, baseUrl } = simulated();
  const made = await admin("account", "create", "--name", "others");
  const account = String((made.json as { id: number }).id);
  await admin("credits", "grant", "--usd", "5", "--account", account);
  const { key } = await createKey("--account", account);
  const mine = await openai().responses.create({
    model: sealedModel,
    reasoning: { effort: "high" },
    input: "My name is Ada.",
  });
  const other = new OpenAI({ baseURL: `${baseUrl}/chat/v1`, apiKey: key, maxRetries: 0 });
  const input = [...mine.output, { role: "user" as const, content: "Who am I?" }];
  await other.responses.create({ model: sealedModel, input: input as ResponseInputItem[] });
  assert.ok(lastSent().input.every(({ type }) => type !== "reasoning"));
});

/** Items as they were on the wire, without what the library adds. */
function asSent(items: unknown): ResponseInputItem[] {
  return JSON.parse(
    JSON.stringify(items, (key, value) => key.startsWith("parsed") ? undefined : value),
  );
}
