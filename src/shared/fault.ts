import { type ErrorCode, errors } from "../../contracts/kernel/errors.ts";

/** The failure of a vendor in its own words. It may quote the prompt. */
export interface VendorReply {
  /** HTTP status, or the one that an error inside a stream names; null without either. */
  status: number | null;
  message: string;
}

export interface FaultDetails {
  /** Public text; default: the text of the error table. Never a secret or prompt text. */
  message?: string;
  /** Path of the invalid field, such as `messages[0].role`. */
  param?: string;
  /**
   * Details that a dialect's clients need to recover: `error.details` of the messages dialect.
   * Public.
   */
  details?: Readonly<Record<string, unknown>>;
  /** Whole seconds after which a retry makes sense; becomes `Retry-After`. */
  retryAfterSeconds?: number;
  /** Details of a vendor's refusal, secrets masked, for clients that act on them. */
  vendorDetails?: Readonly<Record<string, unknown>>;
  /** What the vendor answered, for the call's record: secrets masked, at most 4 KiB. */
  vendorAnswer?: VendorReply;
  /** Internal note for the log; never leaves the process. */
  note?: string;
  cause?: unknown;
}

/**
 * A failure that the caller sees, with a code of the error table. Code that doesn't know HTTP throws
 * it; `src/http/errors.ts` turns it into a response.
 */
export class Fault extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly vendorDetails: Readonly<Record<string, unknown>> | undefined;
  readonly vendorAnswer: VendorReply | undefined;
  readonly note: string | undefined;
  /** The vendor's id of the failed request; set where the answer's headers are known. */
  vendorRequestId: string | undefined;
  /** Whether the vendor said that the caller should retry; undefined where it said nothing. */
  vendorRetryAdvice: boolean | undefined;
  /** Another model may answer a retry, so that this error doesn't say whether one helps. */
  isOneOfSeveral = false;

  constructor(code: ErrorCode, details: FaultDetails = {}) {
    super(details.message ?? errors[code].message, { cause: details.cause });
    this.name = "Fault";
    this.code = code;
    this.param = details.param;
    this.details = details.details;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.vendorDetails = details.vendorDetails;
    this.vendorAnswer = details.vendorAnswer;
    this.note = details.note;
  }
}

/** The fault of a field with a wrong value; the message begins with the field's path. */
export function invalidValue(path: string, problem: string): Fault {
  return new Fault("invalid_value", { param: path, message: `${path}: ${problem}.` });
}

export function missingField(path: string): Fault {
  const message = `${path}: the field is required.`;
  return new Fault("missing_required_field", { param: path, message });
}

/**
 * An invalid setting; `field` is its path in the API (`targets[0].model`), empty if the error is
 * about all fields together. Callers get it as `invalid_value`, the command line shows it as wrong
 * usage, and a form shows it next to the field.
 */
export class OptionError extends Fault {
  constructor(
    readonly field: string,
    readonly problem: string,
    code: "invalid_value" | "missing_required_field" = "invalid_value",
  ) {
    const sentence = /[.?]$/.test(problem) ? problem : `${problem}.`;
    super(
      code,
      field === "" ? { message: sentence } : { param: field, message: `${field}: ${sentence}` },
    );
  }
}

/** A field without which the others mean nothing. */
export function missingOption(field: string, why: string): OptionError {
  return new OptionError(field, `required; ${why}`, "missing_required_field");
}

/** A vendor's answer that can't be read. */
export function unreadableAnswer(note: string): Fault {
  return new Fault("upstream_invalid_response", { note });
}

/** The fault for an account that has too many of something at once. */
export function overLimit(message: string, retryAfterSeconds: number): Fault {
  return new Fault("rate_limit_exceeded", { message, retryAfterSeconds });
}

export function isStoreAway(thrown: unknown): thrown is Fault {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}

/** Awaits `work`. An error of class `kind` is replaced by the one that `as` makes of it. */
export async function rethrowing<Kind extends Error, T>(
  kind: new (...args: never[]) => Kind,
  as: (thrown: Kind) => Error,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw thrown instanceof kind ? as(thrown) : thrown;
  }
}

/** Why something failed, for the log: a fault's message is for callers, its note for operators. */
export function reasonOf(thrown: unknown): string {
  return (thrown instanceof Fault ? thrown.note : undefined) ?? messageOf(thrown);
}

/** The message of any thrown value, for internal notes. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
