import assert from "@std/assert";
import { bundledPrices, createPrices } from "../pricing/table/prices.ts";
import { parsePricesFile } from "../pricing/table/prices_file.ts";
import { createRegistry, type CustomVendor } from "../vendors/registry.ts";
import { createRealModels } from "./real_models.ts";

const acme: CustomVendor = {
  label: "acme",
  aliases: ["acme-ai"],
  baseUrl: "http://127.0.0.1:9/v1",
  apiKey: undefined,
  dialects: ["chat"],
  auth: "bearer",
  modelsPath: "/models",
};

/** The models of the bundled table and of a `PRICES_FILE` with these rows. */
function setup(rows: readonly string[] = [], custom: readonly CustomVendor[] = []) {
  const registry = createRegistry({}, custom);
  const file = Object.fromEntries(rows.map((row) => [row, { input: "1", output: "2" }]));
  const prices = createPrices({
    bundled: bundledPrices(),
    overrides: parsePricesFile(JSON.stringify(file)),
    familyOf: (name) => registry.find(name),
  });
  return createRealModels({ registry, prices });
}

const own: [string, string][] = [
  ["claude-sonnet-4-6", "vendor-c"],
  ["gpt-5-mini", "vendor-b"],
  ["gemini-2.5-flash", "vendor-d"],
  ["grok-4.3", "vendor-g"],
  ["text-embedding-3-small", "vendor-b"],
  // A snapshot has the name of its model in front.
  ["gpt-5-mini-2025-08-07", "vendor-b"],
  ["claude-haiku-4-5-20251001", "vendor-c"],
  ["grok-4.3-latest", "vendor-g"],
];
for (const [name, label] of own) {
  Deno.test(`'${name}' is ${label}'s own model, sent under its name`, () => {
    const found = setup().find(name);
    assert.deepEqual([found?.vendor.label, found?.model, found?.id], [
      label,
      name,
      `${label}/${name}`,
    ]);
  });
}

const full = [
  "openai/gpt-5-mini",
  "vendor-b/never-heard-of",
  "openrouter/openai/gpt-5",
  "gemini/x",
];
Deno.test("a vendor in front decides, whatever the name behind it", () => {
  const models = setup();
  const ids = full.map((name) => models.find(name)?.id);
  assert.deepEqual(ids, [
    ...["vendor-b/gpt-5-mini", "vendor-b/never-heard-of", "vendor-f/openai/gpt-5", "vendor-e/x"],
  ]);
});

Deno.test("hosts and resellers have no models of their own, not even where the operator prices one", () => {
  const models = setup(["huggingface/mine", "openrouter/theirs", "gemini/shared"]);
  const names = ["deepseek-v4-pro", "deepseek-ai/DeepSeek-V4-Pro", "mine", "theirs", "shared", "*"];
  for (const name of names) assert.equal(models.find(name), undefined, name);
});

Deno.test("PRICES_FILE counts, for vendors of VENDORS_FILE too, whose names may hold slashes", () => {
  const models = setup(["openai/gpt-x", "acme-ai/llama-4", "acme/org/tuned"], [acme]);
  const names = ["gpt-x", "llama-4", "org/tuned"];
  const ids = names.map((name) => models.find(name)?.id);
  assert.deepEqual(ids, ["vendor-b/gpt-x", "acme/llama-4", "acme/org/tuned"]);
});

Deno.test("a name that two vendors have as their own is refused with both", () => {
  const models = setup(["acme/gpt-5-mini"], [acme]);
  assert.equal(models.find("gpt-5-mini"), undefined);
  const { code, param, message } = models.refusal("gpt-5-mini");
  assert.deepEqual([code, param], ["invalid_value", "model"]);
  assert.match(message, /^model: 'gpt-5-mini' .*'acme\/gpt-5-mini' or 'vendor-b\/gpt-5-mini'/);
  assert.equal(models.find("gpt-5-mini-2026-01-01"), undefined, "its snapshots neither");
  assert.equal(models.find("openai/gpt-5-mini")?.id, "vendor-b/gpt-5-mini");
});

Deno.test("a model that only hosts and resellers have is suggested with each of them", () => {
  const models = setup(["openrouter/mistralai/large", "huggingface/mistralai/Large"]);
  const { code, message } = models.refusal("mistralai/large");
  assert.equal(code, "model_not_found");
  assert.match(
    message,
    /Did you mean 'openrouter\/mistralai\/large' or 'huggingface\/mistralai\/Large'\? Use/,
  );
  assert.doesNotMatch(models.refusal("mistralai/larger").message, /Did you mean/);
});

const unknown: [string, RegExp][] = [
  ["gpt5-mini", /Did you mean 'gpt-5-mini'/],
  ["claude-sonet-4-6", /Did you mean 'claude-sonnet-4-6'/],
  ["fasst", /Did you mean 'fast'/],
  ["opnai/gpt-5-mini", /Did you mean 'openai\/gpt-5-mini'\?/],
  ["OpenAI/GPT-5-Mini", /Did you mean 'openai\/gpt-5-mini'\?/],
  ["models/gemini-2.5-flash", /Did you mean 'gemini-2\.5-flash'\? Use/],
  ["models/google/gemini-2.5-flash", /Did you mean 'google\/gemini-2\.5-flash'\? Use/],
  ["v1beta/models/gemini-2.5-flash", /Did you mean 'gemini-2\.5-flash'\? Use/],
  ["models/gemini-2.5-flsh", /Did you mean 'gemini-2\.5-flash'/],
  ["models/", /unknown model 'models\/'\. Use/],
  ["llama", /unknown model .* Use/],
  ["gpt-5-mini:free", /unknown model/],
  ["gpt-5-mini@2026", /unknown model/],
  ["vendor-b/", /unknown model 'vendor-b\/'\. Use/],
  ["/gpt-5-mini", /unknown model/],
  ["constructor", /unknown model/],
  ["__proto__/x", /unknown model/],
  ["x".repeat(10_000), /unknown model/],
];
for (const [name, message] of unknown) {
  Deno.test(`'${name.slice(0, 30)}' is 404 model_not_found: ${message.source}`, () => {
    const models = setup();
    assert.equal(models.find(name), undefined);
    const fault = models.refusal(name, ["fast", "cheap"]);
    assert.deepEqual([fault.code, fault.param], ["model_not_found", "model"]);
    assert.match(fault.message, /^model: unknown model '.*'\..*GET \/chat\/v1\/models/);
    assert.match(fault.message, message);
    assert.ok(fault.message.length < 500);
  });
}
