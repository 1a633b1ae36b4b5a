import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import { readRequest, spliceRequest } from "./splice.ts";
import { countTokensPath, upstreamPath } from "./models.ts";

const contents = [{ role: "user", parts: [{ text: "hi" }] }];

Deno.test("facts are read from the body and the two members that the route adds", () => {
  const facts = readRequest({
    model: "models/gemini-x",
    stream: true,
    contents,
    generation_config: { maxOutputTokens: 10, candidateCount: 3 },
  });
  assert.deepEqual(facts, {
    model: "gemini-x",
    stream: true,
    wantsStreamUsage: true,
    endUser: undefined,
    maxOutputTokens: 30,
    choices: 3,
    serviceTier: undefined,
    tags: {},
    tagBlocks: [],
  });
});

Deno.test("a vendor that must store nothing is not asked to store", () => {
  const keepNothing = { sealReasoning: false };
  const text = `{"store":true,"contents":[]}`;
  const facts = readRequest({ model: "m", stream: false, contents });
  const sent = (more = {}) =>
    finish(spliceRequest(text, facts, { model: "m", askStreamUsage: false, ...more }));
  assert.equal(sent({ keepNothing }), text.replace("true", "false"));
  assert.equal(sent(), text);
});

Deno.test("tag lines of system and first user text are cut, the rest stays byte for byte", () => {
  const text = `{ "system_instruction":{"parts":[{"text":"/// APP a\\nbe \\u006bind"}]},
    "contents":[{"role":"model","parts":[{"text":"/// APP no"}]},
      {"parts":[{"inlineData":{"mimeType":"x","data":""}},{"text":"/// FLOW f\\r\\n/// APP b\\nhi"}]}],
    "big": 12345678901234567890, "one": 1.0 }`;
  const body = { ...JSON.parse(text), model: "m", stream: false };
  const facts = readRequest(body);
  assert.deepEqual(facts.tags, { app: "a", flow: "f" });
  const spliced = finish(spliceRequest(text, facts, { model: "m", askStreamUsage: true }));
  assert.equal(
    spliced,
    text.replace("/// APP a\\n", "").replace("/// FLOW f\\r\\n/// APP b\\n", ""),
  );
});

Deno.test("tag lines are cut where one object stands in place of a list", () => {
  const text = `{"system_instruction": {"parts": {"text": "/// APP a\\nYou are a cat."}},
    "contents": {"parts": {"text": "/// FLOW f\\nHello"}}}`;
  const facts = readRequest({ ...JSON.parse(text), model: "m", stream: false });
  assert.deepEqual(facts.tags, { app: "a", flow: "f" });
  assert.equal(
    finish(spliceRequest(text, facts, { model: "m", askStreamUsage: true })),
    text.replace("/// APP a\\n", "").replace("/// FLOW f\\n", ""),
  );
});

Deno.test("without tags the text is the very same; a model in it is exchanged, none is added", () => {
  const facts = readRequest({ model: "vendor-d/x", stream: false, contents });
  const plain = JSON.stringify({ contents });
  const changes = { model: "x", askStreamUsage: true };
  assert.equal(finish(spliceRequest(plain, facts, changes)), plain);
  assert.equal(
    finish(spliceRequest(`{"model":"models/vendor-d/x","contents":[]}`, facts, changes)),
    `{"model":"models/x","contents":[]}`,
  );
});

Deno.test("a field that is there in both spellings is refused", () => {
  const facts = readRequest({ model: "x", stream: false, contents });
  const text = `{"generationConfig":{},"generation_config":{}}`;
  assert.throws(
    () => finish(spliceRequest(text, facts, { model: "x", askStreamUsage: false })),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "invalid_value",
  );
});

Deno.test("a limit that is there in both spellings is refused: the vendor might go by the other", () => {
  for (
    const [field, config] of [
      ["max_output_tokens", { maxOutputTokens: 1, max_output_tokens: 65_536 }],
      ["max_output_tokens", { max_output_tokens: 65_536, maxOutputTokens: 1 }],
      ["candidate_count", { candidateCount: 1, candidate_count: 8 }],
    ] as const
  ) {
    assert.throws(
      () => readRequest({ model: "gemini-x", contents, generationConfig: config }),
      (thrown: unknown) => thrown instanceof Fault && thrown.param === `generationConfig.${field}`,
    );
  }
});

Deno.test("more candidates than a call's reservation counts are refused, as chat's n is", () => {
  const read = (candidateCount: unknown) =>
    readRequest({ model: "gemini-x", contents, generationConfig: { candidateCount } }).choices;
  assert.equal(read(128), 128);
  for (const count of [129, "129", 1e300]) {
    assert.throws(() => read(count), {
      code: "invalid_value",
      param: "generationConfig.candidateCount",
    });
  }
});

Deno.test("a prompt of nothing but tags is refused with its path", () => {
  assert.throws(
    () =>
      readRequest({
        model: "x",
        stream: false,
        contents: [{ parts: [{ text: "/// APP a" }] }],
      }),
    (thrown: unknown) => thrown instanceof Fault && thrown.param === "contents[0].parts[0].text",
  );
});

Deno.test("paths hold the model once, encoded, and never lead elsewhere (52)", () => {
  assert.equal(upstreamPath("gemini-x", false), "/models/gemini-x:generateContent");
  assert.equal(
    upstreamPath("models/models/gemini-x", true),
    "/models/gemini-x:streamGenerateContent?alt=sse",
  );
  assert.equal(upstreamPath("tunedModels/mine", false), "/tunedModels/mine:generateContent");
  assert.equal(countTokensPath("a?b#c"), "/models/a%3Fb%23c:countTokens");
  for (const model of ["../files", "a/../../b", "a//b", "", "\ud800"]) {
    assert.throws(() => upstreamPath(model, false), Fault);
  }
});
