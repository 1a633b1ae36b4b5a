import { Fault, unreadableAnswer } from "../shared/fault.ts";
import { notHttpPrefix } from "./http1/answer_parser.ts";
import { connectionClosedCode } from "./http1/connect.ts";
import { malformedRequestCode } from "./http1/request_head.ts";

/** Why a try failed before an answer came. */
export class AttemptFailure extends Error {
  constructor(
    readonly fault: Fault,
    /** `connect`: nothing was sent; `stale`: a kept connection had been closed meanwhile. */
    readonly kind: "connect" | "stale" | "final",
    /** Short and without an address, for the record. */
    readonly code: string,
  ) {
    super(code, { cause: fault });
  }
}

/** The caller left; the connection to the vendor is closed. */
export class UpstreamAborted extends Error {
  constructor() {
    super("The call to the vendor was aborted");
    this.name = "AbortError";
  }
}

/** How far a call has come that has no answer yet. */
export type Progress = "queued" | "connecting" | "sent";

/** Errors of connecting that a later try may not meet again. */
const passingConnectCodes: ReadonlySet<string> = new Set(
  ["ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH"]
    .concat(["ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"]),
);

const closedCodes: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  connectionClosedCode,
]);

/** Whether the other side didn't keep to the protocol. */
export function isNotHttp(code: string): boolean {
  return code.startsWith(notHttpPrefix);
}

export function failureOf(error: unknown, progress: Progress, reused: boolean): AttemptFailure {
  const code = codeOf(error);
  if (code === malformedRequestCode) {
    // A header that HTTP can't carry. The cause is left out: it may quote the value.
    const fault = new Fault("internal_error", { note: `The vendor call is malformed: ${code}` });
    return new AttemptFailure(fault, "final", code);
  }
  // If a kept connection failed before the request went out, another one may carry it.
  const isUnsent = progress === "connecting" && reused;
  if (isNotHttp(code) && !isUnsent) {
    const note = `The vendor's answer is not HTTP: ${code}`;
    return new AttemptFailure(unreadableAnswer(note), "final", code);
  }
  const sent = progress === "sent";
  const note = `${sent ? "The connection closed before an answer" : "No connection"}: ${code}`;
  const fault = new Fault("upstream_unreachable", { note, cause: error });
  const kind = isUnsent || (sent && reused && closedCodes.has(code))
    ? "stale"
    : !sent && passingConnectCodes.has(code)
    ? "connect"
    : "final";
  return new AttemptFailure(fault, kind, code);
}

export function timeoutFailure(progress: Progress): AttemptFailure {
  if (progress === "queued") {
    const note = "All connections to the vendor are in use";
    return new AttemptFailure(new Fault("overloaded", { note }), "final", "no_free_connection");
  }
  const sent = progress === "sent";
  const note = sent ? "No first byte in time" : "No connection in time";
  const code = sent ? "first_byte_timeout" : "connect_timeout";
  const fault = new Fault(sent ? "upstream_timeout" : "upstream_unreachable", { note });
  return new AttemptFailure(fault, "final", code);
}

/** The system's error code; of several tried addresses the first one's. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "unknown";
}
