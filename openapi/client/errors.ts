import { callInfo, type RateLimit, rateLimitOf, retryAfterOf } from "./answer_headers.ts";
import { errorTable } from "./generated/errors.gen.ts";

/** Codes that the service answers with. */
export type ErrorCode = keyof typeof errorTable;

/** Codes of failures without an error answer of the service. */
export type LocalErrorCode =
  /** No answer: the address is wrong, or the connection broke. */
  | "connection_failed"
  /** A stream or a download ended before it was complete. */
  | "stream_cut"
  /** The answer isn't the service's: it may be that of a proxy in between. */
  | "unreadable_answer";

/** Any code; those of a newer service than this client are plain strings. */
export type CodeOf<Known extends string = ErrorCode | LocalErrorCode> =
  | Known
  | (string & Record<never, never>);

/** A call that failed. `message` is for people, `code` for programs. */
export class GatewayError<Code extends string = CodeOf> extends Error {
  override readonly name = "GatewayError";
  readonly code: Code;
  /** Class of the error, such as `rate_limit_error`. */
  readonly type: string;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** Path of the invalid field. */
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  readonly transactionId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly rateLimit: RateLimit | undefined;

  constructor(facts: ErrorFacts & { code: Code }, response?: Response, cause?: unknown) {
    super(facts.message, cause === undefined ? {} : { cause });
    const call = response && callInfo(response);
    this.code = facts.code;
    this.type = facts.type ?? typeOf(facts.code);
    this.status = facts.status ?? response?.status ?? 0;
    this.param = facts.param;
    this.requestId = facts.requestId ?? call?.requestId;
    this.transactionId = call?.transactionId;
    this.retryAfterSeconds = response && retryAfterOf(response);
    this.rateLimit = response && rateLimitOf(response);
  }
}

/** Whether a thrown value is a call's error, with one of the codes if any are given. */
export function isGatewayError<Code extends ErrorCode | LocalErrorCode>(
  thrown: unknown,
  ...codes: Code[]
): thrown is GatewayError<[Code] extends [never] ? CodeOf : Code> {
  if (!(thrown instanceof GatewayError)) return false;
  return codes.length === 0 || codes.some((code) => code === thrown.code);
}

interface ErrorFacts {
  code: string;
  message: string;
  type?: string | undefined;
  status?: number | undefined;
  param?: string | undefined;
  requestId?: string | undefined;
}

/** Returns what an operation throws; `thrown` is an answer's body, or what stopped the call. */
export function gatewayErrorOf(
  thrown: unknown,
  response: Response | undefined,
  request: Request | undefined,
): unknown {
  if (isAbort(thrown) || thrown instanceof GatewayError) return thrown;
  const requestId = request?.headers.get("X-Request-ID") ?? undefined;
  if (response === undefined) return connectionError(thrown, requestId, request?.url);
  const facts = factsIn(thrown);
  if (facts) return new GatewayError(facts, response);
  return new GatewayError(
    {
      code: "unreadable_answer",
      message: `The response with status ${response.status} is not in the service's error format.`,
      requestId,
    },
    response,
    thrown,
  );
}

/** Creates the error of a connection that could not be made, or broke. */
export function connectionError(
  thrown: unknown,
  requestId?: string,
  url?: string,
): GatewayError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new GatewayError(
    {
      code: "connection_failed",
      message: `No answer: ${message}${causeOf(thrown)}${originHint(url)}`,
      requestId,
    },
    undefined,
    thrown,
  );
}

/** Returns the cause's message: Node's own message is always `fetch failed`. */
function causeOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  if (!(cause instanceof Error)) return "";
  // If several addresses were tried, the cause has a code and no message.
  const reason = cause.message || (cause as { code?: unknown }).code;
  return typeof reason === "string" && reason !== "" ? ` (${reason})` : "";
}

/** Browsers hide from scripts why a call to another origin failed; usually it is not allowed. */
function originHint(url: string | undefined): string {
  const { location } = globalThis as { location?: { origin?: string } };
  const origin = location?.origin;
  if (url === undefined || !origin?.startsWith("http") || new URL(url).origin === origin) return "";
  return `. This page's origin is ${origin}: is it one of the service's CORS_ORIGINS?`;
}

/** Reads the error in an answer's body or a stream's event, in any dialect; undefined if none. */
export function factsIn(body: unknown): ErrorFacts | undefined {
  if (!isRecord(body)) return undefined;
  const error = body.type === "error" && !isRecord(body.error) ? body : body.error;
  if (!isRecord(error) || typeof error.message !== "string") return undefined;
  // In a stream of the generate dialect `code` is the HTTP status, and `reason` the code.
  const code = [error.reason, error.code, error.type].find((each) => typeof each === "string");
  return {
    code: String(code ?? "unreadable_answer"),
    message: error.message,
    type: error === body || typeof error.type !== "string" ? undefined : error.type,
    status: statusOf(String(code)),
    param: typeof error.param === "string" ? error.param : undefined,
  };
}

export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error &&
    (thrown.name === "AbortError" || thrown.name === "TimeoutError");
}

/** Returns a code's status by the table, for errors within streams, whose HTTP status was 200. */
function statusOf(code: string): number | undefined {
  return isKnown(code) ? errorTable[code].status : undefined;
}

function typeOf(code: string): string {
  return isKnown(code) ? errorTable[code].type : code;
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
