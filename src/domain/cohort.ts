import { sha256Hex } from "../base/hash.ts";
import { nanoDigits, parseUsd } from "../base/money.ts";
import { Fault, messageOf } from "./fault.ts";
import type { Sums } from "./statistics.ts";

/** One item of an outcome as it is stored. */
export interface OutcomeItem {
  type: string;
  label: string | null;
  /** Billionths. */
  valueNanos: bigint;
  /** The caller's own id, under which the item counts once in its cohort. */
  itemId: string | null;
}

export interface OutcomePost {
  accountId: number;
  apiKeyId: string;
  cohortId: string;
  /** `X-Request-ID`, the caller's or ours. */
  requestId: string;
  items: readonly OutcomeItem[];
}

/** What the store knows of one cohort; exact. */
export interface CohortSums {
  cohortId: string;
  interactions: bigint;
  completed: bigint;
  cost: Sums;
  inputTokens: Sums;
  outputTokens: Sums;
  /** Of completed calls. */
  latency: Sums;
  latencyP50: number | null;
  latencyP95: number | null;
  outcomes: readonly OutcomeSum[];
}

/** Items of one type and label; values in billionths. */
export interface OutcomeSum extends Sums {
  type: string;
  label: string | null;
}

/** Where outcomes live, and where a cohort's calls are summed. Implemented in `src/store/cohorts.ts`. */
export interface CohortStore {
  /**
   * Stores the items and tells how many are new. A repeat of the same post within 24 hours adds
   * nothing, nor does an item whose id is known; either with other content is `idempotency_conflict`
   * and stores nothing.
   */
  post(post: OutcomePost): Promise<{ accepted: number; repeated: boolean }>;
  /** Sums in the order of the ids; zeros for a cohort that nobody has named yet. */
  read(accountId: number, cohortIds: readonly string[]): Promise<CohortSums[]>;
}

/** What makes two posts the same. */
export function outcomeHash({ cohortId, items }: Pick<OutcomePost, "cohortId" | "items">): string {
  return sha256Hex(JSON.stringify([
    cohortId,
    items.map(({ type, label, valueNanos, itemId }) => [type, label, String(valueNanos), itemId]),
  ]));
}

/**
 * The values of `conversions` in billionths, exactly as they stand in the body's text: `JSON.parse`
 * alone would make `0.1` something near it. The text has passed the contract.
 */
export function outcomeValues(bodyText: string): bigint[] {
  const body = JSON.parse(bodyText, sourceOfValue) as { conversions: { value: string }[] };
  return body.conversions.map(({ value }, index) => {
    try {
      return parseUsd(value, nanoDigits, {
        allowExponent: true,
        allowNegative: true,
        excess: "nearest",
      });
    } catch (thrown) {
      const param = `conversions[${index}].value`;
      throw new Fault("invalid_value", { param, message: `${param}: ${messageOf(thrown)}.` });
    }
  });
}

/** The number's own text, which the engine hands to a reviver. */
function sourceOfValue(key: string, value: unknown, context?: { source?: string }): unknown {
  return key === "value" && typeof value === "number" ? context?.source ?? String(value) : value;
}
