import { type ErrorCode, errors } from "../../contracts/kernel/errors.ts";

/** What a fault may say beside its code. */
export interface FaultDetails {
  /** Public text; the table's text when absent. Never holds a secret or prompt text. */
  message?: string;
  /** Path of the field that is wrong, such as `messages[0].role`. */
  param?: string;
  /** What a dialect's own clients recover by: `error.details` of messages. Public. */
  details?: Readonly<Record<string, unknown>>;
  /** Whole seconds after which a retry makes sense; becomes `Retry-After`. */
  retryAfterSeconds?: number;
  /** A vendor's own account of its refusal, scrubbed, for clients that act on it. */
  vendorDetails?: Readonly<Record<string, unknown>>;
  /** Internal note for the log; never leaves the process. */
  note?: string;
  cause?: unknown;
}

/**
 * A failure that the caller sees, named by a code of the error table.
 * Inner floors throw it without knowing HTTP; `src/http/errors.ts` turns it into an answer.
 */
export class Fault extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly vendorDetails: Readonly<Record<string, unknown>> | undefined;
  readonly note: string | undefined;
  /** The vendor's id of the request that failed; set by who knows the answer's headers. */
  vendorRequestId: string | undefined;

  constructor(code: ErrorCode, details: FaultDetails = {}) {
    super(details.message ?? errors[code].message, { cause: details.cause });
    this.name = "Fault";
    this.code = code;
    this.param = details.param;
    this.details = details.details;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.vendorDetails = details.vendorDetails;
    this.note = details.note;
  }
}

/** The message of any thrown value, for internal notes. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
