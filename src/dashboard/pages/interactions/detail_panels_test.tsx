import assert from "@std/assert";
import { interactionRow } from "../../../../tests/support/interaction_row.ts";
import type { VendorAttempt } from "../../../shared/interaction.ts";
import { AttemptPanel } from "./detail_panels.tsx";

Deno.test("a call that took several requests to vendors shows each of them", () => {
  const shown = (attempts?: readonly VendorAttempt[]) => {
    const summary = interactionRow("call-1", attempts ? { attempts } : {});
    const detail = {
      summary,
      pricedUsageText: null,
      request: null,
      response: null,
      vendorAnswer: null,
    };
    return String(<AttemptPanel detail={detail} vendors={new Map([["vendor-b", "openai"]])} />);
  };
  const text = shown([
    { vendor: "vendor-b", model: "m", http_status: null, error_code: "upstream_timeout", ms: 900 },
    { vendor: "vendor-b", model: "m", http_status: 200, error_code: null, ms: 40 },
  ]);
  assert.match(text, /openai\/m: no answer <code>upstream_timeout<\/code><\/dt><dd>900 ms/);
  assert.match(text, /openai\/m: HTTP 200 <\/dt><dd>40 ms/);
  assert.ok(!shown().includes("Attempts"));
});
