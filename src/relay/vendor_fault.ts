import type { JsonRecord } from "../dialects/kernel/json.ts";
import { type ErrorCode } from "../../contracts/kernel/errors.ts";
import { maskSecrets, type Secret } from "../base/secret.ts";
import type { VendorError } from "../dialects/kernel/vendor_error.ts";
import { capPayload } from "../records/payload.ts";
import { Fault } from "../shared/fault.ts";
import type { Mode } from "../shared/interaction.ts";

/**
 * Turns a vendor's failure into the caller's fault. The vendor's message is passed on, scrubbed,
 * only where the caller's input caused the failure.
 */
export function vendorFault(
  error: VendorError,
  context: {
    mode: Mode;
    /** The vendor's base URL. */
    address: string;
    /** The vendor key, which the vendor's message may repeat. */
    key: Secret;
    /** Further keys that the call may have used. */
    otherKeys?: readonly Secret[];
    retryAfterSeconds?: number | undefined;
  },
): Fault {
  const managed = context.mode === "managed";
  const keys = [context.key, ...context.otherKeys ?? []];
  const scrubbed = (text: string) => scrub(text, context.address, keys);
  const code = codeOf(error, managed);
  const retryAfterSeconds = context.retryAfterSeconds ?? error.retryAfterSeconds;
  const isCallers = callersFault.has(code);
  const text = isCallers && error.message ? scrubbed(error.message) : undefined;
  const details = (isCallers || !managed) && publicDetails(error.details, scrubbed);
  return new Fault(code, {
    ...(text === undefined ? {} : { message: text.slice(0, 2000) }),
    ...(details ? { vendorDetails: details } : {}),
    ...(isCallers && error.param ? { param: scrubbed(error.param).slice(0, 200) } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    vendorAnswer: {
      status: error.status ?? null,
      message: capPayload(scrubbed(error.message ?? ""), maxVendorWords).text,
    },
    note: `vendor status ${error.status ?? "none"}, code ${
      identifier(error.code ?? error.type, keys)
    }`,
  });
}

/** The most bytes of a vendor's message that a record holds. */
const maxVendorWords = 4_096;

/**
 * Returns a vendor's error code for the log: only if it is a name such as `insufficient_quota`; any
 * other text may come from the prompt.
 */
function identifier(code: string | undefined, keys: readonly Secret[]): string {
  if (code === undefined) return "none";
  if (!/^[A-Za-z][A-Za-z0-9_.]{0,59}$/.test(code)) return "unreadable";
  return maskSecrets(withoutKeys(code, keys));
}

/**
 * Returns the message without keys, the vendor's address, and ids of the account behind the key.
 */
function scrub(message: string, address: string, keys: readonly Secret[]): string {
  const host = URL.canParse(address) ? new URL(address).host : "";
  // The key is removed first: a caller's own key may be any text.
  return maskSecrets(withoutKeys(message, keys), [address, host])
    .replace(/\b(?:(?:org|proj)[-_][0-9A-Za-z]{6}|projects\/[\w-])[\w-]*/g, "***");
}

/**
 * Removes keys of any form. Values of a few letters are not keys, and would match parts of words.
 */
function withoutKeys(text: string, keys: readonly Secret[]): string {
  return keys.map((key) => key.reveal()).filter((value) => value.length >= 6)
    .reduce((rest, value) => rest.replaceAll(value, "***"), text);
}

const callersFault: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid_request",
  "context_length_exceeded",
  "content_policy_violation",
  "request_too_large",
  "model_not_found",
  "upstream_forbidden",
]);

function codeOf(error: VendorError, managed: boolean): ErrorCode {
  const status = error.status ?? statusByName(error);
  // An error that a decoder found already has one of our codes.
  const ours = unreadable.find((code) => code === error.type || code === error.code);
  if (ours) return ours;
  const message = `${error.code ?? ""} ${error.type ?? ""} ${error.message ?? ""}`.toLowerCase();
  if (isKeyProblem(status, message)) {
    return managed ? "upstream_authentication_failed" : "invalid_vendor_api_key";
  }
  const isUsedUp = status >= 400 && status < 500 && isQuotaMessage(error.message ?? "");
  if (isUsedUp || isQuotaProblem(status, message, error.retryAfterSeconds !== undefined)) {
    return managed ? "upstream_quota_exhausted" : "vendor_quota_exhausted";
  }
  switch (status) {
    case 400:
    case 409:
    case 422:
      return badRequestCode(message);
    case 403:
      return error.isPage ? "upstream_error" : "upstream_forbidden";
    case 404:
      // A 404 is nearly always about the model; else the request itself is wrong.
      return /\b(item|file|response|conversation) with id\b/.test(message)
        ? "invalid_request"
        : "model_not_found";
    case 405:
      return error.isPage ? "upstream_error" : "invalid_request";
    case 408:
    case 504:
      return "upstream_timeout";
    case 425:
      return "upstream_overloaded";
    case 413:
      return "request_too_large";
    case 429:
      return "upstream_rate_limited";
    case 502:
    case 503:
    case 529:
      return "upstream_overloaded";
    default:
      return status >= 400 && status < 500 ? "invalid_request" : "upstream_error";
  }
}

const unreadable = [
  "upstream_invalid_tool_call",
  "upstream_invalid_response",
  "upstream_stream_truncated",
] as const;

/** Derives the status of an error that has none from the vendors' names for errors. */
function statusByName(error: VendorError): number {
  const name = `${error.type ?? ""} ${error.code ?? ""}`.toLowerCase();
  if (name.includes("overloaded") || name.includes("unavailable")) return 503;
  if (/rate_limit|resource_exhausted|quota/.test(name)) return 429;
  if (name.includes("billing")) return 402;
  if (name.includes("too_large")) return 413;
  if (name.includes("timeout") || name.includes("deadline")) return 504;
  if (name.includes("authentication")) return 401;
  if (name.includes("permission")) return 403;
  if (name.includes("not_found")) return 404;
  if (/invalid_request|invalid_argument/.test(name) || badRequestCode(name) !== "invalid_request") {
    return 400;
  }
  return 500;
}

function isKeyProblem(status: number, message: string): boolean {
  if (status === 401) return true;
  if (status === 400) {
    return message.includes("api_key_invalid") || message.includes("api key not valid");
  }
  return status === 403 &&
    /api[ _-]?key|credential|unregistered callers|permission_denied/.test(message);
}

function isQuotaProblem(status: number, message: string, hasRetryAfter: boolean): boolean {
  if (status === 402) return true;
  // If waiting helps it is a rate limit: Google writes "quota" and "billing" for both.
  if (status === 429 && hasRetryAfter) return false;
  if (status === 429) return message.includes("insufficient_quota") || message.includes("billing");
  return status === 400 && message.includes("credit balance is too low");
}

/**
 * Whether a message says that credit or a spending limit is used up, under a status that means
 * something else: 400 at Anthropic and OpenAI, 403 at OpenRouter and xAI, 429 at xAI. Only the
 * beginning of the message counts: vendors quote callers' text.
 */
function isQuotaMessage(message: string): boolean {
  return quotaMessages.some((form) => form.test(message));
}

const quotaMessages = [
  /^you have reached your specified (?:\w+ )?api usage limits/i,
  /^billing hard limit has been reached/i,
  /^key limit exceeded/i,
  /^your (?:newly created )?teams? [\w\s'-]{0,100}(?:credits|spending limit)/i,
  /^you have run out of credits/i,
];

function badRequestCode(message: string): ErrorCode {
  if (tooLong.some((form) => form.test(message))) return "context_length_exceeded";
  if (
    /content_policy|content_filter|moderation|safety system|bio_policy|policy_violation/.test(
      message,
    )
  ) {
    return "content_policy_violation";
  }
  return "invalid_request";
}

/**
 * Agents shorten their conversation on this error. Most servers of the chat dialect send no code
 * for it, so the message decides.
 */
const tooLong = [
  /context_length_exceeded|prompt is too long|input token count/,
  /maximum (?:context|prompt|model|allowed input) length/,
  /exceeds the (?:maximum number of tokens|context window|available context size)/,
  /exceed context limit|exceeded model token limit/,
];

/** Larger details are not passed on. */
const maxText = 4_096;
const maxDepth = 6;

/** Members that identify the account behind the key. */
const accountMember =
  /^(?:organi[sz]ation|workspace|account|project|api_?key)(?:_?(?:id|uuid|name))?$/i;

/**
 * Returns `error.details` of a vendor's refusal for callers that act on it (`error_code`). Every
 * text in it is scrubbed like the message.
 */
function publicDetails(
  details: JsonRecord | undefined,
  scrub: (text: string) => string,
): JsonRecord | undefined {
  if (details === undefined || JSON.stringify(details).length > maxText) return undefined;
  return scrubbedValue(details, scrub, 0) as JsonRecord;
}

function scrubbedValue(value: unknown, scrub: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return scrub(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === maxDepth) return null;
  if (Array.isArray(value)) return value.map((one) => scrubbedValue(one, scrub, depth + 1));
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !accountMember.test(name))
      .map(([name, one]) => [scrub(name), scrubbedValue(one, scrub, depth + 1)]),
  );
}
