import assert from "@std/assert";
import { callInfo, rateLimitOf, retryAfterOf } from "./answer_headers.ts";

const answer = (headers: Record<string, string>) => new Response(null, { headers });

Deno.test("the headers of an answer are read", () => {
  const response = answer({
    "X-Request-ID": "r1",
    "X-Transaction-ID": "t1",
    "X-Idempotent-Replay": "true",
    "X-Translation-Loss": "seed, tools[0].strict",
    "X-Token-Count": "estimated",
  });
  assert.deepEqual(callInfo(response), {
    requestId: "r1",
    transactionId: "t1",
    replayed: true,
    translationLoss: ["seed", "tools[0].strict"],
    estimated: true,
  });
});

Deno.test("a whole answer's cost and charge are amounts as they were sent", () => {
  const { costUsd, chargedUsd } = callInfo(
    answer({ "X-Cost-USD": "0.000054399", "X-Charged-USD": "0.000000000" }),
  );
  assert.deepEqual([costUsd, chargedUsd], ["0.000054399", "0.000000000"]);
  assert.ok(!("costUsd" in callInfo(answer({}))));
});

Deno.test("what isn't there is undefined, not zero", () => {
  assert.equal(rateLimitOf(answer({ "X-RateLimit-Limit": "60" })), undefined);
  assert.equal(retryAfterOf(answer({})), undefined);
  assert.equal(callInfo(answer({})).transactionId, undefined);
});

Deno.test("Retry-After is seconds or a date", () => {
  assert.equal(retryAfterOf(answer({ "Retry-After": "12" })), 12);
  const now = Date.parse("2026-11-21T09:00:00Z");
  const date = answer({ "Retry-After": "Sat, 21 Nov 2026 09:00:30 GMT" });
  assert.equal(retryAfterOf(date, now), 30);
  assert.equal(retryAfterOf(answer({ "Retry-After": "soon" })), undefined);
});
