import assert from "@std/assert";
import { modelId, parseModelId, vendorOf } from "./models.ts";

Deno.test("a model's id names its provider, its vendor and the vendor's own name", () => {
  assert.deepEqual(parseModelId("openai/gpt-5-mini"), {
    provider: "openai",
    vendor: "vendor-b",
    name: "gpt-5-mini",
  });
  assert.deepEqual(parseModelId("vendor-f/openai/gpt-5"), {
    provider: "vendor-f",
    vendor: "vendor-f",
    name: "openai/gpt-5",
  });
  assert.equal(parseModelId("mine/llama").vendor, undefined);
  assert.equal(modelId("vendor-b", "gpt-5-mini"), "vendor-b/gpt-5-mini");
  assert.equal(vendorOf("constructor"), undefined);
});

Deno.test("an id without a provider is refused", () => {
  for (const id of ["gpt-5", "/gpt-5", "openai/", ""]) {
    assert.throws(() => parseModelId(id), TypeError, id);
  }
});
