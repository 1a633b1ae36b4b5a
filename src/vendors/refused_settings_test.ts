import assert from "@std/assert";
import { finish } from "../base/steps.ts";
import { chat } from "../dialects/text/chat/mod.ts";
import { generate } from "../dialects/text/generate/mod.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import { createRegistry } from "./registry.ts";

const { find } = createRegistry({}, []);

/** What a vendor's model gets of a generate caller's settings, in both of its dialects. */
function sent(label: string, model: string, generationConfig: Record<string, unknown>) {
  const request = finish(generate.decodeRequest({
    model,
    stream: false,
    contents: [{ parts: [{ text: "Hi" }] }],
    generationConfig,
  }));
  const quirks = find(label)!.quirks;
  return [chat, responses].map((dialect) => {
    const target = { model, maxOutputTokens: undefined, quirks };
    const { body, losses } = finish(dialect.encodeRequest(request, target));
    return { body, losses: losses.map(({ path, weight }) => `${path} ${weight}`).toSorted() };
  });
}

const everything = {
  temperature: 0.7,
  topP: 0.95,
  topK: 64,
  frequencyPenalty: 0.5,
  presencePenalty: 0.5,
  stopSequences: ["END"],
};
const fields = ["temperature", "top_p", "stop", "frequency_penalty", "presence_penalty"];
const hints = Object.keys(everything).map((name) => `generationConfig.${name} hint`).toSorted();

for (
  const model of ["gpt-5-mini", "gpt-5.4", "gpt-5.6-sol", "gpt-6-sol", "gpt-10", "o3", "o4-mini"]
) {
  Deno.test(`${model} is sent no sampling, and each field is named`, () => {
    for (const { body, losses } of sent("vendor-b", model, everything)) {
      assert.deepEqual(fields.filter((field) => field in body), []);
      assert.deepEqual(losses, hints);
    }
  });
}

Deno.test("defaults are left out without a word", () => {
  const defaults = { temperature: 1, topP: 1, frequencyPenalty: 0, presencePenalty: 0 };
  for (const { body, losses } of sent("vendor-b", "gpt-5-mini", defaults)) {
    assert.deepEqual([fields.filter((field) => field in body), losses], [[], []]);
  }
});

Deno.test("from 5.1 to 5.9 sampling goes where reasoning is off", () => {
  const off = { ...everything, thinkingConfig: { thinkingBudget: 0 } };
  const kept = (model: string) =>
    sent("vendor-b", model, off).map(({ body }) => fields.filter((field) => field in body));
  assert.deepEqual(kept("gpt-5.4"), [["temperature", "top_p"], ["temperature", "top_p"]]);
  assert.deepEqual(kept("gpt-5-mini"), [[], []]);
  assert.deepEqual(kept("gpt-6-sol"), [[], []]);
});

Deno.test("models without reasoning, and other vendors', get what was asked", () => {
  const others = [
    ["vendor-b", "gpt-4.1"],
    ["vendor-b", "gpt-5-chat-latest"],
    ["vendor-a", "openai/gpt-oss-120b"],
    ["vendor-f", "openai/gpt-5-mini"],
    ["vendor-g", "grok-4-1-fast-non-reasoning"],
  ] as const;
  for (const [label, model] of others) {
    const [byChat] = sent(label, model, everything);
    assert.deepEqual(fields.filter((field) => field in byChat!.body), fields, model);
  }
});

Deno.test("vendor-g's reasoning models are sampled, but take no penalties and no stop", () => {
  for (const model of ["grok-4.3", "grok-4.7", "grok-3-mini"]) {
    const [byChat] = sent("vendor-g", model, everything);
    assert.deepEqual(fields.filter((field) => field in byChat!.body), ["temperature", "top_p"]);
  }
});

/** What is sent of a caller's thinking, by chat and by responses, and what is lost of it. */
function effortsSent(model: string, thinkingConfig: Record<string, unknown>) {
  const [byChat, byResponses] = sent("vendor-b", model, { thinkingConfig });
  assert.deepEqual(byResponses!.losses, byChat!.losses);
  const reasoning = byResponses!.body.reasoning as { effort?: string } | undefined;
  assert.equal(reasoning?.effort, byChat!.body.reasoning_effort);
  return { effort: reasoning?.effort, reasoning, losses: byChat!.losses };
}

for (
  const [model, none, minimal, high] of [
    ["gpt-5-mini", "minimal", "minimal", "high"],
    ["gpt-5-2025-08-07", "minimal", "minimal", "high"],
    ["gpt-5-codex", "low", "low", "high"],
    ["gpt-5-pro", "high", "high", "high"],
    ["gpt-5.1", "none", "low", "high"],
    ["gpt-5.1-codex-mini", "low", "low", "high"],
    ["gpt-5.4", "none", "low", "high"],
    ["o4-mini", "low", "low", "high"],
    // Of later models it isn't known what they refuse.
    ["gpt-6-sol", "none", "minimal", "high"],
  ] as const
) {
  Deno.test(`${model} gets an effort that it supports`, () => {
    assert.equal(effortsSent(model, { thinkingBudget: 0 }).effort, none);
    assert.equal(effortsSent(model, { thinkingLevel: "MINIMAL" }).effort, minimal);
    assert.equal(effortsSent(model, { thinkingLevel: "HIGH" }).effort, high);
    assert.deepEqual(effortsSent(model, { thinkingBudget: 0 }).losses, []);
    assert.equal(effortsSent(model, { includeThoughts: true }).effort, undefined);
  });
}

Deno.test("models without reasoning get no effort, which is a loss where one was requested", () => {
  for (const model of ["gpt-4.1", "gpt-4o-mini", "gpt-5-chat-latest", "gpt-5.2-chat-latest"]) {
    const asked = effortsSent(model, { thinkingLevel: "HIGH", includeThoughts: true });
    assert.equal(asked.reasoning, undefined, model);
    assert.deepEqual(asked.losses, ["generationConfig.thinkingConfig hint"]);
    const off = effortsSent(model, { thinkingBudget: 0 });
    assert.deepEqual([off.reasoning, off.losses], [undefined, []]);
  }
});

Deno.test("probabilities that were asked for are refused, not left out in silence", () => {
  const [byChat] = sent("vendor-b", "gpt-5-mini", { responseLogprobs: true, logprobs: 2 });
  assert.deepEqual(Object.keys(byChat!.body).filter((name) => name.includes("logprobs")), []);
  assert.deepEqual(byChat!.losses, ["generationConfig.responseLogprobs meaning"]);
});

Deno.test("a messages caller's stop sequences and temperature are hints too", () => {
  const request = finish(messages.decodeRequest({
    model: "gpt-5.6-sol",
    max_tokens: 99,
    temperature: 0.2,
    stop_sequences: ["END"],
    messages: [{ role: "user", content: "Hi" }],
  }));
  const { quirks } = find("vendor-b")!;
  for (const dialect of [chat, responses]) {
    const target = { model: "gpt-5.6-sol", maxOutputTokens: undefined, quirks };
    const { losses } = finish(dialect.encodeRequest(request, target));
    assert.deepEqual(losses.map(({ path, weight }) => `${path} ${weight}`), [
      "stop_sequences hint",
      "temperature hint",
    ]);
  }
});
