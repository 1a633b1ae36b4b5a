import { z } from "@hono/zod-openapi";
import { lowerCaseUuid, orNull, timestampSchema } from "../kernel/common.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";

/** The most ids of each kind in one request. */
const maxIds = 10_000;

const ids = (what: string, example: string, one = z.string().min(1).max(256)) =>
  z.array(one).max(maxIds).optional().describe(
    `${what}; any of them matches. At most ${maxIds}; an empty list is ignored.`,
  ).openapi({ example: [example] });

const transactionIds = ids(
  "Transactions, as `X-Transaction-ID` named them",
  "0197e0c2-…",
  z.string().min(1).max(256).overwrite(lowerCaseUuid),
);

const table = z.enum(["interactions", "eval_runs", "eval_results"]);

export const deletionRequest = z.strictObject({
  tables: z.array(table).min(1).max(100).default(["interactions", "eval_runs", "eval_results"])
    .describe(
      "Tables to delete from; default: all three. Erasing an interaction erases the evaluation results drawn from it, whether or not their table is named. Tables without a filtered column match nothing.",
    ),
  start_date: timestampSchema.optional().describe(
    "Rows created at this moment or later (`created_at`), RFC 3339.",
  ),
  end_date: timestampSchema.optional().describe("Rows created before this moment, RFC 3339."),
  transaction_ids: transactionIds,
  session_ids: ids("Sessions, as `X-Session-ID` named them", "session-17"),
  confirm: z.boolean().optional().describe(
    "Must be `true` unless `dry_run` is; otherwise the answer is a 400 and nothing is deleted.",
  ),
  dry_run: z.boolean().default(false).describe(
    "`true`: the rows are counted and nothing is deleted. Default `false`.",
  ),
}).openapi("DeletionRequest");

const deletionAnswer = z.strictObject({
  status: z.literal("success").describe("Always `success`."),
  deleted_count: z.number().int().describe(
    "Rows of the three tables that were deleted, or would be; payloads are not counted apart.",
  ),
  message: z.string().describe("What was done, for humans."),
  deletion_id: z.string().optional().describe(
    "Id of the receipt, see `GET /api/v1/data/requests/{request_id}`. Absent after a dry run.",
  ),
}).openapi("DeletionAnswer");

/** `DELETE /api/v1/data`: erases now. */
export const deleteData = defineContract({
  ...ofRecords("data:delete", "delete", "/api/v1/data", "deleteData"),
  summary: "Delete recorded data",
  description:
    "At least one of `start_date`, `end_date`, `transaction_ids` and `session_ids` is required; a row must match all of them. Applies to rows recorded before the request, including those of calls in flight. Erased with the rows: payloads, media, stored responses (later ones of the same conversation too), reasoning, stored replays, export files. Ledger entries stay; they hold no text. Later interactions whose callers sent the conversation again are rows of their own.",
  body: deletionRequest,
  answer: deletionAnswer,
  errors: ["idempotency_conflict"],
});

export const erasureRequest = z.strictObject({
  user_id: z.string().min(1).max(1024).optional().describe(
    "Deletes all data of this end user, as `user`, `safety_identifier`, `metadata.user_id` or `X-User-ID` named it.",
  ),
  transaction_ids: transactionIds,
  reason: z.string().trim().min(1).max(1000).describe(
    "Reason, kept in the receipt: do not name a person here.",
  ),
}).openapi("ErasureRequest");

/** `POST /api/v1/data`: erases in the background. */
export const requestErasure = defineContract({
  ...ofRecords("data:delete", "post", "/api/v1/data", "requestErasure"),
  summary: "Request deletion of a user's data",
  description:
    "At least one of `user_id` and `transaction_ids` is required; a row must match all of them. The request is queued and retried until it is done; calls in flight are no longer recorded once this is answered.",
  body: erasureRequest,
  answer: z.strictObject({
    status: z.literal("ok").describe("Always `ok`."),
    message: z.string().describe("What was done, for humans."),
    request_id: z.string().describe("For `GET /api/v1/data/requests/{request_id}`."),
  }).openapi("ErasureAnswer"),
  errors: ["idempotency_conflict"],
});

const counts = z.strictObject({
  interactions: z.number().int().describe("Rows of calls."),
  eval_runs: z.number().int().describe("Rows of evaluations."),
  eval_results: z.number().int().describe("Rows of evaluations' results."),
}).openapi("DeletionCounts");

const receipt = z.strictObject({
  counts: counts.describe("Rows deleted, by table."),
  selectors_hash: z.string().describe(
    "SHA-256 of the selectors: of the JSON text of `account_id`, `tables`, `start_date`, `end_date`, `transaction_ids`, `session_ids`, `user_ids` in this order, UUIDs of transactions in lower case, lists sorted, absent ones left out.",
  ),
  reason: z.string().nullable().describe(
    "The reason in the request; null for `DELETE /api/v1/data`.",
  ),
  completed_at: timestampSchema.describe("When the last row was deleted."),
}).openapi("DeletionReceipt");

/** `GET /api/v1/data/requests/{request_id}`: a deletion's progress, and its receipt. */
export const getDeletion = defineContract({
  ...ofRecords("data:delete", "get", "/api/v1/data/requests/{request_id}", "getDeletion"),
  summary: "Get a deletion's progress or receipt",
  params: z.object({
    request_id: z.string().describe("A `request_id` or a `deletion_id`."),
  }),
  answer: z.strictObject({
    request_id: z.string().describe("Id of the deletion."),
    state: z.enum(["queued", "running", "done", "failed"]).describe(
      "`queued`: waiting for its first try or a retry. `failed` is reserved: at present no deletion is given up.",
    ),
    deleted_count: z.number().int().describe("Rows deleted so far."),
    expected_count: z.number().int().nullable().describe(
      "Matching rows when it began; null before that.",
    ),
    counts: counts.describe("Rows deleted so far, by table."),
    attempts: z.number().int().describe("How many times it was started."),
    requested_at: timestampSchema.describe("When it was requested."),
    receipt: orNull(receipt).describe("Null until it is done."),
  }).openapi("Deletion"),
  errors: ["deletion_not_found"],
});
