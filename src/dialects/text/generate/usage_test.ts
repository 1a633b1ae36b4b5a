import assert from "@std/assert";
import { writeUsage } from "./usage.ts";

Deno.test("a service tier is written by Google's name for it, if there is one", () => {
  const written = (serviceTier: string) =>
    writeUsage({ input: 1, output: 1, serviceTier }).serviceTier;
  for (const tier of ["standard", "flex", "priority"]) assert.equal(written(tier), tier);
  assert.equal(written("default"), "standard");
  for (const tier of ["scale", "fast", "batch"]) assert.equal(written(tier), undefined);
});
