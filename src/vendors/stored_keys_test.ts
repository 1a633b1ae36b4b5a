import assert from "@std/assert";
import { createRegistry } from "./registry.ts";
import { canStoreKeyOf, vendorsWithStoredKeys } from "./stored_keys.ts";

Deno.test("keys of exactly four vendors may be stored, also under what the operator calls them", () => {
  const vendor = { baseUrl: "https://example.com", apiKey: undefined, modelsPath: "/models" };
  const row = { ...vendor, dialects: ["chat"], auth: "bearer" } as const;
  const registry = createRegistry({}, [
    { ...row, label: "vendor-b", aliases: ["azure"] },
    { ...row, label: "mine", aliases: ["ours"] },
  ]);
  const labels = ["vendor-a", "vendor-b", "vendor-c", "vendor-d"];
  assert.deepEqual(vendorsWithStoredKeys(registry).map(({ label }) => label), labels);
  for (const name of ["vendor-b", "openai", "azure"]) {
    assert.equal(canStoreKeyOf(registry, name).label, "vendor-b");
  }
  for (const name of ["vendor-e", "vendor-f", "vendor-g", "mine", "ours", "unknown", ""]) {
    assert.throws(
      () => canStoreKeyOf(registry, name),
      /can't be stored|uses the key|expected one/,
    );
  }
});
