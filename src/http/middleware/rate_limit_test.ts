import assert from "@std/assert";
import { Hono } from "hono";
import type { Principal } from "../../keys/api_key.ts";
import { Fault } from "../../shared/fault.ts";
import type { RateDecision } from "../../rate_limits/rate_limit.ts";
import { asFault, errorReply } from "../errors.ts";
import { toResponse } from "../respond.ts";
import type { Env, RequestContext } from "../request_context.ts";
import { createRateCheck, rateLimit } from "./rate_limit.ts";

const admitted: RateDecision = { admitted: true, limit: 60, remaining: 59, resetAt: 1_800_000_000 };
const refused: RateDecision = {
  ...admitted,
  admitted: false,
  remaining: 0,
  retryAfterSeconds: 2,
};

function serve(take: () => Promise<RateDecision>) {
  const app = new Hono<Env>();
  const faults: string[] = [];
  const account = { id: 7, requestsPerMinute: 60, burst: 100 };
  app.use(async (context, next) => {
    const requestContext = { requestId: "r1", trace: {}, principal: { account } as Principal };
    context.set("requestContext", requestContext as unknown as RequestContext);
    await next();
  });
  app.use(rateLimit(createRateCheck({
    limiter: { take },
    errorDialect: (path) => path.startsWith("/m") ? "messages" : "service",
    onFault: (fault) => void faults.push(fault.code),
  })));
  app.get("/ok", (context) => context.text("fine"));
  app.get("/forbidden", () => {
    throw new Fault("permission_denied");
  });
  app.onError((thrown, context) =>
    toResponse(errorReply(asFault(thrown), "service", "r1"), context.get("requestContext"))
  );
  return { faults, get: async (path: string) => await app.request(path) };
}

function numbers(response: Response): (string | null)[] {
  return ["limit", "remaining", "reset"].map((name) => response.headers.get(`x-ratelimit-${name}`));
}

Deno.test("every answer carries the three headers, errors and unknown paths too", async () => {
  const { get } = serve(() => Promise.resolve(admitted));
  for (const [path, status] of [["/ok", 200], ["/forbidden", 403], ["/nowhere", 404]] as const) {
    const response = await get(path);
    assert.equal(response.status, status);
    assert.deepEqual(numbers(response), ["60", "59", "1800000000"], path);
    assert.equal(response.headers.get("retry-after"), null);
    await response.body?.cancel();
  }
});

Deno.test("without a token the answer is 429 in the path's dialect, with Retry-After", async () => {
  const { get, faults } = serve(() => Promise.resolve(refused));
  const response = await get("/ok");
  assert.equal(response.status, 429);
  assert.deepEqual(numbers(response), ["60", "0", "1800000000"]);
  assert.equal(response.headers.get("retry-after"), "2");
  const { error } = await response.json();
  assert.deepEqual([error.type, error.code], ["rate_limit_error", "rate_limit_exceeded"]);
  const messages = await (await get("/messages")).json();
  assert.deepEqual([messages.type, messages.request_id], ["error", "r1"]);
  assert.deepEqual(faults, ["rate_limit_exceeded", "rate_limit_exceeded"]);
});

Deno.test("a limit that can't be known is 503, never 401 and never unlimited", async () => {
  const { get } = serve(() => Promise.reject(new Fault("store_unavailable")));
  const response = await get("/ok");
  assert.equal(response.status, 503);
  assert.equal((await response.json()).error.code, "store_unavailable");
});
