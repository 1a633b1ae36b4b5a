import { z } from "@hono/zod-openapi";
import { orNull, pathUuid, timestampSchema, wholeNumber } from "../kernel/common.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";
import { evalFilters, evalGraders } from "./eval_request.ts";

const runId = z.uuid().describe("Id of the run.");

const counts = z.strictObject({
  total: z.number().int().describe("Stored interactions in the run."),
  done: z.number().int().describe("How many of them are finished, with any result."),
  passed: z.number().int().describe("Passed by every grader."),
  failed: z.number().int().describe("Failed by at least one grader."),
  skipped: z.number().int().describe(
    "Not evaluated, or nothing to compare with: payload erased or truncated, no stored answer.",
  ),
  errors: z.number().int().describe("The model or a judge gave no answer that could be used."),
  cost_usd: z.string().describe(
    "Known cost of the run's calls when they were made; a repricing corrects their records only.",
  )
    .openapi({ example: "0.012500000" }),
  unpriced_calls: z.number().int().describe("Calls of unknown cost."),
}).openapi("EvalCounts");

export const evalRequest = z.strictObject({
  name: z.string().trim().min(1).max(200).optional().describe("Name, for humans; no default."),
  model: z.string().min(1).max(300).describe(
    "Model to evaluate, named as in calls to the unified endpoint.",
  ),
  filters: evalFilters.describe(
    "Which stored interactions to evaluate, as for exports: column to a value, or to an array of values of which any matches. `{}`: all of them.",
  ),
  start_date: timestampSchema.optional().describe(
    "First moment, included. Default: the first call.",
  ),
  end_date: timestampSchema.optional().describe("Last moment, not included. Default: now."),
  limit: z.number().int().min(1).max(10_000).default(100).describe(
    "Maximum number of interactions, 1 to 10,000. Default 100.",
  ),
  sample: z.enum(["newest", "random"]).default("newest").describe(
    "Which interactions to take if more match. Default `newest`.",
  ),
  graders: evalGraders,
}).openapi("EvalRequest");

export const evalAccepted = z.strictObject({
  status: z.literal("ok").describe("Always `ok`."),
  eval_run_id: runId,
  total: z.number().int().describe("Stored interactions in the run."),
  message: z.string().describe("What happens next, for humans."),
}).openapi("EvalAccepted");

const stateOf = z.enum(["queued", "running", "done", "failed", "cancelled"]);

const runFields = {
  eval_run_id: runId,
  created_at: timestampSchema.describe("When it was requested."),
  finished_at: timestampSchema.nullable().describe("When it ended; null before."),
  name: z.string().nullable().describe("Name in the request."),
  model: z.string().describe("The evaluated model."),
  state: stateOf.describe("State of the run."),
  waiting: orNull(
    z.strictObject({
      for: z.string().describe("Code of the error, such as `insufficient_credits`."),
      until: timestampSchema.describe("When it retries."),
    }).openapi("EvalWaiting"),
  ).describe("Why the run is paused, and when it retries."),
  error: orNull(
    z.strictObject({
      code: z.string().describe("Code of the error, as in error answers."),
      message: z.string().describe("What went wrong, for people."),
    }).openapi("EvalFailure"),
  ).describe("Why a run failed or was cancelled."),
  counts: counts.describe("Figures of the run so far."),
};

const page = {
  limit: wholeNumber({ minimum: 1, maximum: 1000, default: 100 }).default(100).describe(
    "Rows per page, 1 to 1,000. Default 100.",
  ),
  after: z.string().max(200).optional().describe("`next` of the previous page."),
};
const next = z.string().nullable().describe("`after` of the next page; null on the last one.");

const evalRun = z.strictObject(runFields).openapi("EvalRun");

const result = z.strictObject({
  transaction_id: z.string().describe("The stored interaction."),
  answer_transaction_id: z.string().nullable().describe("The evaluation's own call."),
  judge_transaction_id: z.string().nullable().describe("The judge's call."),
  session_id: z.string().nullable().describe("Session of the stored interaction."),
  user_id: z.string().nullable().describe("End user of the stored interaction."),
  created_at: timestampSchema.describe("When it was judged."),
  grader_index: z.number().int().describe("Position of the grader in the run's list."),
  grader: z.unknown().describe("The grader as it was given."),
  passed: z.boolean().nullable().describe("Null: it could not judge; `detail` has the reason."),
  score: z.number().nullable().describe("0 to 1."),
  detail: z.string().nullable().describe("The grader's explanation."),
}).openapi("EvalResult");

const params = z.object({ eval_run_id: pathUuid().describe("Id of the run.") });

export const createEval = defineContract({
  ...ofRecords("evals", "post", "/api/v1/evals", "createEval"),
  summary: "Run an evaluation",
  description:
    "Sends the requests of stored interactions to a model and has graders judge its answers. Runs in the background with this key, whose models, rate limit, credit and caps apply; besides `evals` it needs the scope of the models (`chat`, or the vendor's). Its calls are interactions without prompt tags.",
  body: evalRequest,
  status: 202,
  answer: evalAccepted,
  // `invalid_request`: with a vendor key of the dual-key form.
  errors: ["invalid_request", "model_not_found", "vendor_not_configured", "idempotency_conflict"],
});

export const listEvals = defineContract({
  ...ofRecords("evals", "get", "/api/v1/evals", "listEvals"),
  summary: "List evaluations, newest first",
  query: z.strictObject(page),
  answer: z.strictObject({ data: z.array(evalRun).describe("A page of runs."), next }).openapi(
    "EvalRunList",
  ),
});

export const getEval = defineContract({
  ...ofRecords("evals", "get", "/api/v1/evals/{eval_run_id}", "getEval"),
  summary: "Get an evaluation and its results",
  params,
  query: z.strictObject(page),
  answer: z.strictObject({
    ...runFields,
    filters: z.unknown().describe(
      "Filters of the request; null for values of `user_id`, `session_id` and `request_id`, which are not stored.",
    ),
    graders: z.unknown().describe("Graders of the request."),
    results: z.array(result).describe("By stored interaction and grader."),
    next,
  }).openapi("EvalRunWithResults"),
  errors: ["eval_not_found"],
});

export const cancelEval = defineContract({
  ...ofRecords("evals", "delete", "/api/v1/evals/{eval_run_id}", "cancelEval"),
  summary: "Cancel an evaluation",
  description:
    "A running evaluation makes no further calls. Its results stay; a run that has ended is left unchanged. `DELETE /api/v1/data` erases them.",
  params,
  answer: evalRun,
  errors: ["eval_not_found"],
});
