import { z } from "@hono/zod-openapi";
import { defineContract } from "./contract.ts";
import { timestampSchema } from "./common.ts";

/** Both shapes of the specification in one body (interface.md §5). */
export const statusBody = z.object({
  status: z.literal("ok"),
  project: z.string().describe("Name of the account that the key belongs to."),
  service: z.string(),
  version: z.string().describe("Semantic version of the service."),
  timestamp: timestampSchema,
  user_id: z.number().int().describe("Id of the account that the key belongs to."),
  authenticated: z.literal(true),
}).openapi("Status");

export const status = defineContract({
  method: "get",
  path: "/api/v1/status",
  operationId: "getStatus",
  summary: "Verify the key",
  tag: "data-management",
  scope: "status",
  dialect: "service",
  answer: statusBody,
});
