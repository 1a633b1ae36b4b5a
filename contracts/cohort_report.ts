import { z } from "@hono/zod-openapi";
import { cohortIdSchema } from "./labels.ts";

/** Money as a decimal string in USD with nine decimals. */
const usd = z.string().openapi({ example: "0.000054399" });

const usdMean = z.strictObject({
  mean: usd.nullable(),
  low95: usd.nullable(),
  high95: usd.nullable(),
});
const mean = z.strictObject({
  mean: z.number().nullable(),
  low95: z.number().nullable(),
  high95: z.number().nullable(),
});

const figureFields = {
  interactions: z.number().int().describe("All calls tagged with the cohort, however they ended."),
  completed: z.number().int().describe("Those that ended well."),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  cost_usd: usd.describe("Sum over the calls whose cost is known."),
  unknown_cost_interactions: z.number().int().describe("Calls of models without a known price."),
  conversions: z.array(z.strictObject({
    type: z.string(),
    label: z.string().nullable(),
    count: z.number().int().describe("Items posted."),
    value: z.number().describe("Sum of their values."),
  })).describe("By type and label."),
  conversions_total: z.number().describe("Sum of the values of all types but `revenue`."),
  conversions_per_interaction: z.strictObject({
    rate: z.number(),
    low95: z.number().nullable(),
    high95: z.number().nullable(),
  }).nullable().describe("Null without calls."),
  cost_per_conversion_usd: usd.nullable().describe("Null without conversions."),
  cost_per_conversion_95_usd: z.strictObject({ low95: usd, high95: usd }).nullable(),
  revenue_usd: usd.nullable().describe("Sum of the values of type `revenue`; null if none came."),
  revenue_per_dollar: z.number().nullable().describe(
    "Revenue per dollar of cost. Null without revenue posted or without cost.",
  ),
  revenue_per_dollar_95: z.strictObject({ low95: z.number(), high95: z.number() }).nullable(),
  cost_per_interaction_usd: usdMean,
  input_tokens_per_interaction: mean,
  output_tokens_per_interaction: mean,
  latency_ms: z.strictObject({ p50: z.number().nullable(), p95: z.number().nullable() }).describe(
    "Of completed calls, from the request's arrival to the last byte; interpolated.",
  ),
  latency_per_interaction_ms: mean.describe("Mean of completed calls."),
  warnings: z.array(z.string()).describe("What to mind when reading the figures."),
};

/** A figure of the one cohort less that of the other. */
const plain = z.strictObject({ difference: z.number().nullable() });
const plainUsd = z.strictObject({ difference: usd.nullable() });
const tested = {
  distinguishable: z.boolean().nullable().describe(
    "Whether the interval leaves zero out; null where there is none.",
  ),
};
const testedNumber = z.strictObject({
  difference: z.number().nullable(),
  low95: z.number().nullable(),
  high95: z.number().nullable(),
  ...tested,
});
const testedUsd = z.strictObject({
  difference: usd.nullable(),
  low95: usd.nullable(),
  high95: usd.nullable(),
  ...tested,
});

const cohortFigures = z.strictObject({ cohort_id: cohortIdSchema, ...figureFields })
  .openapi("CohortFigures");

const comparison = z.strictObject({
  cohort: cohortFigures,
  compared_with: cohortFigures,
  differences: z.strictObject({
    interactions: plain,
    completed: plain,
    input_tokens: plain,
    output_tokens: plain,
    cost_usd: plainUsd,
    conversions_total: plain,
    revenue_usd: plainUsd,
    latency_ms: z.strictObject({ p50: plain, p95: plain }),
    conversions_per_interaction: testedNumber,
    cost_per_conversion_usd: testedUsd,
    revenue_per_dollar: testedNumber,
    cost_per_interaction_usd: testedUsd,
    input_tokens_per_interaction: testedNumber,
    output_tokens_per_interaction: testedNumber,
    latency_per_interaction_ms: testedNumber,
  }).describe("`cohort` less `compared_with`; sums and percentiles have no interval."),
}).openapi("CohortComparison");

/** `GET /api/v1/cohort/{cohort_id}` (interface.md §7). */
export const cohortReport = z.strictObject({
  cohort_id: cohortIdSchema,
  ...figureFields,
  comparison: comparison.optional().describe("With `compare` only."),
}).openapi("CohortReport");

export type CohortFiguresBody = z.output<typeof cohortFigures>;
export type CohortDifferences = z.output<typeof comparison>["differences"];
