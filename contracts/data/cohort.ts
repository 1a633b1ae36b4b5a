import { z } from "@hono/zod-openapi";
import { cohortReport } from "./cohort_report.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";
import { cohortIdSchema, labelText, lowerCaseUuid } from "../kernel/common.ts";

/** Largest absolute value of one item: in billionths, it still fits a 64-bit integer. */
const maxOutcomeValue = 1_000_000_000;

const conversion = z.strictObject({
  type: labelText(64).describe(
    "What is counted, such as `revenue` or `clicks`. `revenue` is in USD; the values of all other types are numbers of conversions.",
  ),
  value: z.number().min(-maxOutcomeValue).max(maxOutcomeValue).describe(
    "Amount or number. Stored with nine decimals; further digits are rounded, half away from zero. Negative values correct earlier ones.",
  ),
  label: labelText(256, 0).nullish().describe(
    "Distinguishes items of one type. Default null; an empty text is the same.",
  ),
  id: labelText(128).nullish().describe(
    "Your own id of this item, such as an order number: the item counts once in its cohort, however often it is posted. Default null: an item posted twice counts twice.",
  ),
  transaction_id: labelText(256).overwrite(lowerCaseUuid).nullish().describe(
    "The call that led to it, as in `X-Transaction-ID`: its model is credited in `by=model`. Takes precedence over `session_id`. Not checked when posted, so an outcome may arrive before its call is stored. Erased with the call. Default null.",
  ),
  session_id: labelText(256).nullish().describe(
    "The session that led to it, as in `X-Session-ID`: the model of the session's last call in the cohort before the outcome is credited, else that of the first call after it. Erased with the session's last call, or by naming the session. Default null.",
  ),
}).openapi("CohortOutcomeItem");

export const cohortOutcome = z.strictObject({
  cohort_id: cohortIdSchema,
  conversions: z.array(conversion).min(1).max(1000).describe("1 to 1,000 items."),
}).openapi("CohortOutcome");

export const cohortOutcomeAnswer = z.strictObject({
  status: z.literal("ok").describe("Always `ok`."),
  cohort_id: cohortIdSchema,
  accepted: z.number().int().describe("Items recorded by this request; known ids don't count."),
  message: z.string().describe("What was done, for humans."),
}).openapi("CohortOutcomeAccepted");

export const postCohortOutcome = defineContract({
  ...ofRecords("cohort", "post", "/api/v1/cohort/outcome", "postCohortOutcome"),
  summary: "Submit a cohort's outcomes",
  description:
    "Outcomes may come before the cohort's first call. A repeat with the same `X-Request-ID` within 24 hours adds nothing.",
  body: cohortOutcome,
  answer: cohortOutcomeAnswer,
  errors: ["idempotency_conflict"],
});

export const getCohort = defineContract({
  ...ofRecords("cohort", "get", "/api/v1/cohort/{cohort_id}", "getCohort"),
  summary: "Get a cohort's figures",
  description:
    "Cost and outcomes of the cohort's calls. An unknown cohort has zeros. A path can't contain the names `.` and `..`: read these cohorts by `compare`. Intervals are at 95 %: of means by Student's t (costs are skewed, so below some 30 calls they are rough), of conversions as a Poisson count (Byar), of ratios on a log scale; differences by Welch's t for means, else by the limits of both intervals (MOVER), of error rates by Newcombe's score.",
  params: z.object({ cohort_id: cohortIdSchema }),
  query: z.strictObject({
    compare: cohortIdSchema.optional().describe("Another cohort to compare this one with."),
    by: z.enum(["model"]).optional().describe(
      "`model`: also the figures of each model, and their differences from the first.",
    ),
  }),
  answer: cohortReport,
});
