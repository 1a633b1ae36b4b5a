import { z } from "@hono/zod-openapi";
import { defineContract } from "./contract.ts";
import { timestampSchema } from "./common.ts";

/** Money as a decimal string in USD with nine decimals. */
const usd = z.string().openapi({ example: "0.000054399" });

/** One stored call as an export shows it: the columns of interface.md §6, in that order. */
export const interactionRecord = z.object({
  transaction_id: z.string(),
  created_at: timestampSchema,
  request_id: z.string(),
  session_id: z.string().nullable(),
  user_id: z.string().nullable(),
  account_id: z.number().int(),
  api_key_id: z.string(),
  app: z.string().nullable(),
  flow: z.string().nullable(),
  cohort_id: z.string().nullable(),
  endpoint: z.string(),
  dialect: z.string(),
  vendor: z.string(),
  model: z.string(),
  requested_model: z.string(),
  mode: z.enum(["managed", "stored_key", "dual_key"]),
  stream: z.boolean(),
  status: z.enum(["completed", "failed", "truncated", "cancelled", "interrupted"]),
  http_status: z.number().int().nullable(),
  error_code: z.string().nullable(),
  finish_reason: z.string().nullable(),
  input_tokens: z.number().int().nullable(),
  cache_read_tokens: z.number().int().nullable(),
  cache_write_tokens: z.number().int().nullable(),
  output_tokens: z.number().int().nullable(),
  reasoning_tokens: z.number().int().nullable(),
  total_tokens: z.number().int().nullable(),
  cost_usd: usd.nullable(),
  charged_usd: usd,
  billing_basis: z.enum(["reported", "vendor_cost", "estimated", "none"]),
  price_version: z.string().nullable(),
  usage_raw: z.unknown(),
  translation_loss: z.array(z.string()),
  latency_ms: z.number().int(),
  time_to_first_token_ms: z.number().int().nullable(),
  request: z.unknown(),
  response: z.unknown(),
  payload_truncated: z.boolean(),
}).openapi("Interaction");

/** Names of the columns, in the order of an export. */
export const interactionColumns = Object.keys(interactionRecord.shape) as readonly (keyof z.infer<
  typeof interactionRecord
>)[];

const filterValue = z.union([z.string(), z.number(), z.boolean()]);

export const exportRequest = z.strictObject({
  format: z.enum(["json"]).default("json").describe("`json` streams one JSON array."),
  start_date: timestampSchema.optional().describe("First moment, included."),
  end_date: timestampSchema.optional().describe("Last moment, not included."),
  tables: z.array(z.enum(["interactions"])).min(1).default(["interactions"]),
  filters: z.record(z.string(), z.union([filterValue, z.array(filterValue)])).default({}).describe(
    "Column name to a value, or to an array of values of which any matches.",
  ),
}).openapi("ExportRequest");

/** `POST /api/v1/exports` in its direct form: the rows are streamed in the answer. */
export const createExport = defineContract({
  method: "post",
  path: "/api/v1/exports",
  operationId: "createExport",
  summary: "Export interactions",
  description:
    "Direct form: give `start_date`, `end_date` or both (half-open) and the rows are streamed as one JSON array, oldest first.",
  tag: "data-management",
  scope: "exports",
  dialect: "service",
  body: exportRequest,
  media: { "application/json": z.array(interactionRecord) },
});
