import { type ErrorCode, errors } from "../../../../../contracts/kernel/errors.ts";
import type { Fault } from "../../../../shared/fault.ts";
import { sseEvent } from "./sse_event.ts";

/** Ends a stream with the dialect's own error event (messages.md §5, §6); nothing follows it. */
export function errorEvent(fault: Fault): string {
  const { vendorDetails: details } = fault;
  const error = {
    type: errorType(fault.code),
    message: fault.message,
    code: fault.code,
    ...(details ? { details } : {}),
  };
  return sseEvent({ type: "error", error, request_id: null });
}

/** The dialect has a closed list of types. */
function errorType(code: ErrorCode): string {
  if (code === "request_too_large") return "request_too_large";
  const { type } = errors[code];
  return type === "upstream_error" ? "api_error" : type;
}
