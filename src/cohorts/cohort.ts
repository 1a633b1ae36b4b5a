import { sha256Hex } from "../base/hash.ts";
import { itemsAt, locate, membersAt } from "../base/json_text.ts";
import { nanoDigits, parseUsd } from "../base/money.ts";
import { finish } from "../base/steps.ts";
import type { CallSums, Sums } from "../shared/call_sums.ts";
import { invalidValue, messageOf } from "../shared/fault.ts";

export interface OutcomeItem {
  type: string;
  label: string | null;
  /** Billionths. */
  valueNanos: bigint;
  /** The caller's own id, under which the item counts once in its cohort. */
  itemId: string | null;
  /** The call, or else the session, that led to the item; whether it is stored isn't checked. */
  transactionId: string | null;
  sessionId: string | null;
  /** When it happened, for the demo's calls of the past; usually absent: when it is posted. */
  at?: Date;
}

export interface OutcomePost {
  accountId: number;
  apiKeyId: string;
  cohortId: string;
  /** `X-Request-ID`, the caller's or ours. */
  requestId: string;
  items: readonly OutcomeItem[];
}

/** Exact sums of calls and of their outcomes. */
export interface FigureSums extends CallSums {
  outcomes: readonly OutcomeSum[];
}

/** The sums of one cohort. */
export interface CohortSums extends FigureSums {
  cohortId: string;
}

/** The sums of a cohort's calls to one model. */
export interface ModelSums extends FigureSums {
  /** With its vendor's prefix, such as `vendor-c/claude-sonnet-4-6`. */
  model: string;
  /** Calls that failed, were cut off by the vendor or were interrupted by us. */
  errors: bigint;
}

export interface CohortModels {
  /** Sorted by number of calls, the highest first. */
  models: readonly ModelSums[];
  /** Items that name no call or session, or none of this cohort. */
  unattributed: readonly OutcomeSum[];
  /** Whether models with fewer calls than these were left out. */
  hasMoreModels: boolean;
  /** Whether older items that name a call or a session were left out. */
  hasMoreItems: boolean;
}

/** Items of one type and label; values in billionths. */
export interface OutcomeSum extends Sums {
  type: string;
  label: string | null;
}

/** Sums of a cohort's latest calls and outcomes; these are all of them if `cutAt` is null. */
export interface LatestSums {
  sums: CohortSums;
  /** Calls and outcomes older than this were left out; null: none within the requested time. */
  cutAt: Date | null;
}

/** A cohort in a list. */
export interface CohortLine {
  cohortId: string;
  /** Null for a cohort that only outcomes name. */
  lastCallAt: Date | null;
  /** Calls within the bounds; `priced` and `costNanos` are of those whose cost is known. */
  calls: { counted: number; priced: number; costNanos: bigint; isCut: boolean };
  /** Items within the bounds; both values in billionths, revenue null without revenue items. */
  outcomes: { conversionNanos: bigint; revenueNanos: bigint | null; isCut: boolean };
}

/** A page of a list of cohorts, sorted by name. */
export interface CohortPage {
  lines: CohortLine[];
  /** The first name of the next page. */
  next: string | undefined;
}

/** The part of each cohort that is counted, which bounds how much is read of a large one. */
export interface CohortBounds {
  since: Date | null;
  /** The most calls, and the most items of outcomes. */
  most: number;
}

/**
 * Stores outcomes, and sums them and the calls of cohorts. Implemented in
 * `src/cohorts/store/cohorts.ts`.
 */
export interface CohortStore {
  /**
   * Stores the items; `accepted` is the number of new ones. A repeat of the same post within 24
   * hours adds nothing, nor does an item whose id exists; either with other content throws
   * `idempotency_conflict` and stores nothing.
   */
  post(post: OutcomePost): Promise<{ accepted: number; repeated: boolean }>;
  /** Returns sums in the order of the ids; zeros for a cohort without calls and outcomes. */
  read(accountId: number, cohortIds: readonly string[]): Promise<CohortSums[]>;
  /** Like `read`, for the latest calls and the outcomes posted since the oldest of them. */
  readLatest(
    accountId: number,
    cohortIds: readonly string[],
    bounds: CohortBounds,
  ): Promise<LatestSums[]>;
  /**
   * Returns one cohort's sums by model: of all calls, or with `bounds` of the latest calls and the
   * latest items since the oldest of them. An item belongs to the call that it names, else to the
   * last call of its session in the cohort before the item, else to the first one after it.
   */
  readModels(accountId: number, cohortId: string, bounds?: CohortBounds): Promise<CohortModels>;
  /** Lists cohorts that calls or outcomes name, starting with the name `from`. */
  list(
    accountId: number,
    page: CohortBounds & { from: string; limit: number },
  ): Promise<CohortPage>;
}

/** Returns a hash that is equal for two posts with the same content. */
export function outcomeHash({ cohortId, items }: Pick<OutcomePost, "cohortId" | "items">): string {
  return sha256Hex(JSON.stringify([
    cohortId,
    items.map(({ type, label, valueNanos, itemId, transactionId, sessionId }) => [
      ...[type, label, String(valueNanos), itemId],
      // Items without either keep the hash that they had before these fields existed.
      ...(transactionId === null && sessionId === null ? [] : [transactionId, sessionId]),
    ]),
  ]));
}

/**
 * Returns the values of `conversions` in billionths, read from the digits in the body's text, since
 * parsing would round `0.1` to a binary fraction. The text must have been validated before. Throws
 * faults that name the item.
 */
export function outcomeValues(bodyText: string): bigint[] {
  const conversions = locate(bodyText, ["conversions"])!;
  return finish(itemsAt(bodyText, conversions)).map(({ start }, index) => {
    const { valueStart, valueEnd } = membersAt(bodyText, start)!.members.get("value")!;
    try {
      return parseUsd(bodyText.slice(valueStart, valueEnd), nanoDigits, {
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
