import type { OperationExamples } from "./example.ts";

const run = "0197e0c4-7d2a-7b93-8e15-4a6c9f0d2b71";
const at = "2026-11-21T09:00:00Z";

const mean = (mean: number, low95: number, high95: number) => ({ mean, low95, high95 });

const figures = {
  cohort_id: "checkout-b",
  interactions: 120,
  completed: 118,
  input_tokens: 15600,
  output_tokens: 4200,
  cost_usd: "0.012300000",
  unknown_cost_interactions: 0,
  conversions: [{ type: "signups", label: null, count: 2, value: 6 }],
  conversions_total: 6,
  conversions_per_interaction: { rate: 0.05, low95: 0.018, high95: 0.109 },
  cost_per_conversion_usd: "0.002050000",
  cost_per_conversion_95_usd: { low95: "0.000921000", high95: "0.004563000" },
  revenue_usd: null,
  revenue_per_dollar: null,
  revenue_per_dollar_95: null,
  cost_per_interaction_usd: {
    mean: "0.000102500",
    low95: "0.000098100",
    high95: "0.000106900",
  },
  input_tokens_per_interaction: mean(130, 124.6, 135.4),
  output_tokens_per_interaction: mean(35, 32.1, 37.9),
  latency_ms: { p50: 612, p95: 1480 },
  latency_per_interaction_ms: mean(702.4, 655.3, 749.5),
  warnings: [],
};

function modelFigures(model: string) {
  const { cohort_id: _, ...rest } = figures;
  return {
    ...{ ...rest, model, errors: 2, error_rate: 0.0167 },
    error_rate_95: { low95: 0.0046, high95: 0.0588 },
  };
}

function versus(difference: number | null, low95: number | null, high95: number | null) {
  const distinguishable = low95 === null || high95 === null ? null : low95 > 0 || high95 < 0;
  return { difference, low95, high95, distinguishable };
}

const evalRun = {
  eval_run_id: run,
  created_at: at,
  finished_at: null,
  name: "summaries with a new model",
  model: "vendor-c/claude-haiku-4-5",
  state: "running",
  waiting: null,
  error: null,
  counts: {
    total: 200,
    done: 40,
    passed: 36,
    failed: 3,
    skipped: 1,
    errors: 0,
    cost_usd: "0.012500000",
    unpriced_calls: 0,
  },
};

const filters = { flow: "summary", status: "completed" };
const grader = { type: "json_schema", schema: { type: "object", required: ["title"] } };

export const insightExamples: Readonly<Record<string, OperationExamples>> = {
  postCohortOutcome: {
    requests: {
      outcome: {
        cohort_id: "checkout-b",
        conversions: [
          {
            type: "revenue",
            value: 49.9,
            label: "eu",
            id: "order-1042",
            session_id: "session-17",
          },
          { type: "signups", value: 3 },
        ],
      },
    },
    answers: {
      accepted: {
        status: "ok",
        cohort_id: "checkout-b",
        accepted: 2,
        message: "2 outcomes recorded.",
      },
    },
  },
  getCohort: {
    params: { cohort_id: "checkout-b" },
    answers: {
      figures,
      by_model: {
        ...figures,
        by_model: [
          { ...modelFigures("vendor-c/claude-sonnet-4-6"), versus_first: null },
          {
            ...modelFigures("vendor-b/gpt-5-mini"),
            versus_first: {
              cost_per_interaction_usd: {
                difference: "-0.000081200",
                low95: "-0.000092400",
                high95: "-0.000070000",
                distinguishable: true,
              },
              conversion_rate: versus(-0.021, -0.093, 0.048),
              cost_per_conversion_usd: {
                difference: null,
                low95: null,
                high95: null,
                distinguishable: null,
              },
              revenue_per_dollar: versus(null, null, null),
              latency_per_interaction_ms: versus(-211.4, -268.9, -153.9),
              error_rate: versus(0.017, -0.024, 0.068),
            },
          },
        ],
        unattributed_conversions: [{ type: "signups", label: null, count: 1, value: 3 }],
        by_model_warnings: [],
      },
    },
  },
  createEval: {
    requests: {
      run: {
        name: evalRun.name,
        model: evalRun.model,
        filters,
        limit: 200,
        sample: "random",
        graders: [grader, {
          type: "judge",
          model: "vendor-b/gpt-5-mini",
          prompt: "Is {{answer}} true to {{input}}?",
        }],
      },
    },
    answers: {
      accepted: { status: "ok", eval_run_id: run, total: 200, message: "The run is queued." },
    },
  },
  listEvals: { answers: { page: { data: [evalRun], next: null } } },
  getEval: {
    params: { eval_run_id: run },
    answers: {
      page: {
        ...evalRun,
        filters,
        graders: [grader],
        results: [{
          transaction_id: "0197e0c2-a3f0-7c41-9d2e-6b1f4c8a7d35",
          answer_transaction_id: "0197e0c4-8f11-7a20-b3d6-5e7c1a9f4b82",
          judge_transaction_id: null,
          session_id: "session-17",
          user_id: "user-42",
          created_at: at,
          grader_index: 0,
          grader,
          passed: true,
          score: 1,
          detail: null,
        }],
        next: null,
      },
    },
  },
  cancelEval: {
    params: { eval_run_id: run },
    answers: { cancelled: { ...evalRun, state: "cancelled", finished_at: at } },
  },
};
