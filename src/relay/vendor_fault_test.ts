import assert from "@std/assert";
import { type ErrorCode, errors } from "../../contracts/kernel/errors.ts";
import { readVendorError, type VendorError } from "../dialects/kernel/vendor_error.ts";
import type { Mode } from "../shared/interaction.ts";
import { Secret } from "../base/secret.ts";
import { vendorFault } from "./vendor_fault.ts";

const address = "https://api.vendor.example:8443/v1";
const key = new Secret("a0key0in0no0known0form");

function faultOf(error: Partial<VendorError>, mode: Mode = "managed", retryAfterSeconds?: number) {
  const whole: VendorError = {
    status: undefined,
    code: undefined,
    type: undefined,
    message: undefined,
    param: undefined,
    retryAfterSeconds: undefined,
    ...error,
  };
  return vendorFault(whole, { mode, address, key, retryAfterSeconds });
}

/** A row of translation.md §14.1: what the vendor says, and what its failure is to our caller. */
interface Row {
  name: string;
  error: Partial<VendorError>;
  /** With the service's own key. */
  managed: ErrorCode;
  /** With the caller's own vendor key; the same where absent. */
  own?: ErrorCode;
}

const same = (status: number, code: ErrorCode): Row => ({
  name: `status ${status}`,
  error: { status },
  managed: code,
});

const keyRefused = {
  managed: "upstream_authentication_failed",
  own: "invalid_vendor_api_key",
} as const;
const quotaGone = { managed: "upstream_quota_exhausted", own: "vendor_quota_exhausted" } as const;

const byStatus: Row[] = [
  same(400, "invalid_request"),
  same(405, "invalid_request"),
  same(409, "invalid_request"),
  same(415, "invalid_request"),
  same(422, "invalid_request"),
  same(403, "upstream_forbidden"),
  same(404, "model_not_found"),
  same(408, "upstream_timeout"),
  same(504, "upstream_timeout"),
  same(413, "request_too_large"),
  same(429, "upstream_rate_limited"),
  same(500, "upstream_error"),
  same(501, "upstream_error"),
  same(302, "upstream_error"),
  same(520, "upstream_error"),
  same(502, "upstream_overloaded"),
  same(503, "upstream_overloaded"),
  same(529, "upstream_overloaded"),
  { name: "status 401", error: { status: 401 }, ...keyRefused },
  { name: "status 402", error: { status: 402 }, ...quotaGone },
];

/** As the vendors say it, each with its status. */
const usedUp: [number, string][] = [
  [
    400,
    "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
  ],
  [400, "Billing hard limit has been reached"],
  [
    403,
    "Key limit exceeded (monthly limit). Manage it using https://openrouter.ai/settings/keys",
  ],
  [403, "Your newly created team doesn't have any credits or licenses yet."],
  [403, "Your newly created teams doesn't have any credits yet."],
  [403, "You have run out of credits or need a Grok subscription."],
  [
    429,
    "Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit.",
  ],
];

const byWords: Row[] = [
  {
    name: "prompt too long, chat style",
    error: { status: 400, code: "context_length_exceeded" },
    managed: "context_length_exceeded",
  },
  {
    name: "prompt too long, messages style",
    error: { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
    managed: "context_length_exceeded",
  },
  {
    name: "prompt too long, generate style",
    error: {
      status: 400,
      message: "The input token count (1) exceeds the maximum number of tokens allowed (2).",
    },
    managed: "context_length_exceeded",
  },
  {
    name: "content policy",
    error: { status: 400, code: "content_policy_violation" },
    managed: "content_policy_violation",
  },
  {
    name: "content filter",
    error: { status: 400, code: "content_filter" },
    managed: "content_policy_violation",
  },
  {
    name: "generate's invalid key, which is a 400",
    error: { status: 400, code: "API_KEY_INVALID", message: "API key not valid." },
    ...keyRefused,
  },
  {
    name: "generate's missing key, which is a 403",
    error: { status: 403, code: "PERMISSION_DENIED" },
    ...keyRefused,
  },
  {
    name: "403 about the key",
    error: { status: 403, message: "Your API key does not have access to this resource." },
    ...keyRefused,
  },
  {
    name: "403 about the region",
    error: { status: 403, code: "unsupported_country_region_territory" },
    managed: "upstream_forbidden",
  },
  {
    name: "403 by moderation",
    error: { status: 403, message: "Your chosen model requires moderation, input was flagged." },
    managed: "upstream_forbidden",
  },
  {
    name: "quota exhausted, chat style",
    error: { status: 429, type: "insufficient_quota", code: "insufficient_quota" },
    ...quotaGone,
  },
  {
    name: "quota exhausted, in words",
    error: {
      status: 429,
      message: "You exceeded your quota, check your plan and billing details.",
    },
    ...quotaGone,
  },
  {
    name: "the same words with a time to retry are a rate",
    error: { status: 429, message: "Quota exceeded, check your billing.", retryAfterSeconds: 37 },
    managed: "upstream_rate_limited",
  },
  {
    name: "credit gone, messages style, which is a 400",
    error: { status: 400, message: "Your credit balance is too low to access the API." },
    ...quotaGone,
  },
  ...usedUp.map(([status, message]) => ({
    name: `${status} '${message.slice(0, 30)}…'`,
    error: { status, message },
    ...quotaGone,
  })),
  {
    name: "a refusal that repeats such words",
    error: { status: 400, message: "Invalid value: 'Key limit exceeded (total limit).'" },
    managed: "invalid_request",
  },
];

/** Errors inside a stream often claim no status (messages.md §6). */
const withoutStatus: Row[] = [
  { name: "nothing at all", error: {}, managed: "upstream_error" },
  { name: "server_error", error: { type: "server_error" }, managed: "upstream_error" },
  { name: "api_error", error: { type: "api_error" }, managed: "upstream_error" },
  { name: "overloaded_error", error: { type: "overloaded_error" }, managed: "upstream_overloaded" },
  { name: "UNAVAILABLE", error: { code: "UNAVAILABLE" }, managed: "upstream_overloaded" },
  {
    name: "rate_limit_error",
    error: { type: "rate_limit_error" },
    managed: "upstream_rate_limited",
  },
  { name: "timeout_error", error: { type: "timeout_error" }, managed: "upstream_timeout" },
  { name: "authentication_error", error: { type: "authentication_error" }, ...keyRefused },
  { name: "insufficient_quota", error: { code: "insufficient_quota" }, ...quotaGone },
  { name: "billing_error", error: { type: "billing_error" }, ...quotaGone },
  { name: "permission_error", error: { type: "permission_error" }, managed: "upstream_forbidden" },
  {
    name: "invalid_request_error",
    error: { type: "invalid_request_error" },
    managed: "invalid_request",
  },
  {
    name: "context_length_exceeded",
    error: { code: "context_length_exceeded" },
    managed: "context_length_exceeded",
  },
  { name: "request_too_large", error: { type: "request_too_large" }, managed: "request_too_large" },
  { name: "not_found_error", error: { type: "not_found_error" }, managed: "model_not_found" },
];

/** What servers of the chat dialect say of a prompt that is too long, without a code for it. */
const tooLong = [
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000.",
  "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens.",
  "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
  "Input length (265330) exceeds model's maximum context length (262144).",
  "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
  "Your input exceeds the context window of this model. Please adjust your input and try again.",
  "the request exceeds the available context size, try increasing it",
  "input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000",
  "Invalid request: Your request exceeded model token limit: 262144",
];

for (const message of tooLong) {
  Deno.test(`context_length_exceeded: ${message}`, () => {
    assert.equal(faultOf({ status: 400, message }).code, "context_length_exceeded");
  });
}

for (const { name, error, managed, own = managed } of [...byStatus, ...byWords]) {
  Deno.test(`${name}: ${managed} with the service's key, ${own} with the caller's`, () => {
    assert.equal(faultOf(error, "managed").code, managed);
    assert.equal(faultOf(error, "stored_key").code, own);
    assert.equal(faultOf(error, "dual_key").code, own);
  });
}
for (const { name, error, managed, own = managed } of withoutStatus) {
  Deno.test(`no status, ${name}: ${managed}, ${own} with the caller's key`, () => {
    assert.equal(faultOf(error, "managed").code, managed);
    assert.equal(faultOf(error, "dual_key").code, own);
  });
}

Deno.test("an error page of the edge becomes an envelope by its status alone", () => {
  const fault = vendorFault(readVendorError(undefined, 413), { mode: "managed", address, key });
  assert.equal(fault.code, "request_too_large");
  assert.equal(fault.message, errors.request_too_large.message);
});

Deno.test("the wait of the header goes before the wait of the body, either is passed on", () => {
  assert.equal(faultOf({ status: 429 }, "managed", 12).retryAfterSeconds, 12);
  assert.equal(faultOf({ status: 429, retryAfterSeconds: 37 }).retryAfterSeconds, 37);
  assert.equal(
    faultOf({ status: 429, retryAfterSeconds: 37 }, "managed", 12).retryAfterSeconds,
    12,
  );
  assert.equal(faultOf({ status: 429 }).retryAfterSeconds, undefined);
});

const passed: [string, Partial<VendorError>][] = [
  ["invalid_request", { status: 400 }],
  ["context_length_exceeded", { status: 400, code: "context_length_exceeded" }],
  ["content_policy_violation", { status: 400, code: "content_policy_violation" }],
  ["model_not_found", { status: 404 }],
  ["upstream_forbidden", { status: 403 }],
  ["request_too_large", { status: 413 }],
];
for (const [code, error] of passed) {
  Deno.test(`${code} keeps the vendor's message and field: the caller caused it`, () => {
    const fault = faultOf({ ...error, message: "temperature: must be below 2", param: "temp" });
    assert.equal(fault.code, code);
    assert.equal(fault.message, "temperature: must be below 2");
    assert.equal(fault.param, "temp");
  });
}

const kept: Partial<VendorError>[] = [
  { status: 401 },
  { status: 402 },
  { status: 429 },
  { status: 429, code: "insufficient_quota" },
  { status: 500 },
  { status: 503 },
  { status: 504 },
  {},
];
for (const error of kept) {
  Deno.test(`${JSON.stringify(error)} shows our text, not the vendor's`, () => {
    for (const mode of ["managed", "dual_key"] as const) {
      const fault = faultOf({ ...error, message: "canary at org-1", param: "canary" }, mode);
      assert.equal(fault.message, errors[fault.code].message);
      assert.equal(fault.param, undefined);
    }
  });
}

const secrets: [string, RegExp][] = [
  ["Bad key sk-proj-abcDEF123456 given", /sk-proj|abcDEF/],
  ["Bad key sk-ant-api03-abcDEF_123 given", /sk-ant|abcDEF/],
  ["Bad key AIzaSyA1234567890 given", /AIza/],
  ["header was Bearer abcdef.ghi", /abcdef/],
  ["key dmt_abc;sk-vendor-1", /dmt_|vendor-1/],
  [`see ${address}/chat/completions`, /vendor\.example/],
  ["cannot reach https://api.vendor.example:8443/other", /vendor\.example|8443/],
  ["Project proj_abc123DEF456 has no access", /abc123/],
  ["in organization org-AbC123dEf456gHi", /AbC123/],
  ["model projects/acme-prod/locations/x not found", /acme/],
  ["GET https://h/?key=verysecretvalue failed", /verysecret/],
];
for (const [message, leak] of secrets) {
  Deno.test(`'${message.slice(0, 20)}…' is scrubbed before it is passed on`, () => {
    const fault = faultOf({ status: 400, message });
    assert.doesNotMatch(fault.message, leak);
    assert.notEqual(fault.message, errors.invalid_request.message);
    assert.doesNotMatch(faultOf({ status: 500, code: message }).note ?? "", /sk-|AIza|dmt_/);
  });
}

Deno.test("a vendor's error code is logged only if it is a name", () => {
  for (const code of ["insufficient quota", "a\nb", "a\r", "a\u2028", "say-it", "x".repeat(61)]) {
    assert.equal(faultOf({ status: 500, code }).note, "vendor status 500, code unreadable");
  }
  assert.match(faultOf({ status: 500, code: "bad.code_1" }).note!, /, code bad\.code_1$/);
});

Deno.test("an ordinary message is passed on as it is, a huge one is cut", () => {
  const plain = "messages.1: `tool_use` ids were found without `tool_result` blocks";
  assert.equal(faultOf({ status: 400, message: plain }).message, plain);
  assert.equal(faultOf({ status: 400, message: "x".repeat(9000) }).message.length, 2000);
  assert.equal(faultOf({ status: 400, message: "x", param: "p".repeat(999) }).param?.length, 200);
});

Deno.test("a 404 for something else that the request names is the request's fault, not the model's", () => {
  const message = "Item with id 'rs_1' not found. Items are not persisted.";
  assert.equal(faultOf({ status: 404, message }).code, "invalid_request");
  assert.equal(faultOf({ status: 404, message: "No endpoints found" }).code, "model_not_found");
});

Deno.test("the key that a vendor was called with is in no message, whatever its form", () => {
  const said = `You sent ${key.reveal()}.`;
  const fault = faultOf({ status: 400, message: said, param: key.reveal(), code: key.reveal() });
  assert.deepEqual([fault.message, fault.param], ["You sent ***.", "***"]);
  assert.equal(fault.note, "vendor status 400, code ***");
});

Deno.test("a refusal's details name neither key nor account at any depth, and are none if too large", () => {
  const secret = key.reveal();
  const nested = (depth: number): unknown => depth === 0 ? { why: "x" } : [nested(depth - 1)];
  const details = {
    error_code: "no_threads",
    shown: [{ workspaceId: "w", API_KEY: "k", why: `not with ${secret}`, [secret]: null }],
    deep: nested(5),
  };
  const detailsOf = (status: number, mode: Mode, of: Record<string, unknown>) =>
    faultOf({ status, details: of }, mode).vendorDetails;
  const scrubbed = {
    error_code: "no_threads",
    shown: [{ why: "not with ***", "***": null }],
    deep: [[[[[null]]]]],
  };
  assert.deepEqual(detailsOf(400, "managed", details), scrubbed);
  assert.deepEqual(detailsOf(401, "dual_key", details), scrubbed);
  assert.equal(detailsOf(401, "managed", details), undefined, "that key is the operator's");
  assert.equal(detailsOf(400, "managed", { text: "x".repeat(4_100) }), undefined);
});
