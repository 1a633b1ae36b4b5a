import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "./json.ts";

/** A vendor's error, read from any of the shapes that vendors use. */
export interface VendorError {
  /** The status that the body names, or else the HTTP status; undefined without either. */
  status: number | undefined;
  /** The vendor's own code or canonical status name, such as `context_length_exceeded`. */
  code: string | undefined;
  type: string | undefined;
  message: string | undefined;
  param: string | undefined;
  /** Seconds to wait that the body names (google.rpc.RetryInfo). */
  retryAfterSeconds: number | undefined;
  /** The body wasn't JSON, but for example the page of a proxy in front of the vendor. */
  isPage?: true;
  /** The details that clients of the messages dialect act on (`details.error_code`). */
  details?: JsonRecord;
}

/**
 * Reads an error body of any vendor: nested or plain, `detail`, array-wrapped, numeric codes;
 * `body` is undefined if it wasn't JSON.
 */
export function readVendorError(body: unknown, httpStatus: number | undefined): VendorError {
  const outer = Array.isArray(body) ? body[0] : body;
  const record = asRecord(outer);
  const error = isRecord(record.error) ? record.error : record;
  const inner = typeof record.error === "string" ? record.error : undefined;
  return {
    status: claimedStatus(error.code) ?? claimedStatus(error.status) ?? httpStatus,
    code: reasonOf(error) ?? asString(error.code) ?? asString(error.status),
    type: asString(error.type),
    message: asString(error.message) ?? inner ?? detailOf(record.detail),
    param: asString(error.param),
    retryAfterSeconds: retryInfo(error.details),
    ...(body === undefined ? { isPage: true } : {}),
    ...(isRecord(error.details) ? { details: error.details } : {}),
  };
}

/** Whether a parsed answer or stream event is an error. */
export function carriesError(json: JsonRecord): boolean {
  // Open-model servers send `{"object":"error", …}`.
  return isRecord(json.error) || asString(json.error) !== undefined || json.object === "error";
}

function claimedStatus(code: unknown): number | undefined {
  const number = typeof code === "string" && /^\d{3}$/.test(code) ? Number(code) : code;
  if (typeof number !== "number" || !Number.isInteger(number)) return undefined;
  return number >= 400 && number <= 599 ? number : undefined;
}

function detailOf(detail: unknown): string | undefined {
  if (typeof detail === "string") return detail;
  if (!Array.isArray(detail)) return undefined;
  const first: unknown = detail[0];
  return asString(asRecord(first).msg);
}

/** The reason in google.rpc.ErrorInfo, such as API_KEY_INVALID, which the status doesn't reveal. */
function reasonOf(error: JsonRecord): string | undefined {
  return recordsIn(error.details).map(({ reason }) => asString(reason)).find((one) => one);
}

function retryInfo(details: unknown): number | undefined {
  for (const { retryDelay } of recordsIn(details)) {
    const match = typeof retryDelay === "string" && /^(\d+(?:\.\d+)?)s$/.exec(retryDelay);
    const ms = match ? believedWaitMs(Number(match[1]) * 1000) : undefined;
    if (ms !== undefined) return Math.ceil(ms / 1000);
  }
  return undefined;
}

/**
 * Rate limits last a month at most; a longer wait is a mistake, and evaluations would wait that
 * long.
 */
const longestWaitMs = 32 * 24 * 60 * 60_000;

/** Returns the wait that a vendor asks for; undefined if it is implausible. */
export function believedWaitMs(ms: number | undefined): number | undefined {
  return ms !== undefined && ms <= longestWaitMs ? ms : undefined;
}
