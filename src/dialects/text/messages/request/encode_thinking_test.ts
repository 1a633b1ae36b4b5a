import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import {
  call,
  canonicalRequest,
  result,
  turn,
  user,
} from "../../../../../tests/support/canonical_request.ts";
import { acceptedByMessagesVendor } from "../../../../../tests/support/messages_vendor.ts";
import type { CanonicalRequest, Reasoning } from "../../../kernel/canonical_request.ts";
import { messages } from "../mod.ts";

/** `thinking`, effort, max_tokens and losses as they are sent. */
function plan(
  reasoning: Reasoning,
  model = "claude-haiku-4-5",
  changes: Partial<CanonicalRequest> = {},
): unknown[] {
  const request = canonicalRequest({
    turns: [user("Hi")],
    reasoning,
    paths: { reasoning: "reasoning_effort" },
    ...changes,
  });
  const target = { model, maxOutputTokens: undefined };
  const { body, losses } = finish(messages.encodeRequest(request, target));
  const isSimulated = !/sonnet-4-5|fable-5$|claude-3|other/.test(model);
  if (isSimulated) acceptedByMessagesVendor(body);
  const config = body.output_config as { effort?: string } | undefined;
  return [body.thinking, config?.effort, body.max_tokens, losses.map(({ path }) => path)];
}

const adaptive = { type: "adaptive" };
const lost = ["reasoning_effort"];

Deno.test("efforts become budgets on models that count them", () => {
  const budgets: [Reasoning["effort"], number][] = [
    ["minimal", 1_024],
    ["low", 1_024],
    ["medium", 4_096],
    ["high", 16_384],
    ["xhigh", 32_768],
    ["max", 32_000],
  ];
  for (const [effort, budget] of budgets) {
    assert.deepEqual(plan({ effort: effort! }, "claude-sonnet-4-5"), [
      { type: "enabled", budget_tokens: budget },
      undefined,
      64_000,
      [],
    ]);
  }
});

Deno.test("efforts stay efforts on adaptive models, the nearest where one is missing", () => {
  const effort = (reasoning: Reasoning, model: string) => plan(reasoning, model).slice(0, 2);
  assert.deepEqual(effort({ effort: "xhigh", show: true }, "claude-opus-5"), [
    { ...adaptive, display: "summarized" },
    "xhigh",
  ]);
  assert.deepEqual(effort({ effort: "xhigh" }, "claude-sonnet-4-6"), [adaptive, "max"]);
  assert.deepEqual(effort({ effort: "minimal", show: false }, "claude-opus-5-5"), [
    { ...adaptive, display: "omitted" },
    "low",
  ]);
});

Deno.test("a budget in tokens is sent as it is where the model takes one, else as an effort", () => {
  assert.deepEqual(plan({ budgetTokens: 5_000 })[0], { type: "enabled", budget_tokens: 5_000 });
  assert.deepEqual(plan({ budgetTokens: 10 })[0], { type: "enabled", budget_tokens: 1_024 });
  const efforts = [1_500, 5_000, 9_000].map((budgetTokens) =>
    plan({ budgetTokens }, "claude-opus-5-5")[1]
  );
  assert.deepEqual(efforts, ["low", "medium", "high"]);
  assert.deepEqual(plan({ budgetTokens: -1 }), [undefined, undefined, 64_000, []]);
});

Deno.test("the budget lies below max_tokens, or thinking is dropped and reported", () => {
  const bounded = (maxOutputTokens: number) =>
    plan({ effort: "high" }, undefined, { maxOutputTokens });
  assert.deepEqual(bounded(1_000), [undefined, undefined, 1_000, lost]);
  assert.deepEqual(bounded(5_000)[0], { type: "enabled", budget_tokens: 4_999 });
  // Without any limit known the room for thinking is added.
  assert.deepEqual(plan({ effort: "medium" }, "other"), [
    { type: "enabled", budget_tokens: 4_096 },
    undefined,
    8_192,
    [],
  ]);
});

Deno.test("none switches thinking off, as far as the model lets it", () => {
  const off = (model: string) => plan({ effort: "none" }, model);
  assert.deepEqual(off("claude-opus-5")[0], { type: "disabled" });
  assert.deepEqual(plan({ budgetTokens: 0 }, "claude-haiku-4-5")[0], { type: "disabled" });
  assert.deepEqual(off("claude-sonnet-5-5")[0], { type: "between_tools" });
  assert.deepEqual(off("claude-opus-5-5"), [undefined, "low", 128_000, lost]);
  assert.deepEqual(off("claude-3-haiku-20240307"), [undefined, undefined, 4_096, []]);
});

Deno.test("a model without thinking reports the wish as lost; showing alone asks for nothing", () => {
  assert.deepEqual(plan({ effort: "high" }, "claude-3-5-haiku"), [
    undefined,
    undefined,
    8_192,
    lost,
  ]);
  assert.deepEqual(plan({ show: true }), [undefined, undefined, 64_000, []]);
});

Deno.test("a forced tool drops thinking, the effort stays where there is one", () => {
  const changes: Partial<CanonicalRequest> = {
    tools: [{ type: "function", name: "f", path: "t" }],
    toolChoice: { mode: "required" },
  };
  assert.deepEqual(plan({ effort: "high" }, undefined, changes), [
    undefined,
    undefined,
    64_000,
    lost,
  ]);
  assert.deepEqual(plan({ effort: "high" }, "claude-opus-5", changes).slice(0, 2), [
    undefined,
    "high",
  ]);
});

Deno.test("a tool call without its thinking in the last answer switches a budget off", () => {
  const thinking = {
    type: "reasoning",
    text: "hm",
    opaque: { dialect: "messages", kind: "signature", value: "s" },
    path: "x",
  } as const;
  const turns = (...before: typeof thinking[]) => [
    user("go"),
    turn("assistant", ...before, call("a", "f")),
    turn("user", result("a", "1")),
  ];
  const tools: CanonicalRequest["tools"] = [{ type: "function", name: "f", path: "t" }];
  assert.deepEqual(plan({ effort: "high" }, undefined, { turns: turns(), tools }), [
    { type: "disabled" },
    undefined,
    64_000,
    lost,
  ]);
  const sealed = plan({ effort: "low" }, undefined, { turns: turns(thinking), tools });
  assert.deepEqual(sealed[0], { type: "enabled", budget_tokens: 1_024 });
  // An adaptive model calls tools without thinking too, so it isn't demanded of the history.
  for (const model of ["claude-opus-5-5", "claude-opus-4-8", "claude-sonnet-4-6"]) {
    const free = plan({ effort: "low" }, model, { turns: turns(), tools });
    assert.deepEqual([free[0], free[1], free[3]], [adaptive, "low", []], model);
  }
  // Where a budget would be refused, such a model thinks as much as it likes.
  const counted = plan({ budgetTokens: 2_000 }, "claude-sonnet-4-6", { turns: turns(), tools });
  assert.deepEqual([counted[0], counted[1], counted[3]], [adaptive, "low", []]);
  // Nothing is lost where nothing but the sight of reasoning was requested.
  const shown = plan({ show: true }, undefined, { turns: turns(), tools });
  assert.deepEqual([shown[0], shown[3]], [undefined, []]);
});

Deno.test("thinking takes no sampling but the defaults", () => {
  const request = canonicalRequest({
    turns: [user("Hi")],
    reasoning: { effort: "low" },
    temperature: 0.2,
    topP: 0.5,
    topK: 4,
  });
  const target = { model: "claude-haiku-4-5", maxOutputTokens: undefined };
  const { body, losses } = finish(messages.encodeRequest(request, target));
  assert.deepEqual(["temperature", "top_p", "top_k"].filter((one) => one in body), []);
  assert.deepEqual(losses.map(({ path }) => path), ["temperature", "topP", "topK"]);
  const wide = finish(messages.encodeRequest({ ...request, topP: 0.97 }, target));
  assert.equal(wide.body.top_p, 0.97);
});
