import { sha256Hex } from "../base/hash.ts";
import { nanoDigits, parseUsd } from "../base/money.ts";
import type { CallSums, Sums } from "../shared/call_sums.ts";
import { invalidValue, messageOf } from "../shared/fault.ts";

export interface OutcomeItem {
  type: string;
  label: string | null;
  /** Billionths. */
  valueNanos: bigint;
  /** The caller's own id, under which the item counts once in its cohort. */
  itemId: string | null;
  /** The call, or else the session, that it came of; whether these are stored is not asked. */
  transactionId: string | null;
  sessionId: string | null;
}

export interface OutcomePost {
  accountId: number;
  apiKeyId: string;
  cohortId: string;
  /** `X-Request-ID`, the caller's or ours. */
  requestId: string;
  items: readonly OutcomeItem[];
}

/** Sums of calls and of what came of them; exact. */
export interface FigureSums extends CallSums {
  outcomes: readonly OutcomeSum[];
}

/** What the store knows of one cohort. */
export interface CohortSums extends FigureSums {
  cohortId: string;
}

/** What the store knows of a cohort's calls to one model. */
export interface ModelSums extends FigureSums {
  /** With its vendor, as `vendor-c/claude-sonnet-4-6`. */
  model: string;
  /** Calls that failed, were cut by the vendor or were interrupted by us. */
  errors: bigint;
}

export interface CohortModels {
  /** Those with the most calls first. */
  models: readonly ModelSums[];
  /** Items that belong to no call of the cohort, or don't name one. */
  unattributed: readonly OutcomeSum[];
  /** Models with fewer calls than these were left out. */
  hasMoreModels: boolean;
  /** Older items that name a call or a session were left out. */
  hasMoreItems: boolean;
}

/** Items of one type and label; values in billionths. */
export interface OutcomeSum extends Sums {
  type: string;
  label: string | null;
}

/** Figures of a cohort's latest calls and outcomes, which are all of them unless it is said. */
export interface LatestSums {
  sums: CohortSums;
  /** Older calls and outcomes than this were left out; null: none since the time asked for. */
  cutAt: Date | null;
}

/** A cohort in a list. */
export interface CohortLine {
  cohortId: string;
  /** Null for one that only outcomes name. */
  lastCallAt: Date | null;
  /** Calls since the time asked for, at most as many as asked for, with what is known of their cost. */
  calls: { counted: number; priced: number; costNanos: bigint; isCut: boolean };
  /** Items in the same way; conversions and revenue in billionths, revenue null when none came. */
  outcomes: { conversionNanos: bigint; revenueNanos: bigint | null; isCut: boolean };
}

/** A page of a list: cohorts from a name on, in the order of names. */
export interface CohortPage {
  lines: CohortLine[];
  /** The name that the next page begins with. */
  next: string | undefined;
}

/** What of each cohort is counted: so much has to be read, however large it is. */
export interface CohortBounds {
  since: Date | null;
  /** Calls, and items of outcomes. */
  most: number;
}

/** Where outcomes live, and where a cohort's calls are summed. Implemented in `src/cohorts/store/cohorts.ts`. */
export interface CohortStore {
  /**
   * Stores the items and tells how many are new. A repeat of the same post within 24 hours adds
   * nothing, nor does an item whose id is known; either with other content is `idempotency_conflict`
   * and stores nothing.
   */
  post(post: OutcomePost): Promise<{ accepted: number; repeated: boolean }>;
  /** Sums in the order of the ids; zeros for a cohort that nobody has named yet. */
  read(accountId: number, cohortIds: readonly string[]): Promise<CohortSums[]>;
  /** The same of the latest calls, and of outcomes that came since the oldest of these. */
  readLatest(
    accountId: number,
    cohortIds: readonly string[],
    bounds: CohortBounds,
  ): Promise<LatestSums[]>;
  /**
   * The same of one cohort by model: of all calls, or of the latest and of the latest items since the
   * oldest of these. An item belongs to the call that it names, else to its session's last call of the
   * cohort before it, or the first after it.
   */
  readModels(accountId: number, cohortId: string, bounds?: CohortBounds): Promise<CohortModels>;
  /** Cohorts that calls or outcomes name, from this name on. */
  list(
    accountId: number,
    page: CohortBounds & { from: string; limit: number },
  ): Promise<CohortPage>;
}

/** What makes two posts the same. */
export function outcomeHash({ cohortId, items }: Pick<OutcomePost, "cohortId" | "items">): string {
  return sha256Hex(JSON.stringify([
    cohortId,
    items.map(({ type, label, valueNanos, itemId, transactionId, sessionId }) => [
      ...[type, label, String(valueNanos), itemId],
      // Items without have the hash of before there were any.
      ...(transactionId === null && sessionId === null ? [] : [transactionId, sessionId]),
    ]),
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
      throw invalidValue(param, messageOf(thrown));
    }
  });
}

/** The number's own text, which the engine hands to a reviver. */
function sourceOfValue(key: string, value: unknown, context?: { source?: string }): unknown {
  return key === "value" && typeof value === "number" ? context?.source ?? String(value) : value;
}
