import type { Grader } from "../../contracts/data/eval_request.ts";
import { type PriceRow, rateAt } from "../pricing/pricing.ts";

/** What an evaluation is likely to cost, before it is started. */
export interface EvalEstimate {
  /** Stored calls that match, as many as the run would take. */
  calls: number;
  /** Nano-dollars; undefined where a price or the calls' tokens are not known. */
  costNanos: bigint | undefined;
}

/** Tokens that a judge's prompt adds to its input, and tokens of its answer. */
const judgePrompt = 300;
const judgeAnswer = 100;

/**
 * Estimates the cost of evaluating this many calls, whose average tokens are `average`. The model
 * gets the stored input again, and its answer is assumed to be as long as the stored one; each judge
 * reads the input and both answers.
 */
export function estimateEval(
  calls: number,
  average: { input: number; output: number } | undefined,
  { model, graders, priceOf }: {
    model: string;
    graders: readonly Grader[];
    priceOf: (model: string) => PriceRow | undefined;
  },
): EvalEstimate {
  if (calls === 0) return { calls, costNanos: 0n };
  if (!average) return { calls, costNanos: undefined };
  const { input, output } = average;
  let pico = 0n;
  const judges = graders.flatMap((grader) => grader.type === "judge" ? [grader.model] : []);
  const parts = [
    { name: model, input, output },
    ...judges.map((name) => ({
      name,
      input: input + 2 * output + judgePrompt,
      output: judgeAnswer,
    })),
  ];
  for (const part of parts) {
    const row = priceOf(part.name);
    if (!row) return { calls, costNanos: undefined };
    pico += BigInt(Math.ceil(part.input)) * rateAt(row, "input", part.input) +
      BigInt(Math.ceil(part.output)) * rateAt(row, "output", part.input) +
      (row.rates.perRequest ?? 0n);
  }
  return { calls, costNanos: BigInt(calls) * pico / 1000n };
}
