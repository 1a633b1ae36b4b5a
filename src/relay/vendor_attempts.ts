import { Fault } from "../shared/fault.ts";
import type { VendorAttempt } from "../shared/interaction.ts";
import type { AttemptLogEntry, UpstreamAnswer } from "../vendors/upstream.ts";
import type { VendorCallContext } from "./ask_vendor.ts";

/** The tries of one request that was answered, for the record; its last one is the answer. */
export function attemptsOf(
  vendorCall: VendorCallContext,
  { attemptLog }: UpstreamAnswer,
): VendorAttempt[] {
  return attemptLog.map((entry) => ({
    ...of(vendorCall),
    http_status: entry.status ?? null,
    error_code: codeOf(vendorCall, entry),
    ms: Math.round(entry.ms),
  }));
}

/** A request that came to nothing. */
export function failedAttempt(
  vendorCall: VendorCallContext,
  thrown: unknown,
  ms: number,
): VendorAttempt {
  return {
    ...of(vendorCall),
    http_status: null,
    error_code: thrown instanceof Fault ? thrown.code : null,
    ms: Math.round(ms),
  };
}

function of(
  { target: { vendor, model } }: VendorCallContext,
): Pick<VendorAttempt, "vendor" | "model"> {
  return { vendor: vendor.label, model };
}

/** By the status alone: the body of a try that is repeated isn't read. */
function codeOf(vendorCall: VendorCallContext, { status }: AttemptLogEntry) {
  if (status === undefined) return "upstream_unreachable";
  if (status >= 200 && status < 300) return null;
  const nothing = {
    code: undefined,
    type: undefined,
    message: undefined,
    param: undefined,
    retryAfterSeconds: undefined,
  };
  return vendorCall.fault({ status, ...nothing }).code;
}
