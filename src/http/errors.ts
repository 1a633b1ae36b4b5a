import { errors } from "../../contracts/errors.ts";
import type { ErrorDialect } from "../../contracts/contract.ts";
import { Fault } from "../domain/fault.ts";
import type { Reply } from "../gateway/reply.ts";

/** The one encoder of error answers: the specification's three fields, and the dialect's own. */
export function errorReply(fault: Fault, dialect: ErrorDialect, requestId: string): Reply {
  const { status, type } = errors[fault.code];
  const error = { message: fault.message, type, code: fault.code };
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (fault.retryAfterSeconds !== undefined) {
    headers["retry-after"] = String(Math.max(1, Math.ceil(fault.retryAfterSeconds)));
  }
  return { status, headers, body: JSON.stringify(bodies[dialect](error, { fault, requestId })) };
}

/** Anything thrown as a fault; what isn't one is a failure of our own. */
export function asFault(thrown: unknown): Fault {
  return thrown instanceof Fault ? thrown : new Fault("internal_error", { cause: thrown });
}

interface PublicError {
  message: string;
  type: string;
  code: string;
}
type Encode = (error: PublicError, context: { fault: Fault; requestId: string }) => unknown;

/** Fields that each dialect's own clients look for (translation.md §14.3). */
const bodies: Readonly<Record<ErrorDialect, Encode>> = {
  service: (error) => ({ error }),
  chat: (error, { fault }) => ({ error: { ...error, param: fault.param || null } }),
  responses: (error, { fault }) => ({ error: { ...error, param: fault.param || null } }),
  messages: (error, { requestId }) => ({
    type: "error",
    error: { ...error, type: messagesTypes[error.code] ?? messagesTypes[error.type] ?? error.type },
    request_id: requestId,
  }),
  generate: (error, { fault }) => ({
    error: { ...error, status: canonicalNames[errors[fault.code].status] ?? "UNKNOWN" },
  }),
};

/** The messages dialect has a closed list of types (messages.md §6). */
const messagesTypes: Readonly<Record<string, string>> = {
  upstream_error: "api_error",
  request_too_large: "request_too_large",
};

/** Canonical status names of the generate dialect (generate-content.md §7). */
const canonicalNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  413: "INVALID_ARGUMENT",
  416: "OUT_OF_RANGE",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
