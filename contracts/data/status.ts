import { z } from "@hono/zod-openapi";
import { defineContract } from "../kernel/contract.ts";
import { timestampSchema } from "../kernel/common.ts";

/** Both shapes of the specification in one body. */
export const statusBody = z.strictObject({
  status: z.literal("ok").describe("Always `ok`."),
  project: z.string().describe("Name of the account that the key belongs to."),
  service: z.string().describe("Name of the service."),
  version: z.string().describe("Semantic version of the service."),
  timestamp: timestampSchema.describe("The service's time."),
  user_id: z.number().int().describe("Id of the account that the key belongs to."),
  authenticated: z.literal(true).describe("Always true: without a valid key it is a 401."),
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
