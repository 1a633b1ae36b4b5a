import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { resolveOnFamily, resolveTarget, resolveUnified } from "./model_name.ts";
import { createRegistry } from "./registry.ts";

const registry = createRegistry({}, []);
const vendor = (name: string) => registry.find(name)!;

function refusal(act: () => unknown): Fault {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
  throw new Error("accepted");
}

/** Name → vendor, the name it is sent with, id. */
const unified: [string, string, string, string][] = [
  ["vendor-b/gpt-5-mini", "vendor-b", "gpt-5-mini", "vendor-b/gpt-5-mini"],
  ["openai/gpt-5-mini", "vendor-b", "gpt-5-mini", "vendor-b/gpt-5-mini"],
  [
    "openrouter/meta-llama/llama-3",
    "vendor-f",
    "meta-llama/llama-3",
    "vendor-f/meta-llama/llama-3",
  ],
  ["vendor-f/meta/llama:free", "vendor-f", "meta/llama:free", "vendor-f/meta/llama:free"],
  ["openrouter/openrouter/auto", "vendor-f", "openrouter/auto", "vendor-f/openrouter/auto"],
  ["openrouter/openai/gpt-5", "vendor-f", "openai/gpt-5", "vendor-f/openai/gpt-5"],
  ["huggingface/a/b:groq", "vendor-a", "a/b:groq", "vendor-a/a/b:groq"],
  ["gemini/gemini-3", "vendor-e", "gemini-3", "vendor-e/gemini-3"],
  ["google/models/gemini-3", "vendor-d", "gemini-3", "vendor-d/gemini-3"],
  ["openrouter/models/x", "vendor-f", "models/x", "vendor-f/models/x"],
];
for (const [name, label, model, id] of unified) {
  Deno.test(`unified: '${name}' is ${label}'s ${model}`, () => {
    const found = resolveUnified(registry, name);
    assert.deepEqual([found.vendor.label, found.model, found.id], [label, model, id]);
  });
}

const unknown = [
  "gpt-5",
  "nobody/gpt-5",
  "/gpt-5",
  "vendor-b/",
  "vendor-b",
  "",
  "VENDOR-B/x",
  "/",
  "google/models/",
];
for (const name of [...unknown, "constructor/x", "__proto__/x"]) {
  Deno.test(`unified: '${name}' is 404 model_not_found that names the field and the list`, () => {
    const fault = refusal(() => resolveUnified(registry, name));
    assert.deepEqual([fault.code, fault.param], ["model_not_found", "model"]);
    assert.match(fault.message, /^model: unknown model '.*'\..*GET \/chat\/v1\/models/);
  });
}

/** On the family of a vendor only its own label or alias is taken off, and once. */
const families: [string, string, string][] = [
  ["vendor-b", "gpt-5", "gpt-5"],
  ["vendor-b", "openai/gpt-5", "gpt-5"],
  ["vendor-b", "vendor-b/gpt-5", "gpt-5"],
  ["vendor-b", "vendor-b/openai/gpt-5", "openai/gpt-5"],
  ["vendor-b", "xai/grok", "xai/grok"],
  ["vendor-b", "openai-gpt", "openai-gpt"],
  ["vendor-f", "openai/gpt-5", "openai/gpt-5"],
  ["vendor-f", "openrouter/openai/gpt-5", "openai/gpt-5"],
  ["vendor-f", "meta/llama:free", "meta/llama:free"],
  // As Google's own lists and clients write it.
  ["vendor-d", "models/gemini-3", "gemini-3"],
  ["vendor-e", "models/gemini-3", "gemini-3"],
  ["vendor-b", "models/gpt-5", "models/gpt-5"],
];
for (const [label, name, model] of families) {
  Deno.test(`/${label}: '${name}' is sent as '${model}'`, () => {
    const found = resolveOnFamily(vendor(label), name);
    assert.deepEqual([found.vendor.label, found.model, found.id], [
      label,
      model,
      `${label}/${model}`,
    ]);
  });
}

Deno.test("a family's prefix alone names no model", () => {
  for (const name of ["vendor-b/", "openai/", ""]) {
    const fault = refusal(() => resolveOnFamily(vendor("vendor-b"), name));
    assert.deepEqual([fault.code, fault.param], ["model_not_found", "model"]);
  }
});

Deno.test("the family decides where there is one, the name where there is none", () => {
  const name = "openai/gpt-5";
  assert.equal(resolveTarget(registry, undefined, name).vendor.label, "vendor-b");
  assert.equal(resolveTarget(registry, vendor("vendor-f"), name).model, "openai/gpt-5");
});

Deno.test("a huge name is cut in the message", () => {
  const long = "x".repeat(10_000);
  assert.ok(refusal(() => resolveUnified(registry, long)).message.length < 400);
});
