import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { Fault } from "../shared/fault.ts";
import {
  type AttemptLogEntry,
  isAbort,
  type RequestBytes,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamRefusal,
} from "../vendors/upstream.ts";
import { type Call, maxVendorRequests } from "./call.ts";
import type { Secret } from "../base/secret.ts";
import { jsonValue } from "../dialects/kernel/json.ts";
import { readVendorError, type VendorError } from "../dialects/kernel/vendor_error.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { Mode, VendorAttempt } from "../shared/interaction.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { KeyPool, KeyTrouble, PooledKey } from "../vendors/key_pool.ts";
import { retryAfterMs, vendorRetryAdvice } from "../vendors/upstream_retry.ts";
import { vendorHeaders, vendorRequestId, withoutKey } from "../vendors/vendor_headers.ts";
import type { CallContext } from "./call_context.ts";
import { cancelSignal } from "./drained_call.ts";
import { vendorFault } from "./vendor_fault.ts";

/** The vendor requests that a call may still make, and those that it has made. */
export interface RequestBudget {
  /** How many more may be made. */
  readonly left: number;
  attempted(attempt: VendorAttempt): void;
}

/**
 * Returns the budget of the vendor requests that the call has left; one of them is reserved for the
 * next candidate, if there is one.
 */
export function budgetOf(
  call: Pick<Call, "requestsLeft" | "attempted">,
  isLast: boolean,
): RequestBudget {
  return new CallBudget(call, isLast);
}

class CallBudget implements RequestBudget {
  constructor(
    readonly call: Pick<Call, "requestsLeft" | "attempted">,
    readonly isLast: boolean,
  ) {}

  get left(): number {
    return this.call.requestsLeft - (this.isLast ? 0 : 1);
  }

  attempted(attempt: VendorAttempt): void {
    this.call.attempted(attempt);
  }
}

/** Returns the budget of a call that leaves no record. */
export function unrecordedBudget(): RequestBudget {
  const budget = {
    left: maxVendorRequests,
    attempted() {
      budget.left--;
    },
  };
  return budget;
}

/**
 * The caller, target and vendor key of vendor requests, and how their failures look to the caller.
 */
export class VendorAccess {
  readonly caller: CallContext;
  readonly target: ResolvedModel;
  /** The key of every request, unless there is a `keyPool`. */
  readonly key: Secret;
  /** The service's own keys, where it has several. */
  readonly keyPool: KeyPool | undefined;
  readonly mode: Mode;
  /**
   * The key of `keyPool` that got the latest answer, if its status was 2xx; otherwise undefined.
   */
  answeringKey: PooledKey | undefined;

  constructor(fields: Pick<VendorAccess, "caller" | "target" | "key" | "keyPool" | "mode">) {
    this.caller = fields.caller;
    this.target = fields.target;
    this.key = fields.key;
    this.keyPool = fields.keyPool;
    this.mode = fields.mode;
  }

  /** The service's own vendor key is used, and the account is charged. */
  get isManaged(): boolean {
    return this.mode === "managed";
  }

  /**
   * Rests the key whose 2xx answer turned out to be this fault, if the fault is about the key.
   * Returns whether the key is now paused and another one is left.
   */
  restAnsweringKey({ code, retryAfterSeconds }: Fault): boolean {
    const { keyPool, answeringKey: key } = this;
    const trouble = keyTroubles[code];
    if (!keyPool || !key || !trouble) return false;
    this.answeringKey = undefined;
    keyPool.pause(key, trouble, retryAfterSeconds && retryAfterSeconds * 1000);
    return keyPool.hasAnother([key]);
  }

  /**
   * Returns a call's last failure as the caller gets it: a key that is refused or out of quota is a
   * rate limit if a later call can use another one of the pool.
   */
  lastFault(fault: Fault): Fault {
    const waitMs = operatorsProblem.has(fault.code) ? this.keyPool?.waitMs : undefined;
    if (waitMs === undefined) return fault;
    const { note, vendorAnswer, vendorRequestId } = fault;
    const limited = new Fault("upstream_rate_limited", {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      ...(note === undefined ? {} : { note }),
      ...(vendorAnswer ? { vendorAnswer } : {}),
    });
    return Object.assign(limited, { vendorRequestId });
  }

  /** Returns a vendor's error as the caller gets it. */
  fault(error: VendorError, retryAfterSeconds?: number): Fault {
    const { mode, key, keyPool } = this;
    const { baseUrl: address, apiKeys } = this.target.vendor;
    const otherKeys = keyPool ? apiKeys : [];
    return vendorFault(error, { mode, key, otherKeys, address, retryAfterSeconds });
  }
}

/** The vendor access of a call that is recorded and may be charged. */
export class VendorCallContext extends VendorAccess {
  readonly transactionId: string;
  /** What the model costs; a call on the service's own key always has a price. */
  readonly price: PriceRow | undefined;

  constructor(access: VendorAccess, transactionId: string, price: PriceRow | undefined) {
    super(access);
    this.transactionId = transactionId;
    this.price = price;
  }
}

/** One request to a call's vendor. */
export interface VendorRequest {
  /** Below the vendor's base URL, with a leading slash. */
  path: string;
  contentType: string;
  accept?: string;
  body: RequestBytes;
  /** The caller's request goes on as it was written, not translated. */
  sameDialect: boolean;
  /** True: failures are final. Otherwise the request is retried where that can help. */
  once?: boolean;
}

export interface AskVendorDeps {
  upstream: Upstream;
  log: Log;
  clock: Clock;
}

/** Returns the vendor's answer if its status is 2xx, and throws a fault otherwise. */
export async function askVendor(
  deps: AskVendorDeps,
  vendorCall: VendorCallContext,
  request: VendorRequest,
  budget: RequestBudget,
): Promise<UpstreamAnswer> {
  const answer = await postToVendor(deps, vendorCall, request, budget);
  if (isGood(answer)) return answer;
  throw refusalFault(deps, vendorCall, answer, (await readRefusal(answer)).json);
}

/**
 * Returns the vendor's answer, whatever its status. If the service has several keys, a key that the
 * vendor refuses or limits is paused, and the next one is tried at once.
 */
export function postToVendor(
  deps: AskVendorDeps,
  access: VendorAccess,
  request: VendorRequest,
  budget: RequestBudget,
): Promise<UpstreamAnswer> {
  const { keyPool } = access;
  if (!keyPool) return sendToVendor(deps, access, request, { key: access.key, budget });
  return postWithPool(deps, access, request, { keyPool, budget });
}

async function postWithPool(
  deps: AskVendorDeps,
  access: VendorAccess,
  request: VendorRequest,
  { keyPool, budget }: { keyPool: KeyPool; budget: RequestBudget },
): Promise<UpstreamAnswer> {
  const used: PooledKey[] = [];
  for (let key = keyPool.take();;) {
    used.push(key);
    const retryLimited = budget.left < 2 || !keyPool.hasAnother(used);
    const sent = await sendToVendor(deps, access, request, {
      ...{ key: key.secret, budget, retryLimited },
    });
    const { answer, trouble, waitMs } = await keyTroubleIn(deps, access, sent);
    if (trouble) keyPool.pause(key, trouble, waitMs);
    else if (isGood(answer)) keyPool.answered(key);
    access.answeringKey = isGood(answer) ? key : undefined;
    const next = trouble && budget.left > 0 ? keyPool.takeAnother(used) : undefined;
    if (!next) return isGood(answer) ? { ...answer, key } : answer;
    key = next;
  }
}

/** Sends one request with one key, and notes its tries. */
async function sendToVendor(
  { upstream, clock }: AskVendorDeps,
  access: VendorAccess,
  request: VendorRequest,
  { key, budget, retryLimited = true }: {
    key: Secret;
    budget: RequestBudget;
    /** A 429 may be retried with the same key. */
    retryLimited?: boolean;
  },
): Promise<UpstreamAnswer> {
  const { caller, target: { vendor }, isManaged } = access;
  const headers = vendorHeaders(vendor, key, caller, {
    sameDialect: request.sameDialect,
    isOwnKey: !isManaged,
  });
  headers["content-type"] = request.contentType;
  if (request.accept !== undefined) headers.accept = request.accept;
  const begunMs = clock.monotonicMs();
  const times = caller.trace.times?.vendorBegins();
  let tries = 0;
  try {
    const answer = await upstream.call({
      url: vendor.baseUrl + request.path,
      method: "POST",
      headers,
      body: request.body,
      signal: cancelSignal(caller),
      retry: request.once !== true,
      maxTries: Math.max(1, budget.left),
      retryLimited,
      isFinal: (refusal, body) => isQuotaUsedUp({ clock }, access, refusal, body),
      onTry(entry) {
        tries++;
        const attempt = attemptOf(access, entry);
        budget.attempted(attempt);
        times?.noteTry(timedRequest(access, attempt), entry.ms);
      },
      ...(times ? { onEnd: times.end } : {}),
      ...(caller.silenceMs === undefined ? {} : { silenceMs: caller.silenceMs }),
    });
    return { ...answer, headers: withoutKey(answer.headers, key) };
  } catch (thrown) {
    // A caller who leaves before the first try, or between two, makes no vendor request.
    if (tries === 0 && thrown instanceof Fault) {
      const ms = clock.monotonicMs() - begunMs;
      const attempt = failedAttempt(access, thrown.code, ms);
      budget.attempted(attempt);
      times?.noteTry(timedRequest(access, attempt), ms);
    }
    throw thrown;
  }
}

/** Whether a 429 says that a quota is used up, and names no time after which it isn't. */
function isQuotaUsedUp(
  { clock }: Pick<AskVendorDeps, "clock">,
  access: VendorAccess,
  { status, headers }: UpstreamRefusal,
  body: string,
): boolean {
  if (retryAfterMs(headers, clock.now()) !== undefined) return false;
  const { code } = access.fault({ ...readVendorError(jsonValue(body), status), status });
  return code === "upstream_quota_exhausted" || code === "vendor_quota_exhausted";
}

/** Statuses by which vendors refuse or limit a key. */
const keyStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 429]);

const keyTroubles: Readonly<Partial<Record<Fault["code"], KeyTrouble>>> = {
  upstream_authentication_failed: "refused",
  upstream_quota_exhausted: "out_of_quota",
  upstream_rate_limited: "limited",
};

/**
 * Returns what an answer says about the key that was used. The returned answer can still be read.
 */
async function keyTroubleIn(
  { clock }: AskVendorDeps,
  access: VendorAccess,
  answer: UpstreamAnswer,
): Promise<
  { answer: UpstreamAnswer; trouble?: KeyTrouble | undefined; waitMs?: number | undefined }
> {
  if (!keyStatuses.has(answer.status)) return { answer };
  const { json, text } = await readRefusal(answer);
  const waitMs = retryAfterMs(answer.headers, clock.now());
  const error = { ...readVendorError(json, answer.status), status: answer.status };
  const { code } = access.fault(error, waitMs === undefined ? undefined : waitMs / 1000);
  return {
    answer: { ...answer, body: bodyOfText(text) },
    trouble: keyTroubles[code],
    waitMs: waitMs ??
      (error.retryAfterSeconds === undefined ? undefined : error.retryAfterSeconds * 1000),
  };
}

/** A body that has been read already. */
function bodyOfText(text: string): UpstreamAnswer["body"] {
  const bytes = new TextEncoder().encode(text);
  return {
    onData(handlers) {
      handlers.data(bytes);
      handlers.end();
    },
    readAll: () => Promise.resolve(bytes),
    ...{ pause() {}, resume() {}, destroy() {} },
  };
}

/** Whether the status is 2xx. */
export function isGood(answer: UpstreamAnswer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

const maxErrorBytes = 1024 * 1024;

/** Reads the body of a refusal; `json` is undefined where it is not JSON. */
export async function readRefusal(
  answer: UpstreamAnswer,
): Promise<{ json: unknown; text: string }> {
  const text = await answer.body.readAll(maxErrorBytes)
    .then((bytes) => new TextDecoder().decode(bytes))
    .catch((thrown) => {
      if (isAbort(thrown)) throw thrown;
      // An unreadable body: the status is enough.
      return "";
    });
  return { json: jsonValue(text), text };
}

/** Returns a refusal as the caller gets it, and logs one of the service's own key. */
export function refusalFault(
  deps: Pick<AskVendorDeps, "log" | "clock">,
  vendorCall: VendorAccess,
  answer: UpstreamAnswer,
  json: unknown,
): Fault {
  const retryMs = retryAfterMs(answer.headers, deps.clock.now());
  const error = readVendorError(json, answer.status);
  const fault = vendorCall.fault(
    { ...error, status: answer.status },
    retryMs === undefined ? undefined : Math.ceil(retryMs / 1000),
  );
  fault.vendorRequestId = vendorRequestId(answer.headers);
  const advice = vendorRetryAdvice(answer.headers);
  // Clients repeat a conflict, but not the 400 that it becomes here.
  if (answer.status === 409) fault.vendorRetryAdvice = advice ?? true;
  // What is true of one key need not be of the pool's next one.
  else if (!vendorCall.keyPool) fault.vendorRetryAdvice = advice;
  if (operatorsProblem.has(fault.code)) {
    deps.log.error("the service's own vendor key does not work", {
      vendor: vendorCall.target.vendor.label,
      status: answer.status,
      ...(vendorCall instanceof VendorCallContext ? { transaction: vendorCall.transactionId } : {}),
    });
  }
  return fault;
}

const operatorsProblem: ReadonlySet<Fault["code"]> = new Set<Fault["code"]>([
  "upstream_authentication_failed",
  "upstream_quota_exhausted",
]);

/** One try of a request, for the record. */
function attemptOf(access: VendorAccess, entry: AttemptLogEntry): VendorAttempt {
  return {
    ...of(access),
    http_status: entry.status ?? null,
    error_code: codeOf(access, entry),
    ms: Math.round(entry.ms),
  };
}

/** For the call's trace. */
function timedRequest({ target }: VendorAccess, attempt: VendorAttempt) {
  return {
    vendor: attempt.vendor,
    model: attempt.model,
    baseUrl: target.vendor.baseUrl,
    httpStatus: attempt.http_status,
    errorCode: attempt.error_code,
  };
}

/** A request that got no answer. */
function failedAttempt(
  vendorCall: VendorAccess,
  code: Fault["code"],
  ms: number,
): VendorAttempt {
  return {
    ...of(vendorCall),
    http_status: null,
    error_code: code,
    ms: Math.round(ms),
  };
}

function of(
  { target: { vendor, model } }: VendorAccess,
): Pick<VendorAttempt, "vendor" | "model"> {
  return { vendor: vendor.label, model };
}

/** Returns the error code for a status alone: the body of a retried attempt is not read. */
function codeOf(vendorCall: VendorAccess, { status, aborted }: AttemptLogEntry) {
  if (aborted) return null;
  if (status === undefined) return "upstream_unreachable";
  if (status >= 200 && status < 300) return null;
  return vendorCall.fault(readVendorError({}, status)).code;
}
