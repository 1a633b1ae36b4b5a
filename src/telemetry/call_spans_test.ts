import assert from "@std/assert";
import { heldBytes } from "../../tests/support/held_bytes.ts";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { callSpans, type Span } from "./call_spans.ts";
import { writeSpans } from "./otlp.ts";

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

Deno.test("a span's times are written to the microsecond", () => {
  const span: Span = {
    ...{ traceId: "5".repeat(32), spanId: "6".repeat(16), parentSpanId: undefined },
    ...{ isParentRemote: false, name: "chat m", kind: "server", isError: false, attributes: {} },
    ...{ startMs: 1_700_000_000_123.25, endMs: 1_700_000_001_000.5 },
  };
  const { body } = writeSpans([span], "http/json", { attributes: {}, version: "1" });
  const text = new TextDecoder().decode(body);
  assert.match(text, /"startTimeUnixNano":"1700000000123250000"/);
  assert.match(text, /"endTimeUnixNano":"1700000001000500000"/);
});
