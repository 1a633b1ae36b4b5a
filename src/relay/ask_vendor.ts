import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import { readVendorError, type VendorError } from "../dialects/kernel/vendor_error.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { Fault } from "../shared/fault.ts";
import type { Mode } from "../shared/interaction.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import { isAbort, type Upstream, type UpstreamAnswer } from "../vendors/upstream.ts";
import type { RequestBytes } from "../vendors/upstream.ts";
import { retryAfterMs } from "../vendors/upstream_retry.ts";
import { vendorHeaders, vendorRequestId } from "../vendors/vendor_headers.ts";
import type { CallContext } from "./call_context.ts";
import { vendorFault } from "./vendor_fault.ts";

/** On whose behalf a vendor is asked, with which key, and what its failures are to the caller. */
export class VendorAccess {
  readonly caller: CallContext;
  readonly target: ResolvedModel;
  readonly key: Secret;
  readonly mode: Mode;

  constructor(fields: Pick<VendorAccess, "caller" | "target" | "key" | "mode">) {
    this.caller = fields.caller;
    this.target = fields.target;
    this.key = fields.key;
    this.mode = fields.mode;
  }

  /** The service's own vendor key is used, and the account is charged. */
  get isManaged(): boolean {
    return this.mode === "managed";
  }

  /** A vendor's error as our caller sees it. */
  fault(error: VendorError, retryAfterSeconds?: number): Fault {
    const { mode, key } = this;
    const address = this.target.vendor.baseUrl;
    return vendorFault(error, { mode, key, address, retryAfterSeconds });
  }
}

/** The same for a call that is recorded. */
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
  /** Below the vendor's base address, with a leading slash. */
  path: string;
  contentType: string;
  accept?: string;
  body: RequestBytes;
  /** The caller's request goes on as it was written, not translated. */
  sameDialect: boolean;
  /** A failure is final; absent: the request is tried again where that can help. */
  once?: boolean;
}

export interface AskVendorDeps {
  upstream: Upstream;
  log: Log;
  now: () => Date;
}

/** The vendor's answer with a good status; any other is thrown as a fault. */
export async function askVendor(
  deps: AskVendorDeps,
  vendorCall: VendorCallContext,
  request: VendorRequest,
): Promise<UpstreamAnswer> {
  const answer = await postToVendor(deps.upstream, vendorCall, request);
  if (isGood(answer)) return answer;
  throw refusalFault(deps, vendorCall, answer, (await readRefusal(answer)).json);
}

/** The vendor's answer, whatever its status. */
export function postToVendor(
  upstream: Upstream,
  { caller, target, key, isManaged }: VendorAccess,
  request: VendorRequest,
): Promise<UpstreamAnswer> {
  const cancel = caller.principal.key.onDisconnect === "cancel";
  return upstream.call({
    url: target.vendor.baseUrl + request.path,
    method: "POST",
    headers: {
      ...vendorHeaders(target.vendor, key, caller, {
        sameDialect: request.sameDialect,
        isOwnKey: !isManaged,
      }),
      "content-type": request.contentType,
      ...(request.accept === undefined ? {} : { accept: request.accept }),
    },
    body: request.body,
    // For a caller that wants its answer drained the vendor is heard to the end.
    signal: cancel ? caller.signal : new AbortController().signal,
    ...(request.once ? {} : { retry: true }),
    ...(caller.silenceMs === undefined ? {} : { silenceMs: caller.silenceMs }),
  });
}

export function isGood(answer: UpstreamAnswer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

const maxErrorBytes = 1024 * 1024;

/** What a vendor says beside a bad status; `json` is undefined where that is no JSON. */
export async function readRefusal(
  answer: UpstreamAnswer,
): Promise<{ json: unknown; text: string }> {
  const text = await answer.body.readAll(maxErrorBytes)
    .then((bytes) => new TextDecoder().decode(bytes))
    .catch((thrown) => {
      if (isAbort(thrown)) throw thrown;
      // The status alone says enough.
      return "";
    });
  try {
    return { json: JSON.parse(text), text };
  } catch {
    return { json: undefined, text };
  }
}

/** A refusal as our caller sees it. */
export function refusalFault(
  deps: Pick<AskVendorDeps, "log" | "now">,
  vendorCall: VendorAccess,
  answer: UpstreamAnswer,
  json: unknown,
): Fault {
  const retryMs = retryAfterMs(answer.headers, deps.now());
  const error = readVendorError(json, answer.status);
  const fault = vendorCall.fault(
    { ...error, status: answer.status },
    retryMs === undefined ? undefined : Math.ceil(retryMs / 1000),
  );
  fault.vendorRequestId = vendorRequestId(answer.headers);
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
