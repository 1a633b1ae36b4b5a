import assert from "@std/assert";
import { readUsage, writeUsage } from "./usage.ts";

Deno.test("a service tier is written by Google's name for it, if there is one", () => {
  const written = (serviceTier: string) =>
    writeUsage({ input: 1, output: 1, serviceTier }).serviceTier;
  for (const tier of ["standard", "flex", "priority"]) assert.equal(written(tier), tier);
  assert.equal(written("default"), "standard");
  for (const tier of ["scale", "fast", "batch"]) assert.equal(written(tier), undefined);
});

Deno.test("Vertex AI reports the service tier as a type of traffic", () => {
  const tierOf = (raw: object) => readUsage({ promptTokenCount: 1, ...raw })!.serviceTier;
  assert.equal(tierOf({ trafficType: "ON_DEMAND_PRIORITY" }), "priority");
  assert.equal(tierOf({ trafficType: "ON_DEMAND_FLEX" }), "flex");
  assert.equal(tierOf({ serviceTier: "standard", trafficType: "ON_DEMAND_FLEX" }), "standard");
  for (const trafficType of ["ON_DEMAND", "PROVISIONED_THROUGHPUT", "NOT_ON_DEMAND_FLEX", 7]) {
    assert.equal(tierOf({ trafficType }), undefined);
  }
});
