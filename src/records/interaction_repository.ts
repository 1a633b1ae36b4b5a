import type {
  InteractionListQuery,
  InteractionSummary,
  ListPosition,
} from "../shared/interaction.ts";

/** A payload of a stored call; `text` is its beginning where it is very large. */
export interface StoredPayload {
  text: string;
  /** Of the whole, in UTF-8. */
  bytes: number;
  isWhole: boolean;
}

/** One stored call with what was said in it. */
export interface InteractionDetail {
  summary: InteractionSummary;
  /** `pricedUsageText`; null in rows from before it was kept. */
  pricedUsageText: string | null;
  /** Null: nothing was said, or it is gone (retention). */
  request: StoredPayload | null;
  response: StoredPayload | null;
}

/** Which rows a page of the dashboard shows. */
export interface InteractionPageQuery extends InteractionListQuery {
  /** Words that request or response hold, as people write them. */
  search?: string;
}

export interface InteractionListPage {
  rows: InteractionSummary[];
  /** Where the next page begins; absent after the last row. */
  next?: ListPosition;
  /** Rows beyond this time were not looked at: `next` goes on there. */
  searchedBackTo?: Date;
}

/** Interactions as one account's people look at them: nothing reaches another account's. */
export interface InteractionRepository {
  /** One page of rows; may end early, with `lookedTo`, where few of many rows match. */
  page(query: InteractionPageQuery): Promise<InteractionListPage>;
  /** Undefined when the account has no such call. Payloads are cut after `maxChars`. */
  find(
    accountId: number,
    transactionId: string,
    maxChars: number,
  ): Promise<InteractionDetail | undefined>;
}
