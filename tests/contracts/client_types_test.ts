/** The typed client of the contracts, held against programs that must and must not compile. */
import assert from "@std/assert";

const root = new URL("../../", import.meta.url);

Deno.test("what fits no contract doesn't compile, and a changed contract breaks its callers", async () => {
  assert.deepEqual(await wrongLines(program), marked(program));
});

/** Lines, counted from 1, in which Deno finds an error; an error may show a second line. */
async function wrongLines(text: string): Promise<number[]> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/program.ts`;
    await Deno.writeTextFile(path, text.replaceAll("ROOT/", root.href));
    const config = decodeURIComponent(new URL("deno.json", root).pathname);
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--frozen", `--config=${config}`, path],
      env: { NO_COLOR: "1" },
    }).output();
    const places = new TextDecoder().decode(stderr).matchAll(/program\.ts:(\d+):\d+/g);
    return [...new Set([...places].map(([, line]) => Number(line)))].sort((a, b) => a - b);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function marked(text: string): number[] {
  return text.split("\n").flatMap((line, at) => line.endsWith("// wrong") ? [at + 1] : []);
}

const program = `
import { createClient } from "ROOT/contracts/client.ts";
import { defineContract } from "ROOT/contracts/kernel/contract.ts";
import { contracts, familyContracts } from "ROOT/contracts/mod.ts";
import { vendorFamilies } from "ROOT/contracts/calls/vendors.ts";
import { z } from "npm:zod@4.6.7";

const at = { baseUrl: "http://127.0.0.1:1", apiKey: "dmt_x" };
const api = createClient(contracts, at);

// Answers
const status = await api.status();
status.body.version satisfies string;
status.body.version satisfies number; // wrong
status.body.nothing; // wrong
(await api.metrics()).body satisfies string;

// Path parameters
await api.getEval({ params: { eval_run_id: "x" } });
await api.getEval({ params: {} }); // wrong
await api.getEval(); // wrong

// Query
await api.getCohort({ params: { cohort_id: "a" }, query: { compare: "b" } });
await api.getCohort({ params: { cohort_id: "a" }, query: { compare: 1 } }); // wrong
await api.getCohort({ params: { cohort_id: "a" }, query: { with: "b" } }); // wrong

// Bodies
const conversions = [{ type: "clicks", value: 1 }];
await api.postCohortOutcome({ body: { cohort_id: "a", conversions } });
await api.postCohortOutcome({ body: { cohort_id: "a" } }); // wrong
await api.postCohortOutcome({ body: { cohort_id: 1, conversions } }); // wrong
await api.postCohortOutcome({ body: { cohort_id: "a", conversions, more: 1 } }); // wrong
await api.status({ body: {} }); // wrong

// Groups, and families that are made
const made = await api.unifiedResponses.create({ body: { model: "m", input: "x" } });
made.body.id satisfies string;
const family = createClient(familyContracts(vendorFamilies[0]!), at);
await family.models();
await family.chat({ body: { model: "m", messages: [] } }); // wrong
await family.chat?.({ body: { model: "m", messages: [] } });
await family.chat?.({ body: { model: "m" } }); // wrong
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
await changed.status(); // wrong
(await changed.status({ query: { verbose: "1" } })).body.release satisfies string;
(await changed.status({ query: { verbose: "1" } })).body.version; // wrong
`;
