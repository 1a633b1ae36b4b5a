import assert from "@std/assert";
import { maxNameUnits } from "../../base/json_count.ts";
import { FlatNames } from "./namespaces.ts";

Deno.test("a tool whose two names are long together has a short one, the same each time", () => {
  const half = "n".repeat(maxNameUnits - 1);
  const names = new FlatNames([]);
  const flat = ["a", "b", "a"].map((last) => names.of(half, half + last));
  assert.equal(new Set(flat).size, 2);
  for (const name of flat) assert.match(name, /^[0-9a-f]{64}$/);
  assert.deepEqual(names.namespaces[flat[1]!], { namespace: half, name: half + "b" });
  assert.equal(names.of("a", "b"), "a__b");
});
