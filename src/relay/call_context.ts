import { headerText } from "../base/header_text.ts";
import { ownText } from "../base/own_text.ts";
import { type HeavyBodies, heavyUnits } from "../base/heavy_json.ts";
import { runAtOnce, runInTurns, type Step } from "../base/heavy_work.ts";
import type { Secret } from "../base/secret.ts";
import type { Principal } from "../keys/api_key.ts";
import { invalidValue } from "../shared/fault.ts";
import type { PromptTags } from "../shared/prompt_tags.ts";
import type {
  CallTiming,
  RepeatClaim,
  SettledCall,
  VendorRequestTime,
} from "../shared/interaction.ts";
import type { Clock } from "../base/clock.ts";

/**
 * Returns the id that the caller gave a request: `X-Request-ID`, or `Idempotency-Key` where the
 * former is absent or empty.
 */
export function sentRequestId(header: (name: string) => string | undefined): string | undefined {
  return header("x-request-id") || header("idempotency-key") || undefined;
}

/**
 * Returns the caller's id of a request that runs only once per id; undefined without one, since ids
 * that we generate never repeat. Throws `invalid_value` where the caller's id can't be used: a
 * repeat would run, and be charged, again.
 */
export function repeatableId(
  { header, requestId }: Pick<CallContext, "header" | "requestId">,
): string | undefined {
  const sent = sentRequestId(header);
  if (sent === undefined || sent === requestId) return sent;
  const name = header("x-request-id") ? "X-Request-ID" : "Idempotency-Key";
  throw invalidValue(name, "expected 1 to 200 characters of ASCII, without spaces");
}

/** Returns the step for work on an answer of so many UTF-16 units: in turns where that is large. */
export function stepFor(units: number, { heavyStep }: Pick<CallContext, "heavyStep">): Step {
  return (units > heavyUnits ? heavyStep?.() : undefined) ?? runAtOnce;
}

/**
 * Returns how large work on an account's answer runs: in turns with other calls. A call that has
 * begun must be settled, so this work has no timeout, and continues even if the caller leaves.
 */
export function heavyStepOf(
  { work }: Pick<HeavyBodies, "work">,
  { account }: Pick<Principal, "account">,
): () => Step {
  return () => runInTurns(work, { key: String(account.id), hasNoTimeout: true });
}

/** Returns the name of the calling program: the first product of its `User-Agent`. */
export function clientOf(caller: Pick<CallContext, "header">): string | undefined {
  const product = headerText(caller.header("user-agent") ?? "").trimStart();
  if (!product) return undefined;
  const end = product.search(/\s/);
  return ownText(product, end < 0 ? maxClientLength : Math.min(end, maxClientLength));
}

const maxClientLength = 100;

/** The caller, and what came with the request besides its body. */
export interface CallContext {
  readonly principal: Principal;
  /** The second half of the dual-key form. */
  readonly vendorKey: Secret | undefined;
  /** `X-Request-ID`, the caller's or ours. */
  readonly requestId: string;
  readonly sessionId: string | undefined;
  /** `X-User-ID`. */
  readonly userId: string | undefined;
  /** Path template of the endpoint, under its label. */
  readonly endpoint: string;
  /** Path of the request's URL. */
  readonly path: string;
  /** A header of the request by its lower-case name. */
  header(name: string): string | undefined;
  /** Lower-case names of the request's headers; absent where there was no request. */
  readonly headerNames?: () => readonly string[];
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal;
  readonly arrivedAt: Date;
  readonly arrivedMs: number;
  readonly trace: CallTrace;
  /** Runs work on the body, in turns where it is large; absent: at once. */
  readonly step?: Step;
  /** Called once the vendor's request text is written and the body's values are released. */
  readonly onEncoded?: () => void;
  /**
   * Returns a step that runs work on a large answer in turns with other calls; absent: such work
   * runs at once.
   */
  readonly heavyStep?: () => Step;
  /** How long the vendor may be silent, in ms; absent: the configured time. */
  readonly silenceMs?: number;
  /**
   * Interactions whose content this call contains, as in an evaluation. It is not recorded once
   * they are erased.
   */
  readonly sourceCallIds?: readonly string[];
  /**
   * The body for the record, where the body itself holds more than the caller sent, as on a
   * WebSocket.
   */
  readonly sentText?: string;
  /** Tags that were taken out of the body; they come before those in it. */
  readonly tags?: PromptTags;
}

/** What log, response headers and idempotency see of a request's call. */
export interface CallTrace {
  /** Set once the call has begun; sent as `X-Transaction-ID`. */
  transactionId?: string;
  /** Set before the call where the request is idempotent. */
  repeat?: RepeatClaim;
  /** A background call was accepted; its caller already has the reply. */
  isAcknowledged?: boolean;
  /** If the caller leaves, the answer is still read to its end, completes the call, and is stored. */
  outlivesCaller?: boolean;
  /** Ends the reading of an answer whose caller has left. */
  cutOff?: AbortController;
  /** `isWhole`: a caller that leaves the streamed answer now has not cancelled the call. */
  stream?: { readonly isWhole: boolean };
  /** Set once the call has been settled. */
  settled?: SettledCall;
  /** Set with it: the earlier calls whose text the answer repeats. */
  answerSources?: readonly string[] | undefined;
  /** Called when a call is settled. */
  onSettled?: (interaction: SettledCall) => void;
  /**
   * Called when work for the call begins, so that a blocked event loop can be traced to its call.
   */
  onWork?: () => void;
  /** Called when the call starts (1) or stops (-1) waiting for its caller or its vendor. */
  onWait?: (change: 1 | -1) => void;
  /** Where its time goes. */
  times?: CallTimes;
  /** Set once the call has been settled. */
  timing?: CallTiming;
}

/** Whether an answer is read to its end if its caller leaves now: nothing of it is cancelled. */
export function goesOnAlone({ outlivesCaller, stream, settled }: CallTrace): boolean {
  return outlivesCaller === true || stream?.isWhole === true || settled?.status === "completed";
}

/** Measures the time of one request to a vendor. */
interface VendorTimes {
  /** Notes one try, which has just got its answer's head or failed. */
  readonly noteTry: (request: Omit<VendorRequestTime, "startMs" | "endMs">, ms: number) => void;
  /** Call when the answer has ended; further calls do nothing. */
  readonly end: () => void;
}

/** Embeddings in batches make more than a trace needs. */
const maxNotedRequests = 20;

/** Measures where the time of a call goes: the caller's upload, vendors, and all the rest. */
export class CallTimes {
  /** Requests to vendors, for traces. */
  readonly requests: VendorRequestTime[] = [];
  readonly #nowMs: () => number;
  #uploadSinceMs: number | undefined;
  #uploadMs = 0;
  #vendorRequests = 0;
  #vendorSinceMs = 0;
  #vendorMs = 0;

  /** `nowMs` is a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Call when the gateway begins to read the request's body. */
  uploadBegins(): void {
    this.#uploadSinceMs = this.#nowMs();
  }

  /** Call when the body's last byte has come. */
  uploadEnds(): void {
    if (this.#uploadSinceMs !== undefined) this.#uploadMs += this.#nowMs() - this.#uploadSinceMs;
    this.#uploadSinceMs = undefined;
  }

  /** Notes that a request to a vendor begins; others may be under way. */
  vendorBegins(): VendorTimes {
    if (this.#vendorRequests++ === 0) this.#vendorSinceMs = this.#nowMs();
    let last: VendorRequestTime | undefined;
    let isOver = false;
    return {
      noteTry: (request, ms) => {
        const endMs = this.#nowMs();
        last = { ...request, startMs: endMs - ms, endMs };
        if (this.requests.length < maxNotedRequests) this.requests.push(last);
      },
      end: () => {
        if (isOver) return;
        isOver = true;
        if (last?.errorCode === null) last.endMs = this.#nowMs();
        if (--this.#vendorRequests === 0) this.#vendorMs += this.#nowMs() - this.#vendorSinceMs;
      },
    };
  }

  /** Milliseconds so far during which at least one request to a vendor was under way. */
  get vendorMs(): number {
    const running = this.#vendorRequests > 0 ? this.#nowMs() - this.#vendorSinceMs : 0;
    return this.#vendorMs + running;
  }

  /** Returns the times so far of a call that arrived at `arrivedMs` of the same clock. */
  timing(arrivedMs: number, firstTokenMs: number | undefined): CallTiming {
    const totalMs = this.#nowMs() - arrivedMs;
    const { vendorMs } = this;
    const overheadMs = Math.max(0, totalMs - vendorMs - this.#uploadMs);
    if (firstTokenMs === undefined) return { totalMs, vendorMs, overheadMs };
    return { totalMs, vendorMs, overheadMs, firstTokenMs: firstTokenMs - arrivedMs };
  }
}

/** A call that a background job makes for an account. */
export interface JobCall {
  /**
   * Read when the job makes the call: since the job was created, the key may have been revoked or
   * the tier changed.
   */
  principal: Principal;
  /** Path template of the endpoint that asked for the job. */
  endpoint: string;
  requestId: string;
  sessionId: string | null;
  userId: string | null;
  /** Interactions whose content the call contains. */
  sourceCallIds?: readonly string[];
  /** Aborted when the process ends. */
  signal: AbortSignal;
}

/** What a job's calls need, besides the job. */
export interface JobCallerDeps {
  clock: Clock;
  heavy: Pick<HeavyBodies, "work">;
}

/**
 * A caller without an HTTP request: no headers, and only stored vendor keys. It never drains an
 * answer: it leaves only when the process ends.
 */
export function jobCaller({ clock, heavy }: JobCallerDeps, call: JobCall): CallContext {
  const { account, key: { cacheTtlSeconds: _, ...key } } = call.principal;
  return {
    principal: { account, key: { ...key, onDisconnect: "cancel" } },
    vendorKey: undefined,
    requestId: call.requestId,
    sessionId: call.sessionId ?? undefined,
    userId: call.userId ?? undefined,
    endpoint: call.endpoint,
    path: call.endpoint,
    header: () => undefined,
    signal: call.signal,
    arrivedAt: clock.now(),
    arrivedMs: clock.monotonicMs(),
    trace: {},
    heavyStep: heavyStepOf(heavy, call.principal),
    ...(call.sourceCallIds ? { sourceCallIds: call.sourceCallIds } : {}),
  };
}
