import { z } from "@hono/zod-openapi";
import { defineContract, ofRecords } from "../kernel/contract.ts";
import { orNull, timestampSchema, usdSchema } from "../kernel/common.ts";

const spendCap = z.strictObject({
  limit_usd: usdSchema.describe("Maximum that calls with this key may be charged."),
  charged_usd: orNull(usdSchema).describe("What they were charged; null if unknown."),
}).openapi("SpendCap");

/** Combines the two shapes that the specification has. */
const statusBody = z.strictObject({
  status: z.literal("ok").describe("Always `ok`."),
  project: z.string().describe("Name of the account that the key belongs to."),
  service: z.string().describe("Name of the service."),
  version: z.string().describe("Semantic version of the service."),
  timestamp: timestampSchema.describe("Current time of the service."),
  user_id: z.number().int().describe("Id of the key's account."),
  authenticated: z.literal(true).describe("Always true: without a valid key the answer is a 401."),
  balance_usd: orNull(usdSchema).describe(
    "The account's credit in US dollars, at most a second old; null if the store can't be reached. `GET /api/v1/credits` says more.",
  ),
  scopes: z.array(z.string()).describe(
    "What the key may do: its scopes, or, for a key without any, all scopes that it implies.",
  ),
  caps: z.strictObject({
    day: orNull(spendCap).describe("Of this day, UTC; null: none."),
    month: orNull(spendCap).describe("Of this month, UTC; null: none."),
  }).openapi("SpendCaps").describe("The key's own spend caps."),
  rate_limit: z.strictObject({
    requests_per_minute: z.number().int().describe(
      "Requests per minute at which the burst refills.",
    ),
    burst: z.number().int().describe("Maximum requests at once."),
  }).openapi("AccountRateLimit").describe("The account's rate limit, as its tier says."),
}).openapi("Status");

export const status = defineContract({
  ...ofRecords("status", "get", "/api/v1/status", "getStatus"),
  summary: "Check the API key",
  answer: statusBody,
});

/** Returns the common fields of contracts for endpoints that need no key. */
function open(path: string, operationId: string) {
  const method = "get";
  return { tag: "operations", scope: null, dialect: "service", method, path, operationId } as const;
}

const ok = z.strictObject({ status: z.literal("ok").describe("Always `ok`.") }).openapi("Alive");

export const livez = defineContract({
  ...open("/livez", "getLivez"),
  summary: "Check liveness",
  answer: ok,
});

export const readyz = defineContract({
  ...open("/readyz", "getReadyz"),
  summary: "Check readiness",
  answer: ok,
  errors: ["store_unavailable", "overloaded"],
});

export const metrics = defineContract({
  ...open("/metrics", "getMetrics"),
  summary: "Get metrics in the Prometheus text format",
  description:
    "Send `Authorization: Bearer <METRICS_TOKEN>`. From loopback, to a URL that names loopback or `HOST`, no token is needed if neither `METRICS_TOKEN` nor `TRUST_PROXY` is set.",
  media: { "text/plain": z.string().describe("Metrics, one sample per line.") },
  errors: ["endpoint_not_found"],
});

const document = { "application/json": z.looseObject({}).openapi("OpenApiDocument") };

/** Descriptions of this API, for programs and for people. */
export const documents = {
  current: defineContract({
    ...open("/openapi.json", "getOpenApi"),
    summary: "Get this reference as OpenAPI 3.1",
    description: "`servers` has the URL of the answering service.",
    media: document,
  }),
  older: defineContract({
    ...open("/openapi-3.0.json", "getOpenApi30"),
    summary: "Get this reference as OpenAPI 3.0.3",
    description: "For generators that don't support 3.1.",
    media: document,
  }),
  reference: defineContract({
    ...open("/reference", "getReference"),
    summary: "Get this reference",
    description: "Enter a key to try every operation against this service.",
    media: { "text/html": z.string().describe("The page.") },
  }),
};

/** Scripts and styles of the page; not an operation of the document. */
export const referenceFile = defineContract({
  ...open("/reference/{file}", "getReferenceFile"),
  summary: "Get a file of the reference page",
  params: z.object({ file: z.string() }),
  media: { "application/octet-stream": z.string() },
  errors: ["endpoint_not_found"],
});
