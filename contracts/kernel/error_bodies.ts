import type { ErrorDialect } from "./contract.ts";
import { type ErrorCode, errors } from "./errors.ts";

/** The content of an error answer. `message` is public. */
export interface ErrorFacts {
  readonly code: ErrorCode;
  readonly message: string;
  /** Path of the invalid field. */
  readonly param: string | undefined;
  /** Data by which the dialect's clients recover: ours, or the details of a vendor's refusal. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string;
}

/** Returns the body of an error answer: the specification's three fields, and the dialect's own. */
export function errorBody(facts: ErrorFacts, dialect: ErrorDialect): unknown {
  const { code, message } = facts;
  return bodies[dialect]({ message, type: errors[code].type, code }, facts);
}

interface PublicError {
  message: string;
  type: string;
  code: ErrorCode;
}
type Encode = (error: PublicError, facts: ErrorFacts) => unknown;

/** Adds the fields that each dialect's own clients expect. */
const bodies: Readonly<Record<ErrorDialect, Encode>> = {
  service: (error) => ({ error }),
  chat: (error, { param }) => ({ error: { ...error, param: param || null } }),
  responses: (error, { param }) => ({ error: { ...error, param: param || null } }),
  messages: (error, { requestId, details }) => ({
    type: "error",
    error: {
      ...error,
      type: messagesTypes[error.code] ?? messagesTypes[error.type] ?? error.type,
      details: messagesDetails(error.code, details),
    },
    request_id: requestId,
  }),
  generate: (error) => ({
    error: { ...error, status: canonicalStatus(errors[error.code].status) },
  }),
};

/** Anthropic's clients read `error_code`, and only there; a vendor's own takes precedence. */
export function messagesDetails(code: ErrorCode, details: ErrorFacts["details"]) {
  const vendors = details?.error_code;
  return { ...details, error_code: typeof vendors === "string" ? vendors : code };
}

/** The messages dialect has a closed list of types (messages.md §6). */
const messagesTypes: Readonly<Record<string, string>> = {
  upstream_error: "api_error",
  request_too_large: "request_too_large",
};

/**
 * Returns the google.rpc.Code of an HTTP status, for the generate dialect (generate-content.md §7).
 */
export function canonicalStatus(httpStatus: number): string {
  return canonicalNames[httpStatus] ?? (httpStatus < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
}

const canonicalNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  413: "INVALID_ARGUMENT",
  416: "OUT_OF_RANGE",
  429: "RESOURCE_EXHAUSTED",
  431: "INVALID_ARGUMENT",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
