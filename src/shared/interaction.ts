import type { Retained } from "./stored_response.ts";
import type { Media } from "./media.ts";
import type { UsageGroup } from "../../contracts/data/usage.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import type { VendorReply } from "./fault.ts";

/** Whose vendor key a call used: the service's, one stored by the account, or the caller's. */
export type Mode = "managed" | "stored_key" | "dual_key";

/**
 * How a call ended. `failed`: by an error of the vendor, a timeout or our own error; `truncated`: the
 * vendor's stream broke off; `cancelled`: the caller left; `interrupted`: our process died.
 */
export type InteractionStatus = "completed" | "failed" | "truncated" | "cancelled" | "interrupted";

/** Unified finish reason, named as in the chat dialect. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/**
 * The source of the token counts, and so of the cost. `disputed`: the vendor reported more than ten
 * times the authorized amount; the cost is the authorized amount.
 */
export type BillingBasis = "reported" | "vendor_cost" | "estimated" | "disputed" | "none";

/** Whether the response cache had an answer to a call. */
export type CacheResult = "hit" | "miss";

/** One vendor request of a call, as in exports. */
export interface VendorAttempt {
  vendor: string;
  model: string;
  /** Null without an answer. */
  http_status: number | null;
  /** The error code for our caller; null for a good answer. */
  error_code: ErrorCode | null;
  ms: number;
}

/**
 * Longest name of an end user that an index of the records can hold, in UTF-16 units. The store
 * would refuse a row with a longer one.
 */
export const longestEndUser = 500;

/**
 * One stored call. Money is in nano-dollars. `requestText` and `responseText` are JSON text as the
 * caller sent and received it. `src/records/columns.ts` defines how each field is stored.
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
  /** All vendor requests, the last of which answered or ended the call; absent for a single one. */
  attempts?: readonly VendorAttempt[];
  /** Whether the response cache had the answer; absent where it was not asked. */
  cache?: CacheResult;
  /** The program that called, as the first product of its `User-Agent` names it; absent: unknown. */
  client?: string;
  /**
   * Id of the trace that the call belongs to: the caller's, or ours if traces are exported; else
   * absent.
   */
  traceId?: string;
  /** The content of the call was not recorded; absent where it was. */
  recording?: "metadata";
}

/**
 * A settled call: its record, and what is stored, charged or published with it but not read back as
 * part of the record.
 */
export interface SettledCall extends Interaction {
  /** Stored response and reasoning for later turns of the conversation. */
  retained?: Retained;
  /** Media that the payloads reference by hash. */
  media?: readonly Media[];
  /** What the vendor answered to a call that failed; stored with the payloads. */
  vendorAnswer?: VendorReply;
  /** Everything that the price depended on (`pricedUsageText`). */
  pricedUsageText?: string;
  /** For a vendor-reported cost: the cost by the price list. For metrics; not stored. */
  listCostUsd?: string;
  /**
   * Earlier calls whose content this call repeats: those that an evaluation repeats, or the turns
   * before it on a WebSocket. If one is erased before this call is stored, neither is this call.
   */
  sourceCallIds?: readonly string[];
  /** The idempotent request that this call answers; not stored. */
  repeat?: RepeatClaim;
  /** The credit lease that pays the charge; for the ledger. */
  leaseId?: string;
  /** The leases of key caps and budgets that the charge comes out of. */
  limitLeaseIds?: readonly string[];
}

/** An attempt at answering an idempotent request. */
export interface RepeatClaim {
  key: string;
  claimId: string;
  /** What the id is used for; only where the call went on without a claim in the store. */
  fingerprint?: string;
}

/**
 * Cap on the claims that are stored of one request. A call whose claim is dropped for it is charged
 * beside the others. Only processes that died or lost their database leave claims behind, so no
 * request gets near.
 */
export const maxPastClaims = 10_000;

/** One request to a vendor, for traces. Times are milliseconds of the monotonic clock. */
export interface VendorRequestTime {
  vendor: string;
  model: string;
  /** The vendor's base URL. */
  baseUrl: string;
  startMs: number;
  /** When its answer was over, or it failed. */
  endMs: number;
  httpStatus: number | null;
  errorCode: ErrorCode | null;
}

/** Where the time of a call went, in milliseconds by the monotonic clock. */
export interface CallTiming {
  /** From the request's arrival until its record was safe and the answer's last byte may leave. */
  totalMs: number;
  /**
   * Time during which a request to a vendor was under way, with retries, their waits and the
   * answer.
   */
  vendorMs: number;
  /** What remains of `totalMs` without the vendor's time and the upload of the request. */
  overheadMs: number;
  /** From the request's arrival to the first token. */
  firstTokenMs?: number;
}

/** A call that has ended, for metrics and traces. */
export interface ObservedCall {
  call: SettledCall;
  timing: CallTiming;
  /** When it arrived, by the monotonic clock. */
  arrivedMs: number;
  /** Its requests to vendors, in order. */
  requests: readonly VendorRequestTime[];
  /** The model that the vendor says it used. */
  responseModel: string | undefined;
  /** The caller's header, which names its span. */
  traceparent: string | undefined;
}

/**
 * The minimal record, if the full one can't be written: who, when, how it ended, what it cost and
 * the usage that is repriced, without payloads and vendor texts.
 */
export function bareInteraction(row: SettledCall): SettledCall {
  const { retained, media: _media, vendorAnswer: _answer, ...rest } = row;
  const background = retained?.background;
  return {
    ...rest,
    // Without it the background call would run again.
    ...(background ? { retained: { reasoning: [], background } } : {}),
    translationLoss: [],
    usageRawText: null,
    requestText: null,
    responseText: null,
    payloadTruncated: true,
  };
}

/** Selects rows. Times are half-open: `start` ≤ createdAt < `end`. */
export interface InteractionQuery {
  accountId: number;
  start?: Date;
  end?: Date;
  /** Public column name → values of which any matches. */
  filters?: Readonly<Record<string, readonly (string | number | boolean)[]>>;
  /** Names of which any has to match, at the vendor or with its label (`vendor-b/gpt-5-mini`). */
  modelNames?: readonly string[];
  /** The column of the filter whose index has few calls; the other filters are only checked. */
  indexedBy?: string;
  /** Only rows that had been written by then (`ExportSource.snapshot`). */
  snapshot?: string;
  /** `readLines` alone: payloads aren't read, and their cells are null. */
  withoutPayloads?: boolean;
}

/** One stored call without its payloads. */
export type InteractionSummary = Omit<Interaction, "requestText" | "responseText">;

/** The last row of a page. */
export interface ListPosition {
  createdAt: Date;
  transactionId: string;
}

/** Selects a page of a list; ranges include both ends. */
export interface InteractionListQuery extends InteractionQuery {
  costNanos?: { min?: bigint; max?: bigint };
  latencyMs?: { min?: number; max?: number };
  order: "newest" | "oldest";
  /** The page begins after this row; default: at the first. */
  after?: ListPosition;
  /** Max rows of the page. */
  limit: number;
}

export interface InteractionPage {
  rows: InteractionSummary[];
  /** Where the next page begins; absent after the last row. */
  next?: ListPosition;
}

/** Selects stored calls to be summed by their labels; times are half-open. */
export interface GroupedCallsQuery {
  accountId: number;
  labels: readonly UsageGroup[];
  from: Date;
  to: Date;
  /** Max groups. */
  most: number;
}

/** Sums of calls; amounts in nano-dollars. */
export interface GroupSums {
  calls: bigint;
  /** Of `calls`: those that failed, were truncated or interrupted. */
  failed: bigint;
  inputTokens: bigint;
  outputTokens: bigint;
  costNanos: bigint;
  chargedNanos: bigint;
}

export interface GroupedCalls extends GroupSums {
  /** In the order of the query's labels. */
  values: (string | null)[];
}

export interface InsertOptions {
  /**
   * How long to wait for each lock that another session holds; then nothing is written, and
   * `store_unavailable` is thrown. Default: no limit.
   */
  lockMs?: number | undefined;
}

/** The part of `AnalyticsStore` that calls need. */
export interface InteractionStore {
  /** Writes rows; an existing row with the same `transactionId` stays as it is. */
  insert(rows: readonly SettledCall[], options?: InsertOptions): Promise<void>;
  /** Rows oldest first, read in pages by keyset, in constant memory. */
  read(query: InteractionQuery): AsyncIterable<Interaction>;
  /** One page of rows without payloads; as fast on page 1,000 as on page 1. */
  list(query: InteractionListQuery): Promise<InteractionPage>;
}

/** The fields of a call that deletions select by. */
export type SelectableCall = Pick<
  Interaction,
  "accountId" | "transactionId" | "createdAt" | "sessionId" | "userId"
>;
