/**
 * The typed client of the contracts, held against calls that must and must not compile. The check
 * of types is what judges them: it finds an error in every line that should be right, and an unused
 * directive above one that should be wrong. Nothing here is called.
 */
import assert from "@std/assert";
import { createClient } from "../../contracts/client.ts";
import { defineContract } from "../../contracts/kernel/contract.ts";
import { contracts, familyContracts } from "../../contracts/mod.ts";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { z } from "zod";

Deno.test("what fits no contract doesn't compile, and a changed contract breaks its callers", () => {
  assert.equal(typeof typedCalls, "function");
});

async function typedCalls(): Promise<void> {
  const at = { baseUrl: "http://127.0.0.1:1", apiKey: "dmt_x" };
  const api = createClient(contracts, at);

  // Answers
  const status = await api.status();
  status.body.version satisfies string;
  // @ts-expect-error: a string
  status.body.version satisfies number;
  // @ts-expect-error: no such field
  status.body.nothing;
  (await api.metrics()).body satisfies string;

  // Path parameters
  await api.getEval({ params: { eval_run_id: "x" } });
  // @ts-expect-error: no path parameter
  await api.getEval({ params: {} });
  // @ts-expect-error: no argument
  await api.getEval();

  // Query
  await api.getCohort({ params: { cohort_id: "a" }, query: { compare: "b" } });
  // @ts-expect-error: a string
  await api.getCohort({ params: { cohort_id: "a" }, query: { compare: 1 } });
  // @ts-expect-error: no such parameter
  await api.getCohort({ params: { cohort_id: "a" }, query: { with: "b" } });

  // Bodies
  const conversions = [{ type: "clicks", value: 1 }];
  await api.postCohortOutcome({ body: { cohort_id: "a", conversions } });
  // @ts-expect-error: no conversions
  await api.postCohortOutcome({ body: { cohort_id: "a" } });
  // @ts-expect-error: a string
  await api.postCohortOutcome({ body: { cohort_id: 1, conversions } });
  // @ts-expect-error: no such field
  await api.postCohortOutcome({ body: { cohort_id: "a", conversions, more: 1 } });
  // @ts-expect-error: no body
  await api.status({ body: {} });

  // Groups, and families that are made
  const made = await api.unifiedResponses.create({ body: { model: "m", input: "x" } });
  made.body.id satisfies string;
  const family = createClient(familyContracts(vendorFamilies[0]!), at);
  await family.models();
  // @ts-expect-error: may be missing
  await family.chat({ body: { model: "m", messages: [] } });
  await family.chat?.({ body: { model: "m", messages: [] } });
  // @ts-expect-error: no messages
  await family.chat?.({ body: { model: "m" } });
  await family.responses?.get({ params: { response_id: "x" } });

  // A contract that has changed: what was right is wrong.
  const changed = createClient({
    ...contracts,
    status: defineContract({
      ...contracts.status,
      query: z.object({ verbose: z.string() }),
      answer: z.object({ release: z.string() }),
    }),
  }, at);
  // @ts-expect-error: no query
  await changed.status();
  (await changed.status({ query: { verbose: "1" } })).body.release satisfies string;
  // @ts-expect-error: another contract's field
  (await changed.status({ query: { verbose: "1" } })).body.version;
}
