/** The fuzz can fail: each way in which an answer can differ from the document is reported. */
import assert from "@std/assert";
import { securityHeaders } from "../../support/scenarios.ts";
import { answerCheck } from "./answers.ts";
import { type FuzzedDocument, operationsOf } from "./operations.ts";

const document: FuzzedDocument = JSON.parse(
  Deno.readTextFileSync(new URL("../../../openapi/openapi.json", import.meta.url)),
);
const operations = operationsOf(document);
const check = answerCheck(document);

const status = {
  status: "ok",
  project: "default",
  service: "llm-gateway",
  version: "0.1.0",
  timestamp: "2026-11-21T09:00:00Z",
  user_id: 1,
  authenticated: true,
  balance_usd: "9.827340000",
  scopes: ["status"],
  caps: { day: null, month: null },
  rate_limit: { requests_per_minute: 60, burst: 100 },
};
const { user_id: _, ...lacking } = status;
const fault = (code: string) => ({
  error: { message: "No.", type: "invalid_request_error", code },
});
const plain = { authorization: "Bearer x" };
const json = { ...plain, "content-type": "application/json" };

interface Told {
  id?: string;
  /** Path and query. */
  target?: string;
  sent?: unknown;
  /** Headers of the request. */
  sentHeaders?: Record<string, string>;
  wrongMethod?: boolean;
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

function problem(told: Told): string | undefined {
  const { id = "getStatus", target = "/", sent, wrongMethod = false, body } = told;
  const operation = operations.find((one) => one.id === id)!;
  const request = sent === undefined
    ? { target, headers: { ...plain, ...told.sentHeaders }, body: undefined, wrongMethod }
    : {
      ...{ target, wrongMethod },
      headers: { ...json, ...told.sentHeaders },
      body: new TextEncoder().encode(JSON.stringify(sent)),
    };
  return check(operation, request, {
    status: told.status ?? 200,
    headers: new Headers({
      ...securityHeaders,
      "x-request-id": "r",
      "content-type": "application/json",
      ...told.headers,
    }),
    text: typeof body === "string" ? body : JSON.stringify(body),
  });
}

Deno.test("an answer that is what the document says passes", () => {
  assert.equal(problem({ body: status }), undefined);
  assert.equal(problem({ status: 401, body: fault("missing_api_key") }), undefined);
  const wrongMethod = { wrongMethod: true, status: 404, body: fault("endpoint_not_found") };
  assert.equal(problem(wrongMethod), undefined);
});

Deno.test("an answer that the document doesn't know fails", () => {
  const wrong: readonly [Told, RegExp][] = [
    [{ body: { ...status, extra: 1 } }, /must NOT have additional properties/],
    [{ body: lacking }, /must have required property 'user_id'/],
    [{ body: { ...status, user_id: "1" } }, /must be integer/],
    [{ body: { ...status, timestamp: "yesterday" } }, /must match format/],
    [{ body: "{" }, /can't be read/],
    [{ body: status, status: 202 }, /undocumented status/],
    [{ body: status, headers: { "content-type": "text/html" } }, /undocumented content type/],
    [{ body: status, headers: { "x-new": "1" } }, /undocumented header x-new/],
    [{ body: status, headers: { "x-ratelimit-limit": "many" } }, /x-ratelimit-limit: .*integer/],
    [{ body: status, headers: { "content-security-policy": "none" } }, /content-security-policy/],
    [{ body: fault("content_policy_violation"), status: 400 }, /undocumented/],
    [{ body: { ...fault("missing_api_key"), more: 1 }, status: 401 }, /additional properties/],
    [{ body: fault("internal_error"), status: 500 }, /a failure/],
    [{ body: fault("upstream_error"), status: 502 }, /a failure/],
    [{ body: status, wrongMethod: true }, /200/],
  ];
  for (const [told, expected] of wrong) assert.match(problem(told) ?? "", expected);
});

Deno.test("an event of a stream that the document doesn't know fails", () => {
  const stream = (event: unknown) => ({
    id: "createChatCompletion",
    headers: { "content-type": "text/event-stream" },
    body: `data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`,
  });
  const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [] };
  assert.equal(problem(stream(chunk)), undefined);
  assert.match(problem(stream({ ...chunk, created: "now" })) ?? "", /must be integer/);
  const failed = { error: { ...fault("upstream_stream_truncated").error, param: null } };
  assert.match(problem(stream(failed)) ?? "", /failure in the stream: upstream_stream_truncated/);
});

Deno.test("a request that the document calls wrong must not be taken", () => {
  const answer = { status: "ok", cohort_id: "a", accepted: 1, message: "One was recorded." };
  const conversions = [{ type: "signups", value: 1 }];
  const told = (sent: unknown) => problem({ id: "postCohortOutcome", sent, body: answer });
  assert.equal(told({ cohort_id: "a", conversions }), undefined);
  assert.match(told({ conversions }) ?? "", /taken, although .*'cohort_id'/);
});

Deno.test("a parameter that the document calls wrong must not be taken", () => {
  const page = { data: [], next_cursor: null };
  const list = (target: string, sentHeaders?: Record<string, string>) =>
    problem({ id: "listInteractions", target, ...(sentHeaders && { sentHeaders }), body: page });
  assert.equal(list("/?limit=7&model=a&model=b&stream=true"), undefined);
  assert.match(list("/?limit=0") ?? "", /taken, although .*limit: .*>= 1/);
  assert.match(list("/?limit=x") ?? "", /limit: .*must be integer/);
  assert.match(list("/?status=completed&status=odd") ?? "", /status: .*allowed values/);
  const conversions = [{ type: "signups", value: 1 }];
  const outcome = (id: string) =>
    problem({
      id: "postCohortOutcome",
      sent: { cohort_id: "a", conversions },
      sentHeaders: { "X-Request-ID": id },
      body: { status: "ok", cohort_id: "a", accepted: 1, message: "One was recorded." },
    });
  assert.equal(outcome(""), undefined, "an empty header is as good as none");
  assert.match(outcome("a b") ?? "", /X-Request-ID: .*pattern/);
});

Deno.test("a request that the document allows must not be refused for its form", () => {
  const refused = (message: string, cohort_id = "a") =>
    problem({
      id: "postCohortOutcome",
      sent: { cohort_id, conversions: [{ type: "signups", value: 1 }] },
      status: 400,
      body: { error: { ...fault("invalid_value").error, message } },
    });
  assert.match(refused("cohort_id: expected at most 7 characters.") ?? "", /refused, although/);
  assert.equal(refused("cohort_id: expected at most 256 characters.", "x".repeat(257)), undefined);
  assert.equal(refused("cohort_id: expected text without control characters."), undefined);
});
