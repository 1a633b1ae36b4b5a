/** Settings and tools towards generate vendors: pitfalls B of protocols/pitfalls.md, by number. */
import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import {
  assistant,
  call,
  canonicalRequest,
  result,
  turn,
  user,
} from "../../../../tests/support/canonical_request.ts";
import type { CanonicalRequest } from "../../kernel/canonical_request.ts";
import { encodeRequest } from "./request_encoder.ts";

Deno.test("a tool without parameters declares none (40)", () => {
  const tools: CanonicalRequest["tools"] = [
    { type: "function", name: "f", path: "tools[0]" },
    {
      type: "function",
      name: "g",
      parameters: { type: "object", properties: {} },
      path: "tools[1]",
    },
  ];
  for (const model of ["gemini-3-flash", "gemini-2.0-flash"]) {
    assert.deepEqual(encode({ turns: [user("x")], tools }, model).body.tools, [{
      functionDeclarations: [{ name: "f", description: "" }, { name: "g", description: "" }],
    }]);
  }
});

Deno.test("no tools, no tools and no toolConfig (43)", () => {
  const { body } = encode({ turns: [user("x")], tools: [], toolChoice: { mode: "required" } });
  assert.deepEqual(Object.keys(body), ["contents"]);
});

Deno.test("tool choice in all its forms; strict means VALIDATED (44)", () => {
  const tools = ["f", "g"].map((name) => ({ type: "function" as const, name, path: name }));
  const config = (toolChoice?: CanonicalRequest["toolChoice"], strict = false) => {
    const given = strict ? tools.map((tool) => ({ ...tool, strict })) : tools;
    const { body } = encode({
      turns: [user("x")],
      tools: given,
      ...(toolChoice ? { toolChoice } : {}),
    });
    const { functionCallingConfig } = (body.toolConfig ?? {}) as Record<string, unknown>;
    const sent = body.tools as { functionDeclarations: { name: string }[] }[];
    return [functionCallingConfig, sent[0]!.functionDeclarations.map(({ name }) => name).join("")];
  };
  assert.deepEqual(config(), [undefined, "fg"]);
  assert.deepEqual(config({ mode: "auto" }), [{ mode: "AUTO" }, "fg"]);
  assert.deepEqual(config({ mode: "none" }), [{ mode: "NONE" }, "fg"]);
  assert.deepEqual(config({ mode: "required" }), [{ mode: "ANY" }, "fg"]);
  assert.deepEqual(config({ mode: "required", names: ["g"] }), [
    { mode: "ANY", allowedFunctionNames: ["g"] },
    "fg",
  ]);
  assert.deepEqual(config({ mode: "auto", names: ["g"] }), [{ mode: "AUTO" }, "g"]);
  assert.deepEqual(config(undefined, true), [{ mode: "VALIDATED" }, "fg"]);
});

Deno.test("penalties are dropped on 2.5 with a warning, kept elsewhere (45)", () => {
  const request = { turns: [user("x")], frequencyPenalty: 1, presencePenalty: 0 };
  const old = encode(request, "gemini-2.5-flash");
  assert.equal(old.body.generationConfig, undefined);
  assert.deepEqual(old.losses, [{ path: "frequencyPenalty", weight: "hint" }]);
  const other = encode(request, "gemini-3-flash");
  assert.deepEqual(other.body.generationConfig, { frequencyPenalty: 1 });
  assert.deepEqual(other.losses, []);
});

Deno.test("effort becomes a budget or a level, never both (46)", () => {
  const thinking = (model: string, reasoning: CanonicalRequest["reasoning"]) => {
    const { body } = encode({ turns: [user("x")], ...(reasoning ? { reasoning } : {}) }, model);
    return ((body.generationConfig ?? {}) as Record<string, unknown>).thinkingConfig;
  };
  assert.deepEqual(thinking("gemini-2.5-flash", { effort: "none" }), { thinkingBudget: 0 });
  assert.deepEqual(thinking("gemini-2.5-pro", { effort: "none" }), { thinkingBudget: 128 });
  assert.deepEqual(thinking("gemini-2.5-pro", { effort: "xhigh" }), { thinkingBudget: 32_768 });
  assert.deepEqual(thinking("gemini-2.5-flash", { effort: "medium", show: true }), {
    thinkingBudget: 8192,
    includeThoughts: true,
  });
  assert.deepEqual(thinking("gemini-2.5-flash", { budgetTokens: 99_999 }), {
    thinkingBudget: 24_576,
  });
  assert.deepEqual(thinking("gemini-3-flash", { effort: "none" }), { thinkingLevel: "MINIMAL" });
  assert.deepEqual(thinking("gemini-3-pro-preview", { effort: "medium" }), {
    thinkingLevel: "HIGH",
  });
  assert.deepEqual(thinking("gemini-4-argon", { effort: "none" }), { thinkingLevel: "LOW" });
  assert.deepEqual(thinking("gemini-4-argon", { budgetTokens: 4096 }), { thinkingLevel: "MEDIUM" });
  assert.deepEqual(thinking("gemini-4-argon", { show: true }), { includeThoughts: true });
  assert.equal(thinking("gemini-2.0-flash", { effort: "high", show: true }), undefined);
  // The vendor refuses to show thoughts where thinking is off.
  assert.deepEqual(thinking("gemini-2.5-flash", { effort: "none", show: true }), {
    thinkingBudget: 0,
  });
  assert.deepEqual(thinking("gemini-2.5-pro", { effort: "none", show: true }), {
    thinkingBudget: 128,
    includeThoughts: true,
  });
});

Deno.test("at most five stop sequences are sent, a sixth is a loss of meaning (47)", () => {
  const { body, losses } = encode({
    turns: [user("x")],
    stop: ["a", "", "b", "c", "d", "e", "f"],
    paths: { stop: "stop" },
  });
  assert.deepEqual(body.generationConfig, { stopSequences: ["a", "b", "c", "d", "e"] });
  assert.deepEqual(losses, [{ path: "stop", weight: "meaning" }]);
});

Deno.test("a seed beyond 32 bits is dropped (48)", () => {
  const { body, losses } = encode({ turns: [user("x")], seed: 5_000_000_000 });
  assert.equal(body.generationConfig, undefined);
  assert.deepEqual(losses, [{ path: "seed", weight: "hint" }]);
  const kept = encode({ turns: [user("x")], seed: -5 }).body.generationConfig;
  assert.deepEqual(kept, { seed: -5 });
});

Deno.test("structured output: own field from 2.5, subset before, words beside functions before 3", () => {
  const schema = { type: "object", properties: { a: { type: ["string", "null"] } } };
  const format = { type: "json-schema" as const, name: "x", schema };
  const tools = [{ type: "function" as const, name: "f", path: "t" }];
  const config = (model: string, withTools = false) => {
    const { body, emulations } = encode(
      { turns: [user("x")], format, ...(withTools ? { tools } : {}) },
      model,
    );
    const { systemInstruction, generationConfig } = body;
    return { systemInstruction, generationConfig, stripFence: emulations.stripFence };
  };
  assert.deepEqual(config("gemini-2.5-flash"), {
    systemInstruction: undefined,
    generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema },
    stripFence: false,
  });
  assert.deepEqual(config("gemini-2.0-flash").generationConfig, {
    responseMimeType: "application/json",
    responseSchema: { type: "OBJECT", properties: { a: { type: "STRING", nullable: true } } },
  });
  const worded = config("gemini-2.5-flash", true);
  assert.equal(worded.generationConfig, undefined);
  assert.match(JSON.stringify(worded.systemInstruction), /JSON Schema/);
  assert.equal(worded.stripFence, true);
  assert.notEqual(config("gemini-3-flash", true).generationConfig, undefined);
});

Deno.test("names that the vendor refuses get aliases, in tools, choice and history", () => {
  const { body, emulations } = encode({
    turns: [user("go"), assistant(call("a", "1st tool")), turn("user", result("a", "x"))],
    tools: [{ type: "function", name: "1st tool", path: "t" }],
    toolChoice: { mode: "required", names: ["1st tool"] },
  });
  assert.deepEqual(emulations.toolNames, { _1st_tool: "1st tool" });
  assert.equal(JSON.stringify(body).match(/"_1st_tool"/g)?.length, 4);
  assert.doesNotMatch(JSON.stringify(body), /1st tool/);
});

Deno.test("a custom tool is a function with one string, its grammar a sentence", () => {
  const grammar = { type: "grammar", grammar: { syntax: "lark", definition: "start: x" } };
  const { body, emulations, losses } = encode({
    turns: [
      user("go"),
      assistant({ ...call("a", "sh"), arguments: "ls -l", custom: true }),
      turn("user", result("a", "x")),
    ],
    tools: [
      { type: "custom", name: "sh", description: "Runs.", format: grammar, path: "tools[0]" },
      { type: "custom", name: "note", format: { type: "text" }, path: "tools[1]" },
    ],
  });
  assert.deepEqual(emulations.customTools, ["sh", "note"]);
  assert.match(JSON.stringify(body), /"args":\{"input":"ls -l"\}/);
  const [{ functionDeclarations: [bound, free] }] = body.tools as [
    { functionDeclarations: { description: string }[] },
  ];
  assert.match(String(bound?.description), /^Runs\.\nThe input must have this format: .*start: x/);
  assert.equal(free?.description, "", "free text is what every custom tool takes");
  assert.deepEqual(losses, []);
});

Deno.test("what has no field here is listed in the caller's words, and never sent", () => {
  const { body, losses } = encode({
    turns: [user("x")],
    user: "u",
    metadata: { k: "v" },
    verbosity: "low",
    logitBias: { "5": 1 },
    serviceTier: "scale",
    temperature: 3,
    maxOutputTokens: 999_999,
    unsupported: [{ path: "prediction", value: {}, weight: "hint" }],
    paths: { user: "safety_identifier", logitBias: "logit_bias", serviceTier: "service_tier" },
  }, "gemini-3-flash");
  assert.deepEqual(body.generationConfig, { maxOutputTokens: 65_536, temperature: 2 });
  assert.deepEqual(Object.keys(body), ["contents", "generationConfig"]);
  assert.deepEqual(losses.map(({ path, weight }) => `${path} ${weight}`).sort(), [
    "logit_bias meaning",
    "metadata hint",
    "prediction hint",
    "safety_identifier hint",
    "service_tier hint",
    "verbosity hint",
  ]);
});

Deno.test("a limit above what a model gives is lowered, also where no price row says how much", () => {
  const limitOf = (model: string, maxOutputTokens: number) => {
    const request = canonicalRequest({ model, turns: [user("x")], maxOutputTokens });
    const { body } = finish(encodeRequest(request, { model, maxOutputTokens: undefined }));
    return (body.generationConfig as { maxOutputTokens: number }).maxOutputTokens;
  };
  assert.equal(limitOf("gemini-3.8-flash", 128_000), 65_536);
  assert.equal(limitOf("gemini-3.8-flash", 4_000), 4_000);
  // Nothing is known of the most that these give.
  assert.equal(limitOf("gemma-4-31b-it", 128_000), 128_000);
});

function encode(request: Partial<CanonicalRequest>, model = "gemini-3.1-pro-preview") {
  return finish(encodeRequest(canonicalRequest({ model, ...request }), {
    model,
    maxOutputTokens: 65_536,
  }));
}
