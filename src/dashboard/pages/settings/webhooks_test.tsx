import assert from "@std/assert";
import type { Webhook } from "../../../webhooks/webhook.ts";
import { LowCredit } from "./webhooks.tsx";

Deno.test("the list has the threshold of each webhook that is notified of low credit", () => {
  const shown = (hook: Pick<Webhook, "events" | "creditLowNanos">) =>
    String(<LowCredit hook={hook as Webhook} />);
  assert.match(shown({ events: [], creditLowNanos: null }), /below a tenth of the last grant</);
  assert.match(
    shown({ events: ["budget.reached", "credit.low"], creditLowNanos: 2_500_000_000n }),
    /Low credit: below \$2\.50</,
  );
  assert.doesNotMatch(shown({ events: ["budget.reached"], creditLowNanos: 1n }), /credit/);
});
