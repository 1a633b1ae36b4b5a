import { z } from "@hono/zod-openapi";
import { cohortIdSchema, orNull } from "../kernel/common.ts";

/** Money as a decimal string in USD with nine decimals. */
const usd = z.string().openapi({ example: "0.000054399" });

/** Fields of an interval at 95 %, of numbers or amounts in USD. */
const limits = <Value extends z.ZodType>(value: Value) => ({
  low95: value.nullable().describe("Lower end of the interval at 95 %; null if there is none."),
  high95: value.nullable().describe("Upper end of the interval at 95 %; null if there is none."),
});

const usdMean = z.strictObject({
  mean: usd.nullable().describe("Mean in USD; null without calls."),
  ...limits(usd),
}).openapi("CohortMeanUsd");
const mean = z.strictObject({
  mean: z.number().nullable().describe("Mean; null without calls."),
  ...limits(z.number()),
}).openapi("CohortMean");
const conversions = z.strictObject({
  type: z.string().describe("Type of the items."),
  label: z.string().nullable().describe("Label of the items."),
  count: z.number().int().describe("Items posted."),
  value: z.number().describe("Sum of their values."),
}).openapi("CohortConversions");
const rate = z.strictObject({
  rate: z.number().describe("Conversions per call."),
  ...limits(z.number()),
}).openapi("CohortRate");
const usdInterval = z.strictObject({
  low95: usd.describe("Lower end in USD."),
  high95: usd.describe("Upper end in USD."),
}).openapi("CohortIntervalUsd");
const interval = z.strictObject({
  low95: z.number().describe("Lower end."),
  high95: z.number().describe("Upper end."),
}).openapi("CohortInterval");
const latency = z.strictObject({
  p50: z.number().nullable().describe("Median in milliseconds; null without completed calls."),
  p95: z.number().nullable().describe("95th percentile in milliseconds; null without any."),
}).openapi("CohortLatency");

const figureFields = {
  interactions: z.number().int().describe("All calls tagged with the cohort, however they ended."),
  completed: z.number().int().describe("Calls that completed."),
  input_tokens: z.number().int().describe("Tokens of all prompts."),
  output_tokens: z.number().int().describe("Tokens of all answers."),
  cost_usd: usd.describe("Sum over the calls whose cost is known."),
  unknown_cost_interactions: z.number().int().describe("Calls of models without a known price."),
  conversions: z.array(conversions).describe(
    "By type and label. Of more than 1,000, those with the most items; the rest is summed as `(others)`.",
  ),
  conversions_total: z.number().describe("Sum of the values of all types but `revenue`."),
  conversions_per_interaction: orNull(rate).describe("Null without calls."),
  cost_per_conversion_usd: usd.nullable().describe("Null without conversions."),
  cost_per_conversion_95_usd: orNull(usdInterval).describe(
    "Its interval at 95 %; null if there is none.",
  ),
  revenue_usd: usd.nullable().describe(
    "Sum of the values of type `revenue`; null if there are none.",
  ),
  revenue_per_dollar: z.number().nullable().describe(
    "Revenue per dollar of cost. Null without revenue posted or without cost.",
  ),
  revenue_per_dollar_95: orNull(interval).describe(
    "Its interval at 95 %; null if there is none.",
  ),
  cost_per_interaction_usd: usdMean.describe("Over the calls whose cost is known."),
  input_tokens_per_interaction: mean.describe("Tokens of a prompt."),
  output_tokens_per_interaction: mean.describe("Tokens of an answer."),
  latency_ms: latency.describe(
    "Of completed calls, from the request's arrival to the last byte; interpolated.",
  ),
  latency_per_interaction_ms: mean.describe("Mean of completed calls."),
  warnings: z.array(z.string()).describe("Caveats about the figures."),
};

/** The difference of a figure between two cohorts or models. */
const differenceOf = <Value extends z.ZodType>(value: Value) =>
  z.strictObject({ difference: value.nullable().describe("Null if either is null.") });
const testedDifference = <Value extends z.ZodType>(value: Value) =>
  differenceOf(value).extend({
    ...limits(value),
    distinguishable: z.boolean().nullable().describe(
      "Whether the interval excludes zero; null if there is none.",
    ),
  });
const plain = differenceOf(z.number()).openapi("CohortDifference");
const plainUsd = differenceOf(usd).openapi("CohortDifferenceUsd");
const testedNumber = testedDifference(z.number()).openapi("CohortTestedDifference");
const testedUsd = testedDifference(usd).openapi("CohortTestedDifferenceUsd");

const cohortFigures = z.strictObject({ cohort_id: cohortIdSchema, ...figureFields })
  .openapi("CohortFigures");

const comparison = z.strictObject({
  cohort: cohortFigures.describe("The cohort of the path."),
  compared_with: cohortFigures.describe("The cohort of `compare`."),
  differences: z.strictObject({
    interactions: plain.describe("Calls."),
    completed: plain.describe("Completed calls."),
    input_tokens: plain.describe("Tokens of prompts."),
    output_tokens: plain.describe("Tokens of answers."),
    cost_usd: plainUsd.describe("Cost in USD."),
    conversions_total: plain.describe("Conversions."),
    revenue_usd: plainUsd.describe("Revenue in USD."),
    latency_ms: z.strictObject({
      p50: plain.describe("Of medians."),
      p95: plain.describe("Of 95th percentiles."),
    }).describe("In milliseconds."),
    conversions_per_interaction: testedNumber.describe("Conversions per call."),
    cost_per_conversion_usd: testedUsd.describe("USD per conversion."),
    revenue_per_dollar: testedNumber.describe("Revenue per dollar of cost."),
    cost_per_interaction_usd: testedUsd.describe("USD per call."),
    input_tokens_per_interaction: testedNumber.describe("Tokens of a prompt."),
    output_tokens_per_interaction: testedNumber.describe("Tokens of an answer."),
    latency_per_interaction_ms: testedNumber.describe("Milliseconds of a call."),
  }).describe("`cohort` minus `compared_with`; sums and percentiles have no interval."),
}).openapi("CohortComparison");

const modelFigures = z.strictObject({
  model: z.string().describe("The model that answered, with its vendor.").openapi({
    example: "vendor-c/claude-sonnet-4-6",
  }),
  ...figureFields,
  interactions: z.number().int().describe("The cohort's calls to the model, however they ended."),
  conversions: z.array(conversions).describe(
    "Of the outcomes that belong to these calls, by type and label.",
  ),
  errors: z.number().int().describe("Calls that failed, were cut short or were interrupted."),
  error_rate: z.number().describe("Their share of the calls, 0 to 1."),
  error_rate_95: interval.describe("Its interval at 95 %."),
  versus_first: orNull(
    z.strictObject({
      cost_per_interaction_usd: testedUsd.describe("USD per call."),
      conversion_rate: testedNumber.describe("Of `conversions_per_interaction`."),
      cost_per_conversion_usd: testedUsd.describe("USD per conversion."),
      revenue_per_dollar: testedNumber.describe("Revenue per dollar of cost."),
      latency_per_interaction_ms: testedNumber.describe("Milliseconds of a call."),
      error_rate: testedNumber.describe("Share of calls with an error."),
    }).openapi("CohortModelDifferences"),
  ).describe("This model's figures minus those of the first one in the list; null for the first."),
}).openapi("CohortModelFigures");

/** Components without descriptions: the fields that use them have one. */
export const cohortComponents = {
  CohortMean: mean,
  CohortMeanUsd: usdMean,
  CohortInterval: interval,
  CohortIntervalUsd: usdInterval,
  CohortRate: rate,
  CohortLatency: latency,
  CohortDifference: plain,
  CohortDifferenceUsd: plainUsd,
  CohortTestedDifference: testedNumber,
  CohortTestedDifferenceUsd: testedUsd,
} as const;

/** `GET /api/v1/cohort/{cohort_id}` (docs/data.md, "Cohorts"). */
export const cohortReport = z.strictObject({
  cohort_id: cohortIdSchema,
  ...figureFields,
  comparison: comparison.optional().describe("With `compare` only."),
  by_model: z.array(modelFigures).optional().describe(
    "With `by=model` only: the models that the cohort's calls went to, those with the most calls first; at most 100.",
  ),
  unattributed_conversions: z.array(conversions).optional().describe(
    "With `by=model` only: outcomes that name neither a call nor a session, or none of this cohort.",
  ),
  by_model_warnings: z.array(z.string()).optional().describe(
    "With `by=model` only: what was left out of `by_model`, if anything.",
  ),
}).openapi("CohortReport");

export type CohortFiguresBody = z.output<typeof cohortFigures>;
export type ModelFigures = z.output<typeof modelFigures>;
/** The fields that `by=model` adds. */
export interface CohortModelsBody {
  by_model: ModelFigures[];
  unattributed_conversions: z.output<typeof conversions>[];
  by_model_warnings: string[];
}
export type CohortDifferences = z.output<typeof comparison>["differences"];
