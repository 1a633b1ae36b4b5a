import assert from "@std/assert";
import { modelName, vendorName, vendorOptions, vendorWithLabel } from "./vendor_names.ts";

const names = new Map([["vendor-b", "openai"], ["intern", "intern"]]);

Deno.test("vendors and models have the names that people know, others stay as they are", () => {
  assert.equal(vendorName(names, "vendor-b"), "openai");
  assert.equal(vendorName(names, "removed"), "removed");
  assert.equal(vendorWithLabel(names, "vendor-b"), "openai (vendor-b)");
  assert.equal(vendorWithLabel(names, "intern"), "intern");
  assert.equal(modelName(names, "vendor-b/gpt-5-mini"), "openai/gpt-5-mini");
  assert.equal(modelName(names, "vendor-bb/gpt-5-mini"), "vendor-bb/gpt-5-mini");
  assert.equal(modelName(names, "fast"), "fast");
  assert.deepEqual(vendorOptions(names), [["vendor-b", "openai (vendor-b)"], ["intern", "intern"]]);
});
