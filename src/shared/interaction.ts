import type { Retained } from "./stored_response.ts";
import type { Media } from "./media.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";

/** Whose vendor key a call used: the service's own, the account's stored one, the caller's. */
export type Mode = "managed" | "stored_key" | "dual_key";

/**
 * How a call ended. `failed`: vendor error, timeout or ours; `truncated`: the vendor's stream was
 * cut; `cancelled`: the caller left; `interrupted`: our process died.
 */
export type InteractionStatus = "completed" | "failed" | "truncated" | "cancelled" | "interrupted";

/** Unified finish reason, in the chat dialect's words. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/**
 * Where the number of tokens, and so the cost, comes from. `disputed`: the vendor reported more than
 * ten times what was set aside; the cost is what was set aside.
 */
export type BillingBasis = "reported" | "vendor_cost" | "estimated" | "disputed" | "none";

/** One request of a call to a vendor, as exports show it. */
export interface VendorAttempt {
  vendor: string;
  model: string;
  /** Null when no answer began. */
  http_status: number | null;
  /** What that was to our caller; null for a good answer. */
  error_code: ErrorCode | null;
  ms: number;
}

/**
 * One stored call. Money is in nano-dollars. `requestText` and `responseText` are JSON text as the
 * caller sent and received it. How each field is stored is in `src/records/columns.ts`.
 */
export interface Interaction {
  transactionId: string;
  createdAt: Date;
  requestId: string;
  sessionId: string | null;
  userId: string | null;
  accountId: number;
  apiKeyId: string;
  app: string | null;
  flow: string | null;
  cohortId: string | null;
  /** Path template of the endpoint, such as `/chat/v1/chat/completions`. */
  endpoint: string;
  dialect: string;
  vendor: string;
  model: string;
  requestedModel: string;
  mode: Mode;
  stream: boolean;
  status: InteractionStatus;
  httpStatus: number | null;
  errorCode: ErrorCode | null;
  finishReason: FinishReason | null;
  inputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  outputTokens: number | null;
  reasoningTokens: number | null;
  totalTokens: number | null;
  costNanos: bigint | null;
  chargedNanos: bigint;
  billingBasis: BillingBasis;
  priceVersion: string | null;
  usageRawText: string | null;
  translationLoss: string[];
  latencyMs: number;
  timeToFirstTokenMs: number | null;
  requestText: string | null;
  responseText: string | null;
  payloadTruncated: boolean;
  /** All requests to vendors, the last one answered or ended the call; absent for a single one. */
  attempts?: readonly VendorAttempt[];
}

/**
 * One settled call: its record, and what is written, charged or announced with it but never read
 * back as part of the record.
 */
export interface SettledCall extends Interaction {
  /** What the call leaves for the turns that follow. */
  retained?: Retained;
  /** Media that the payloads name. */
  media?: readonly Media[];
  /** Everything that the price depended on (`pricedUsageText`). */
  pricedUsageText?: string;
  /** For a cost that the vendor reported: what its price list says. For metrics; not stored. */
  listCostUsd?: string;
  /**
   * Calls whose content this one repeats on our own account, as an evaluation does: it is not
   * written once they are erased.
   */
  sourceCallIds?: readonly string[];
  /** The idempotent request that this call answers , and its claim; not stored. */
  repeat?: { key: string; claimId: string };
  /** The lease that the charge comes out of; for the ledger, which posts it with the row. */
  leaseId?: string;
}

/**
 * The least of a call's record, for where more of it can't be written: who, when, how it ended and
 * what it cost, without what was said and without the vendor's own words.
 */
export function bareInteraction(row: SettledCall): SettledCall {
  const { retained, media: _media, pricedUsageText: _priced, ...rest } = row;
  const background = retained?.background;
  return {
    ...rest,
    // Without it the call would be asked for anew.
    ...(background ? { retained: { reasoning: [], background } } : {}),
    translationLoss: [],
    usageRawText: null,
    requestText: null,
    responseText: null,
    payloadTruncated: true,
  };
}

/** Which rows a read wants. Times are half-open: `start` ≤ createdAt < `end`. */
export interface InteractionQuery {
  accountId: number;
  start?: Date;
  end?: Date;
  /** Public column name → values of which any matches. */
  filters?: Readonly<Record<string, readonly (string | number | boolean)[]>>;
  /** Only rows that had been written when this was taken (`ExportSource.snapshot`). */
  snapshot?: string;
}

/** One stored call without what was said in it. */
export type InteractionSummary = Omit<Interaction, "requestText" | "responseText">;

/** Where a page of a list ended. */
export interface ListPosition {
  createdAt: Date;
  transactionId: string;
}

/** Which rows a page of a list wants; both ends of the ranges are included. */
export interface InteractionListQuery extends InteractionQuery {
  costNanos?: { min?: bigint; max?: bigint };
  latencyMs?: { min?: number; max?: number };
  order: "newest" | "oldest";
  /** The page begins after this row; absent: at the first. */
  after?: ListPosition;
  /** Rows of a page. */
  limit: number;
}

export interface InteractionPage {
  rows: InteractionSummary[];
  /** Where the next page begins; absent after the last row. */
  next?: ListPosition;
}

/** Where interactions are written and listed: the part of `AnalyticsStore` that calls need. */
export interface InteractionStore {
  /** Writes rows; a row whose `transactionId` is there already is left as it is. */
  insert(rows: readonly SettledCall[]): Promise<void>;
  /** Rows oldest first, in pages read by keyset, so that memory stays flat at any size. */
  read(query: InteractionQuery): AsyncIterable<Interaction>;
  /** One page of rows without payloads; as fast on page 1,000 as on page 1. */
  list(query: InteractionListQuery): Promise<InteractionPage>;
}

/** What of a call says whether a deletion covers it. */
export interface SelectableCall {
  accountId: number;
  transactionId: string;
  createdAt: Date;
  sessionId: string | null;
  userId: string | null;
}
