import assert from "@std/assert";
import { heldBytes } from "../../tests/support/held_bytes.ts";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { callSpans } from "./call_spans.ts";

Deno.test("a span holds nothing of a vendor's long model name but its beginning", () => {
  const spanOf = (responseModel: string) =>
    callSpans({
      ...{ call: interactionRow("a"), arrivedMs: 0, requests: [], responseModel },
      ...{ timing: { totalMs: 1, vendorMs: 1, overheadMs: 0 }, parent: undefined, traceId: "t" },
    }, { providerOf: (name) => name, operationOf: (name) => name });
  const [span] = spanOf("m".repeat(300));
  assert.equal(span!.attributes["gen_ai.response.model"], "m".repeat(256));
  const held = heldBytes(() =>
    Array.from({ length: 10 }, (_, n) => spanOf(JSON.parse(`"${n}${"m".repeat(2_000_000)}"`)))
  );
  assert.ok(held < 5_000_000, `${held} bytes`);
});
