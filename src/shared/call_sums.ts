/** Exact sums over the known values of one column. */
export interface Sums {
  /** How many values are known. */
  count: bigint;
  sum: bigint;
  sumOfSquares: bigint;
}

/** Sums of calls by cohort or model. */
export interface CallSums {
  interactions: bigint;
  completed: bigint;
  cost: Sums;
  inputTokens: Sums;
  outputTokens: Sums;
  /** Of completed calls. */
  latency: Sums;
  latencyP50: number | null;
  latencyP95: number | null;
}
