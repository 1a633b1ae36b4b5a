import assert from "@std/assert";
import { type Answer, checkError } from "../support/scenarios.ts";
import { shared } from "../support/service.ts";
import { type Script, startScriptedService, wholeAnswer } from "../support/service_scripted.ts";

const patient = shared(() => startScriptedService());

/** Only silence ends by the clock: on a busy machine, other failures may take longer to arrive. */
const impatient = shared(() =>
  startScriptedService({ FIRST_BYTE_TIMEOUT_MS: "1500", IDLE_TIMEOUT_MS: "500" })
);

/** A vendor's error, and the error that the caller gets (protocols/translation.md §14.1). */
interface Failure {
  name: string;
  script: Script;
  status: number;
  type: string;
  code: string;
  /** Public text; the table's own where the vendor's words are not passed on. */
  message?: RegExp;
  retryAfter?: string;
  shouldRetry?: string;
  /** With the caller's own vendor key, where that is another answer. */
  own?: { status: number; type: string; code: string };
  /** How often the vendor is asked. */
  tries?: number;
  /** On a connection that was kept from an earlier call it looks like one closed meanwhile. */
  maybeStale?: boolean;
  /** The usage that the vendor reported is charged; nothing if nothing of an answer came. */
  costs?: string;
}

/** Nothing of this may be seen by the caller of a failure that is not its own. */
const inner = "inner words of org-secret with sk-abcdefghijklmnop123456";
const says = (code: string | null, message = inner, type = "x") => ({
  error: { message, type, code, param: null },
});
const bad = { type: "invalid_request_error" };

const failures: readonly Failure[] = [
  {
    name: "400, whose words are the caller's business, with keys masked",
    script: answers(400, says(null, "temperature is too hot; sk-abcdefghijklmnop123456")),
    status: 400,
    ...bad,
    code: "invalid_request",
    message: /^temperature is too hot; (?!.*abcdefghijklmnop)/,
  },
  {
    name: "400 for a prompt that is too long",
    script: answers(
      400,
      says("context_length_exceeded", "This model's maximum context is 8 tokens"),
    ),
    status: 400,
    ...bad,
    code: "context_length_exceeded",
    message: /maximum context/,
  },
  {
    name: "400 for what the policy forbids",
    script: answers(400, says("content_policy_violation", "Not this.")),
    status: 400,
    ...bad,
    code: "content_policy_violation",
    message: /^Not this\.$/,
  },
  {
    name: "422",
    script: answers(422, { detail: [{ loc: ["body", "n"], msg: "value is not valid" }] }),
    status: 400,
    ...bad,
    code: "invalid_request",
    message: /^value is not valid$/,
  },
  {
    name: "409",
    script: answers(409, says(null, "conflict")),
    status: 400,
    ...bad,
    code: "invalid_request",
    message: /^conflict$/,
    shouldRetry: "true",
  },
  {
    name: "401",
    script: answers(401, says("invalid_api_key")),
    status: 502,
    type: "upstream_error",
    code: "upstream_authentication_failed",
    own: { status: 401, type: "authentication_error", code: "invalid_vendor_api_key" },
  },
  {
    name: "402",
    script: answers(402, says(null)),
    status: 503,
    type: "upstream_error",
    code: "upstream_quota_exhausted",
    own: { status: 429, type: "rate_limit_error", code: "vendor_quota_exhausted" },
  },
  {
    name: "403",
    script: answers(403, says("unsupported_country", "Not in this region.")),
    status: 403,
    type: "permission_error",
    code: "upstream_forbidden",
    message: /^Not in this region\.$/,
  },
  {
    name: "403 for the key",
    script: answers(403, says(null, "Your API key may not do this")),
    status: 502,
    type: "upstream_error",
    code: "upstream_authentication_failed",
    own: { status: 401, type: "authentication_error", code: "invalid_vendor_api_key" },
  },
  ...[403, 405].map((status) => ({
    name: `${status} with a page of HTML, which is not the vendor's word on the call`,
    script: answers(status, `<html>${inner}</html>`, { "content-type": "text/html" }),
    status: 502,
    type: "upstream_error",
    code: "upstream_error",
  })),
  {
    name: "404",
    script: answers(404, says("model_not_found", "The model does not exist")),
    status: 404,
    type: "not_found_error",
    code: "model_not_found",
    message: /does not exist/,
  },
  {
    name: "413",
    script: answers(413, says(null, "too big")),
    status: 413,
    ...bad,
    code: "request_too_large",
    message: /^too big$/,
  },
  {
    name: "501",
    script: answers(501, says(null)),
    status: 502,
    type: "upstream_error",
    code: "upstream_error",
  },
  {
    name: "408, asked three times",
    script: answers(408, says(null)),
    status: 504,
    type: "timeout_error",
    code: "upstream_timeout",
    tries: 3,
  },
  {
    name: "429, asked three times",
    script: answers(429, says("rate_limit_exceeded")),
    status: 429,
    type: "rate_limit_error",
    code: "upstream_rate_limited",
    tries: 3,
  },
  {
    name: "429 that the vendor says not to retry",
    script: answers(429, says("rate_limit_exceeded"), { "x-should-retry": "false" }),
    status: 429,
    type: "rate_limit_error",
    code: "upstream_rate_limited",
    shouldRetry: "false",
  },
  {
    name: "409 that the vendor says to retry, which the caller may do",
    script: answers(409, says(null, "Locked."), { "x-should-retry": "true" }),
    status: 400,
    ...{ type: "invalid_request_error", code: "invalid_request" },
    message: /^Locked\.$/,
    shouldRetry: "true",
  },
  {
    name: "429 with a Retry-After beyond our patience, which goes out at once",
    script: answers(429, says("rate_limit_exceeded"), { "retry-after": "17" }),
    status: 429,
    type: "rate_limit_error",
    code: "upstream_rate_limited",
    retryAfter: "17",
  },
  {
    name: "429 with a Retry-After in milliseconds",
    script: answers(429, says("rate_limit_exceeded"), { "retry-after-ms": "2500" }),
    status: 429,
    type: "rate_limit_error",
    code: "upstream_rate_limited",
    retryAfter: "3",
  },
  {
    name: "429 for a quota that is used up, asked once",
    script: answers(429, says("insufficient_quota")),
    status: 503,
    type: "upstream_error",
    code: "upstream_quota_exhausted",
    own: { status: 429, type: "rate_limit_error", code: "vendor_quota_exhausted" },
  },
  {
    name: "500, asked three times",
    script: answers(500, says(null)),
    status: 502,
    type: "upstream_error",
    code: "upstream_error",
    tries: 3,
  },
  {
    name: "502 with a page of HTML",
    script: answers(502, `<html>${inner}</html>`, { "content-type": "text/html" }),
    status: 503,
    type: "overloaded_error",
    code: "upstream_overloaded",
    tries: 3,
  },
  {
    name: "503 with a Retry-After beyond our patience",
    script: answers(503, says(null), { "retry-after": "30" }),
    status: 503,
    type: "overloaded_error",
    code: "upstream_overloaded",
    retryAfter: "30",
  },
  {
    name: "504, asked three times",
    script: answers(504, ""),
    status: 504,
    type: "timeout_error",
    code: "upstream_timeout",
    tries: 3,
  },
  {
    name: "529",
    script: answers(529, says(null), { "retry-after": "9" }),
    status: 503,
    type: "overloaded_error",
    code: "upstream_overloaded",
    retryAfter: "9",
  },
  {
    name: "a redirect, which is not followed",
    script: answers(307, "", { location: "http://127.0.0.1:9/elsewhere" }),
    status: 502,
    type: "upstream_error",
    code: "upstream_error",
  },
  {
    name: "200 with an error in its body",
    script: answers(200, { error: { message: inner, code: 503 } }),
    status: 503,
    type: "overloaded_error",
    code: "upstream_overloaded",
  },
  {
    name: "200 with a page of HTML",
    script: answers(200, `<html>${inner}</html>`, { "content-type": "text/html" }),
    status: 502,
    type: "upstream_error",
    code: "upstream_invalid_response",
  },
  {
    name: "200 with nothing",
    script: answers(200, ""),
    status: 502,
    type: "upstream_error",
    code: "upstream_invalid_response",
  },
  {
    name: "200 with JSON that is not an answer",
    script: answers(200, { ok: true, inner }),
    status: 502,
    type: "upstream_error",
    code: "upstream_invalid_response",
  },
  {
    name: "a connection that is cut in the middle of the answer",
    script: async (exchange) => {
      await exchange.head(200, { "content-type": "application/json" }, { length: 5000 });
      await exchange.write(JSON.stringify(wholeAnswer));
      exchange.cut();
    },
    status: 502,
    type: "upstream_error",
    code: "upstream_stream_truncated",
    costs: "0.000060000",
  },
  {
    name: "a connection that closes before an answer",
    script: (exchange) => exchange.cut(),
    maybeStale: true,
    status: 502,
    type: "upstream_error",
    code: "upstream_unreachable",
  },
  {
    name: "something that is not HTTP",
    script: async (exchange) => {
      await exchange.raw("SSH-2.0-OpenSSH_9.2\r\n\r\n");
      exchange.cut();
    },
    status: 502,
    type: "upstream_error",
    code: "upstream_invalid_response",
  },
  {
    name: "silence, for as long as FIRST_BYTE_TIMEOUT_MS, asked once",
    script: () => {},
    status: 504,
    type: "timeout_error",
    code: "upstream_timeout",
  },
  {
    name: "silence in the middle of the answer, for as long as IDLE_TIMEOUT_MS",
    script: async (exchange) => {
      await exchange.head(200, { "content-type": "application/json" });
      await exchange.write('{"id":');
    },
    status: 504,
    type: "timeout_error",
    code: "upstream_timeout",
  },
];

for (const stream of [false, true]) {
  // At once, since some of them wait: the table takes as long as its slowest row.
  Deno.test(`a vendor's failure becomes the error of our table${stream ? ", streamed" : ""}`, async (t) => {
    await Promise.all(failures.map((failure) =>
      t.step({
        name: `${failure.name} is ${failure.status} ${failure.code}`,
        fn: () => play(failure, stream, false),
        sanitizeOps: false,
        sanitizeResources: false,
        sanitizeExit: false,
      })
    ));
  });
}

Deno.test("with the caller's own vendor key the failures of that key are the caller's", async (t) => {
  await Promise.all(
    failures.filter((failure) => failure.own).map((failure) =>
      t.step({
        name: `${failure.name} is ${failure.own!.status} ${failure.own!.code}`,
        fn: () => play({ ...failure, ...failure.own! }, false, true),
        sanitizeOps: false,
        sanitizeResources: false,
        sanitizeExit: false,
      })
    ),
  );
});

/** Somebody has to do something first, although the status says that a later call may succeed. */
const lasting = [
  ...["invalid_vendor_api_key", "upstream_authentication_failed"],
  ...["upstream_quota_exhausted", "vendor_quota_exhausted"],
];

async function play(failure: Failure, stream: boolean, own: boolean): Promise<void> {
  const service = failure.name.startsWith("silence") ? impatient() : patient();
  const { call, key, row, vendorUrl, vendorKey } = service;
  const { response, tries } = await call(failure.script, {
    stream,
    ...(own ? { headers: { authorization: `Bearer ${key};sk-of-the-caller` } } : {}),
  });
  const text = await response.text();
  assert.equal(response.status, failure.status, text);
  const answer: Answer = {
    status: response.status,
    headers: response.headers,
    text,
    json: JSON.parse(text),
  };
  const { type, code, message } = failure;
  checkError(answer, { type, code, ...(message ? { message } : {}), dialect: "chat" });
  assert.equal(response.headers.get("retry-after"), failure.retryAfter ?? null);
  const shouldRetry = lasting.includes(code) ? "false" : failure.shouldRetry ?? null;
  assert.equal(response.headers.get("x-should-retry"), shouldRetry);
  assert.doesNotMatch(text, /inner words|org-secret|abcdefghijklmnop/);
  for (const secret of [vendorUrl.slice(7), vendorKey, "sk-of-the-caller"]) {
    assert.ok(!text.includes(secret), "no address, no key");
  }
  const again = failure.maybeStale === true && tries.length === 2 ? 1 : 0;
  assert.equal(tries.length, (failure.tries ?? 1) + again, "how often the vendor was asked");
  const stored = await row(response.headers.get("x-transaction-id"));
  const { status, http_status, error_code, billing_basis, cost_usd, charged_usd } = stored;
  assert.deepEqual(
    { status, http_status, error_code, billing_basis, cost_usd, charged_usd },
    {
      status: code === "upstream_stream_truncated" ? "truncated" : "failed",
      http_status: failure.status,
      error_code: code,
      billing_basis: failure.costs === undefined ? "none" : "reported",
      cost_usd: failure.costs ?? "0.000000000",
      charged_usd: own ? "0.000000000" : failure.costs ?? "0.000000000",
    },
  );
  assert.deepEqual([stored.stream, stored.finish_reason], [stream, null]);
  assert.equal(stored.response === null, failure.costs === undefined);
}

function answers(status: number, body: unknown, headers: Record<string, string> = {}): Script {
  return (exchange) => exchange.answer(status, body, headers);
}
