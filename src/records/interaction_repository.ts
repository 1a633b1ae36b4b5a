import type { VendorReply } from "../shared/fault.ts";
import type {
  InteractionListQuery,
  InteractionSummary,
  ListPosition,
} from "../shared/interaction.ts";

/** A payload of a stored call; `text` is only its beginning if it is very large. */
export interface StoredPayload {
  text: string;
  /** Size of the whole payload in UTF-8. */
  bytes: number;
  isWhole: boolean;
}

/** One stored call with its payloads. */
export interface InteractionDetail {
  summary: InteractionSummary;
  /** `pricedUsageText`; null in rows that are older than the column. */
  pricedUsageText: string | null;
  /** Null if there was none, or retention has erased it. */
  request: StoredPayload | null;
  response: StoredPayload | null;
  /**
   * What the vendor answered to a call that failed; null if there was no such answer, or it was
   * erased.
   */
  vendorAnswer: VendorReply | null;
}

/** Request and response of a call, if they are short enough to be shown beside others. */
export interface CallTexts {
  transactionId: string;
  dialect: string;
  /** JSON text; null if there is none, or if it is longer than `maxChars`. */
  request: string | null;
  response: string | null;
}

/**
 * What a call of a session used and how it ended. Few fields, since a page has up to a thousand
 * calls.
 */
export const sessionFields = [
  ...["transactionId", "createdAt", "vendor", "model", "status", "errorCode", "latencyMs"] as const,
  ...["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"] as const,
  ...["costNanos", "priceVersion", "translationLoss"] as const,
] as const;

export type SessionCall = Pick<InteractionSummary, typeof sessionFields[number]>;

/** Which rows a page of the dashboard shows. */
export interface InteractionPageQuery extends InteractionListQuery {
  /** Words and quoted phrases that request or response must contain, as a person types them. */
  search?: string;
}

export interface InteractionListPage {
  rows: InteractionSummary[];
  /** Where the next page begins; absent after the last row. */
  next?: ListPosition;
  /** The rows beyond were not searched: `next` continues there. */
  searchedBackTo?: Date;
}

/** Interactions as people of one account see them: no query reaches another account's. */
export interface InteractionRepository {
  /**
   * One page of rows; may end early, with `searchedBackTo`, where few of many rows match a search or
   * filters without an index.
   */
  page(query: InteractionPageQuery): Promise<InteractionListPage>;
  /** The first calls of a session, oldest first; `isAll` says whether there are no more. */
  sessionCalls(
    accountId: number,
    sessionId: string,
    limit: number,
  ): Promise<{ calls: SessionCall[]; isAll: boolean }>;
  /** Undefined if the account has no such call. Payloads are cut after `maxChars`. */
  find(
    accountId: number,
    transactionId: string,
    maxChars: number,
  ): Promise<InteractionDetail | undefined>;
  /**
   * Returns number and cost of the newest calls of a list, at most `limit`, and of as many as a page
   * searches; `isAll`: there are no more.
   */
  totals(
    query: InteractionListQuery,
  ): Promise<{ calls: number; costNanos: bigint; isAll: boolean }>;
  /**
   * Returns the payloads of several calls, if they are at most `maxChars` long; calls that are gone
   * are absent.
   */
  texts(
    accountId: number,
    transactionIds: readonly string[],
    maxChars: number,
  ): Promise<CallTexts[]>;
}
