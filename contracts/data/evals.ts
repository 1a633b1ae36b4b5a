import { z } from "@hono/zod-openapi";
import { orNull, timestampSchema } from "../kernel/common.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";
import { evalFilters, evalGraders } from "./eval_request.ts";

const runId = z.uuid().describe("Id of the run.");

const counts = z.strictObject({
  total: z.number().int().describe("Stored interactions that the run is about."),
  done: z.number().int().describe("Of those, how many are finished, in whichever way."),
  passed: z.number().int().describe("Every grader said yes."),
  failed: z.number().int().describe("A grader said no."),
  skipped: z.number().int().describe(
    "Not asked again, or nothing to compare with: payload erased or cut, no stored answer.",
  ),
  errors: z.number().int().describe("The model or a judge gave no answer that could be used."),
  cost_usd: z.string().describe("What the run's calls cost, as far as it is known.")
    .openapi({ example: "0.012500000" }),
  unpriced_calls: z.number().int().describe("Calls whose cost is not known."),
}).openapi("EvalCounts");

export const evalRequest = z.strictObject({
  name: z.string().trim().min(1).max(200).optional().describe("For people; no default."),
  model: z.string().min(1).max(300).describe(
    "Model that is asked again, named as in calls to the unified endpoint.",
  ),
  filters: evalFilters.describe(
    "Which stored interactions, as for exports: column to a value, or to an array of values of which any matches. `{}`: all of them.",
  ),
  start_date: timestampSchema.optional().describe(
    "First moment, included. Default: the first call.",
  ),
  end_date: timestampSchema.optional().describe("Last moment, not included. Default: now."),
  limit: z.number().int().min(1).max(10_000).default(100).describe(
    "Maximum number of interactions, 1 to 10,000. Default 100.",
  ),
  sample: z.enum(["newest", "random"]).default("newest").describe(
    "Which interactions are taken where more match. Default `newest`.",
  ),
  graders: evalGraders,
}).openapi("EvalRequest");

export const evalAccepted = z.strictObject({
  status: z.literal("ok").describe("Always `ok`."),
  eval_run_id: runId,
  total: z.number().int().describe("Stored interactions that the run is about."),
  message: z.string().describe("What happens next, for people."),
}).openapi("EvalAccepted");

const stateOf = z.enum(["queued", "running", "done", "failed", "cancelled"]);

const runFields = {
  eval_run_id: runId,
  created_at: timestampSchema.describe("When it was asked for."),
  finished_at: timestampSchema.nullable().describe("When it ended; null before."),
  name: z.string().nullable().describe("As it was given."),
  model: z.string().describe("Model that is asked again."),
  state: stateOf.describe("How far it is."),
  waiting: orNull(
    z.strictObject({
      for: z.string().describe("Code of the error, such as `insufficient_credits`."),
      until: timestampSchema.describe("When it tries again."),
    }).openapi("EvalWaiting"),
  ).describe("Why the run stands still, and when it tries again."),
  error: orNull(
    z.strictObject({
      code: z.string().describe("Code of the error, as in error answers."),
      message: z.string().describe("What went wrong, for people."),
    }).openapi("EvalFailure"),
  ).describe("Why a run failed or was cancelled."),
  counts: counts.describe("Figures of the run so far."),
};

const page = {
  limit: z.coerce.number().int().min(1).max(1000).default(100).describe(
    "Rows of a page, 1 to 1,000. Default 100.",
  ),
  after: z.string().max(200).optional().describe("`next` of the page before."),
};
const next = z.string().nullable().describe("`after` of the next page; null on the last one.");

const evalRun = z.strictObject(runFields).openapi("EvalRun");

const result = z.strictObject({
  transaction_id: z.string().describe("The stored interaction."),
  answer_transaction_id: z.string().nullable().describe("The call that was made for it."),
  judge_transaction_id: z.string().nullable().describe("The judge's call."),
  session_id: z.string().nullable().describe("Session of the stored interaction."),
  user_id: z.string().nullable().describe("End user of the stored interaction."),
  created_at: timestampSchema.describe("When it was judged."),
  grader_index: z.number().int().describe("Position of the grader in the run's list."),
  grader: z.unknown().describe("The grader as it was given."),
  passed: z.boolean().nullable().describe("Null: it could not say; `detail` has the reason."),
  score: z.number().nullable().describe("0 to 1."),
  detail: z.string().nullable().describe("What the grader said."),
}).openapi("EvalResult");

const params = z.object({ eval_run_id: runId });

export const createEval = defineContract({
  ...ofRecords("evals", "post", "/api/v1/evals", "createEval"),
  summary: "Run an evaluation",
  description:
    "Asks a model again what stored interactions asked, and has graders judge its answers. Runs in the background with this key: its models, rate limit, credit and caps hold, and it needs the scope of the models (`chat`, or the vendor's) beside `evals`. Its calls are interactions without prompt tags.",
  body: evalRequest,
  status: 202,
  answer: evalAccepted,
  errors: ["model_not_found", "vendor_not_configured", "idempotency_conflict"],
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
    filters: z.unknown().describe("As they were given."),
    graders: z.unknown().describe("As they were given."),
    results: z.array(result).describe("By stored interaction and grader."),
    next,
  }).openapi("EvalRunWithResults"),
  errors: ["eval_not_found"],
});

export const cancelEval = defineContract({
  ...ofRecords("evals", "delete", "/api/v1/evals/{eval_run_id}", "cancelEval"),
  summary: "Cancel an evaluation",
  description:
    "A run that has not ended makes no further calls; its results stay, and so does a run that has ended. `DELETE /api/v1/data` erases them.",
  params,
  answer: evalRun,
  errors: ["eval_not_found"],
});
