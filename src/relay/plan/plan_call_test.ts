import assert from "@std/assert";
import { FakeClock } from "../../base/clock.ts";
import { dialects } from "../../dialects/text/mod.ts";
import type { Mode } from "../../shared/interaction.ts";
import { createLearnedEndpoints } from "../../vendors/learned_endpoints.ts";
import { createRegistry } from "../../vendors/registry.ts";
import { planCall, type PlanDeps, type PlanRequest } from "./plan_call.ts";

Deno.test("what the vendor has refused lately is left out before the request is written", async () => {
  const clock = new FakeClock();
  const learned = createLearnedEndpoints({ clock });
  const deps = {
    ...{ clock, dialects, learned, keepAliveMs: 1000 },
    prices: { find: () => undefined, chatRefuses: () => [] },
  } as unknown as PlanDeps;
  const body = {
    ...{ model: "m", max_tokens: 4000, messages: [{ role: "user", content: "Go" }] },
    thinking: { type: "adaptive", display: "summarized" },
  };
  const reasoningFor = async (accountId: number, mode: Mode = "managed") => {
    const plan = await planCall(deps, requestOf(body, accountId, mode));
    return (JSON.parse(plan.requestText) as { reasoning?: object }).reasoning;
  };
  const asked = await reasoningFor(1);
  assert.ok("summary" in asked!);
  learned.learnRefusedAddition(
    { label: "vendor-b", model: "m", dialect: "responses", accountId: 1, mode: "managed" },
    '"reasoning.summary"',
  );
  const { summary: _, ...plain } = asked as { summary: unknown };
  assert.deepEqual(await reasoningFor(1), plain);
  assert.deepEqual(await reasoningFor(2), asked, "another account's");
  assert.deepEqual(await reasoningFor(1, "stored_key"), asked, "by the account's own key");
  clock.advance(10 * 60_000);
  assert.deepEqual(await reasoningFor(1), asked, "ten minutes later");
});

/** A messages caller's request for OpenAI. */
function requestOf(body: { model: string }, accountId: number, mode: Mode): PlanRequest {
  const bodyText = JSON.stringify(body);
  return {
    ...{ dialect: dialects.messages, body, bodyText, mode },
    facts: dialects.messages.readRequest(body),
    target: { vendor: createRegistry({}, []).find("vendor-b")!, model: body.model },
    caller: {
      principal: { account: { id: accountId }, key: { translationMode: "default" } },
      header: () => undefined,
      arrivedAt: new Date(0),
    },
  } as unknown as PlanRequest;
}
