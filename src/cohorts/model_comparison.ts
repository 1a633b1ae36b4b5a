import type { CohortModelsBody, ModelFigures } from "../../contracts/data/cohort_report.ts";
import type { CohortModels, ModelSums } from "./cohort.ts";
import { differencesOf, type Tested, testedFigure } from "./cohort_comparison.ts";
import {
  callWarnings,
  type CohortFigures,
  conversionsBody,
  type Figure,
  figuresOf,
  outcomeWarnings,
  plainFigures,
} from "./cohort_report.ts";
import { shareInterval } from "./statistics.ts";

/** The most models that one answer lists and items that it counts: top models, latest items. */
export const modelBounds = { models: 100, items: 1_000_000 } as const;

/**
 * Builds `by_model` and its companions: each model's figures and their differences from the first.
 */
export function modelsBody(
  { models, unattributed, hasMoreModels, hasMoreItems }: CohortModels,
): CohortModelsBody {
  const compared = models.map((sums) => (
    { sums, figures: figuresOf(sums), errorRate: errorRateOf(sums) }
  ));
  const [first] = compared;
  return {
    by_model: compared.map((model) => figuresOfModel(model, first === model ? undefined : first)),
    unattributed_conversions: conversionsBody(unattributed),
    by_model_warnings: [
      ...hasMoreModels
        ? [`many_models: the ${models.length} models with the most interactions are listed.`]
        : [],
      ...hasMoreItems
        ? ["many_outcomes: only the latest outcomes that name a call or a session are counted."]
        : [],
    ],
  };
}

interface ComparedModel {
  sums: ModelSums;
  figures: CohortFigures;
  errorRate: Figure;
}

/** Returns the share of failed calls; a listed model has at least one call to divide by. */
function errorRateOf({ errors, interactions }: ModelSums): Figure {
  const [count, total] = [Number(errors), Number(interactions)];
  return { at: count / total, interval: shareInterval(count, total) };
}

function figuresOfModel(
  { sums, figures, errorRate }: ComparedModel,
  first: ComparedModel | undefined,
): ModelFigures {
  return {
    model: sums.model,
    ...plainFigures(sums, figures),
    errors: Number(sums.errors),
    error_rate: errorRate.at,
    error_rate_95: errorRate.interval!,
    versus_first: first === undefined ? null : differencesFrom({ sums, figures, errorRate }, first),
    warnings: [...callWarnings(sums), ...outcomeWarnings(sums, figures)],
  };
}

function differencesFrom(
  model: ComparedModel,
  first: ComparedModel,
): NonNullable<ModelFigures["versus_first"]> {
  const differences = differencesOf(model, first);
  const errorRate: Tested = testedFigure(model.errorRate, first.errorRate);
  return {
    cost_per_interaction_usd: differences.cost_per_interaction_usd,
    conversion_rate: differences.conversions_per_interaction,
    cost_per_conversion_usd: differences.cost_per_conversion_usd,
    revenue_per_dollar: differences.revenue_per_dollar,
    latency_per_interaction_ms: differences.latency_per_interaction_ms,
    error_rate: errorRate,
  };
}
