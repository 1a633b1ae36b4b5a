import assert from "@std/assert";
import { cohortReport } from "../../contracts/data/cohort_report.ts";
import type { CohortSums, OutcomeSum } from "./cohort.ts";
import { differencesOf } from "./cohort_comparison.ts";
import { figuresBody, figuresOf } from "./cohort_report.ts";

function column(values: readonly number[]) {
  const exact = values.map(BigInt);
  return {
    count: BigInt(values.length),
    sum: exact.reduce((sum, one) => sum + one, 0n),
    sumOfSquares: exact.reduce((sum, one) => sum + one * one, 0n),
  };
}

const milli = 1_000_000;

function outcome(type: string, values: readonly number[], label: string | null = null): OutcomeSum {
  return { type, label, ...column(values.map((value) => Math.round(value * 1e9))) };
}

/** A cohort of calls with these costs, in thousandths of a dollar. */
function cohort(
  costs: readonly number[],
  outcomes: readonly OutcomeSum[],
  more: Partial<CohortSums> = {},
): CohortSums {
  const calls = costs.length;
  return {
    cohortId: "c",
    interactions: BigInt(calls),
    completed: BigInt(calls),
    cost: column(costs.map((cost) => cost * milli)),
    inputTokens: column(costs.map(() => 10)),
    outputTokens: column(costs.map((_, index) => index)),
    latency: column(costs.map(() => 100)),
    latencyP50: calls ? 100 : null,
    latencyP95: calls ? 100 : null,
    outcomes,
    ...more,
  };
}

const bodyOf = (sums: CohortSums) => figuresBody(sums, figuresOf(sums));

Deno.test("figures are those worked out by hand", () => {
  const body = bodyOf(cohort([1, 2, 3, 4], [
    outcome("clicks", [2, 3]),
    outcome("signups", [5], "pro"),
    outcome("revenue", [1, 3]),
  ]));
  assert.equal(body.cost_usd, "0.010000000");
  assert.equal(body.conversions_total, 10);
  assert.equal(body.cost_per_conversion_usd, "0.001000000");
  assert.equal(body.revenue_usd, "4.000000000");
  assert.equal(body.revenue_per_dollar, 400);
  assert.equal(body.conversions_per_interaction?.rate, 2.5);
  // Mean 0.0025, s = 0.0012910, error 0.00064550, t(3) = 3.182446: ± 0.00205426.
  assert.deepEqual(body.cost_per_interaction_usd, {
    mean: "0.002500000",
    low95: "0.000445740",
    high95: "0.004554260",
  });
  // √(0.2582² + 1/10) = 0.408248; e^(1.959964 · 0.408248) = 2.225879
  assert.deepEqual(body.cost_per_conversion_95_usd, {
    low95: "0.000449261",
    high95: "0.002225879",
  });
  // √(0.2582² + 10/16) = 0.831665; e^(1.959964 · 0.831665) = 5.10405
  const { low95 = 0, high95 = 0 } = body.revenue_per_dollar_95 ?? {};
  assert.ok(Math.abs(low95 - 400 / 5.10405) < 0.001 && Math.abs(high95 - 400 * 5.10405) < 0.01);
  assert.deepEqual(body.input_tokens_per_interaction, { mean: 10, low95: 10, high95: 10 });
  assert.equal(body.output_tokens, 6);
});

Deno.test("a cohort of which nothing is known has zeros and nulls, and says so", () => {
  const body = bodyOf(cohort([], []));
  assert.deepEqual(cohortReport.parse(body), body);
  assert.equal(body.cost_usd, "0.000000000");
  assert.equal(body.cost_per_conversion_usd, null);
  assert.equal(body.revenue_per_dollar, null);
  assert.equal(body.conversions_per_interaction, null);
  assert.deepEqual(body.cost_per_interaction_usd, { mean: null, low95: null, high95: null });
  assert.deepEqual(body.warnings.map((one) => one.split(":")[0]), [
    "no_interactions",
    "no_outcomes",
  ]);
});

Deno.test("a warning is there under thirty interactions, not from thirty on", () => {
  const warned = (calls: number) =>
    bodyOf(cohort(Array(calls).fill(1), [outcome("clicks", [1])])).warnings;
  assert.match(warned(29)[0]!, /^small_sample: 29 interactions, fewer than 30/);
  assert.match(warned(1)[0]!, /^small_sample: 1 interaction, fewer than 30/);
  assert.deepEqual(warned(30), []);
});

Deno.test("calls of unknown cost are left out of every figure of cost, and counted", () => {
  const body = bodyOf(
    cohort([1, 3], [outcome("clicks", [4])], { interactions: 4000n, completed: 4000n }),
  );
  assert.equal(body.unknown_cost_interactions, 3998);
  assert.equal(body.cost_per_interaction_usd.mean, "0.002000000");
  assert.match(body.warnings.join(), /unknown_cost: the cost of 3,998 of 4,000 interactions/);
});

Deno.test("one sum of revenue has a ratio and no interval; a cost of nothing has no ratio", () => {
  const one = bodyOf(cohort([1, 2], [outcome("revenue", [9])]));
  assert.equal(one.revenue_per_dollar, 3000);
  assert.equal(one.revenue_per_dollar_95, null);
  assert.equal(one.cost_per_conversion_usd, null);
  const free = bodyOf(cohort([0, 0], [outcome("revenue", [9]), outcome("clicks", [1])]));
  assert.equal(free.revenue_per_dollar, null);
  assert.equal(free.cost_per_conversion_usd, "0.000000000");
  assert.equal(free.cost_per_conversion_95_usd, null);
});

Deno.test("corrections below nothing, and a misspelt revenue, are pointed out", () => {
  const body = bodyOf(
    cohort(Array(30).fill(1), [outcome("clicks", [-2]), outcome("Revenue", [1])]),
  );
  assert.equal(body.conversions_total, -1);
  assert.equal(body.cost_per_conversion_usd, null);
  assert.deepEqual(body.conversions_per_interaction, { rate: -1 / 30, low95: null, high95: null });
  assert.deepEqual(body.warnings.map((one) => one.split(":")[0]), [
    "revenue_spelling",
    "negative_conversions",
  ]);
});

Deno.test("'(others)' is pointed out as a sum, but not as a caller's own label", () => {
  for (const listed of [0, 1_000]) {
    const outcomes = Array.from({ length: listed }, (_, at) => outcome("clicks", [1], `a ${at}`));
    const body = bodyOf(
      cohort(Array(30).fill(1), [outcome("clicks", [2], "(others)"), ...outcomes]),
    );
    const names = body.warnings.map((one) => one.split(":")[0]);
    assert.deepEqual(names, listed === 0 ? [] : ["many_labels"]);
  }
});

Deno.test("what corrections leave next to nothing of has figures without an interval", () => {
  const left = cohort([1, 2, 3], [outcome("signups", [1, -0.999999999])]);
  const refunded = cohort([1, 2, 3], [outcome("revenue", [100, -99.99]), outcome("clicks", [2])]);
  for (
    const [sums, figure] of [[left, "cost_per_conversion_95_usd"], [
      refunded,
      "revenue_per_dollar_95",
    ]] as const
  ) {
    const body = bodyOf(sums);
    assert.deepEqual(cohortReport.parse(JSON.parse(JSON.stringify(body))), body);
    assert.equal(body[figure], null);
  }
  assert.equal(bodyOf(left).cost_per_conversion_usd, "6000000.000000000");
  const [one, other] = [left, refunded].map((sums) => ({ sums, figures: figuresOf(sums) }));
  const { cost_per_conversion_usd, revenue_per_dollar } = differencesOf(one!, other!);
  assert.deepEqual([cost_per_conversion_usd.high95, revenue_per_dollar.high95], [null, null]);
});

Deno.test("limits of what can't be negative begin at zero", () => {
  const body = bodyOf(cohort([0, 0, 0, 100], []));
  assert.equal(body.cost_per_interaction_usd.low95, "0.000000000");
});

Deno.test("cohorts that differ are distinguished, those that may be equal are not", () => {
  const made = (costs: readonly number[], clicks: number) => {
    const sums = cohort(costs, [outcome("clicks", Array(clicks).fill(1))]);
    return { sums, figures: figuresOf(sums) };
  };
  const cheap = made(Array.from({ length: 40 }, (_, n) => 10 + n % 3), 100);
  const dear = made(Array.from({ length: 50 }, (_, n) => 20 + n % 5), 20);
  const differences = differencesOf(cheap, dear);
  assert.equal(differences.interactions.difference, -10);
  assert.equal(differences.conversions_total.difference, 80);
  // 10.975 and 22 thousandths.
  assert.equal(differences.cost_per_interaction_usd.difference, "-0.011025000");
  assert.equal(differences.cost_per_interaction_usd.distinguishable, true);
  assert.equal(differences.conversions_per_interaction.distinguishable, true);
  assert.equal(differences.cost_per_conversion_usd.distinguishable, true);
  assert.equal(differences.revenue_per_dollar.difference, null);
  assert.equal(differences.revenue_per_dollar.distinguishable, null);
  const alike = differencesOf(cheap, made(Array.from({ length: 40 }, (_, n) => 10 + n % 4), 97));
  assert.equal(alike.conversions_per_interaction.distinguishable, false);
  assert.equal(alike.input_tokens_per_interaction.distinguishable, false);
  const none = differencesOf(cheap, made([], 3));
  assert.deepEqual(none.cost_per_interaction_usd, {
    difference: null,
    low95: null,
    high95: null,
    distinguishable: null,
  });
});
