import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { interactionFromJson, interactionToJson } from "./interaction_json.ts";

Deno.test("stored records keep the names that they were first written with", () => {
  const retained = { reasoning: [{ callId: "c", reasoningText: "r" }] };
  const row = interactionRow("t1", { retained, sourceCallIds: ["t0"] });
  const text = interactionToJson(row);
  const { kept, repeats, ...json } = JSON.parse(text);
  assert.deepEqual({ kept, repeats }, { kept: retained, repeats: ["t0"] });
  assert.ok(!("retained" in json) && !("sourceCallIds" in json));
  assert.deepEqual(interactionFromJson(text), row);
});
