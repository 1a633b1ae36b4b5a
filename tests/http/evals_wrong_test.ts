import { type Scenario, testScenarios } from "../support/scenarios.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());

const path = "/api/v1/evals";
const hello = { model: "vendor-c/claude-sonnet-4-6", filters: {}, graders: [{ type: "exact" }] };
const grader = (one: unknown) => ({ ...hello, graders: [one] });
const unknownId = "01a1fe22-511e-722b-a5d2-420e8a03611d";

testScenarios(service, [
  refused("no model", { ...hello, model: undefined }, /^model: required/, "missing_required_field"),
  refused(
    "no filters",
    { ...hello, filters: undefined },
    /^filters: required/,
    "missing_required_field",
  ),
  refused(
    "no graders",
    { ...hello, graders: undefined },
    /^graders: required/,
    "missing_required_field",
  ),
  refused("an empty list of graders", { ...hello, graders: [] }, /^graders: expected at least 1/),
  refused(
    "21 graders",
    { ...hello, graders: Array(21).fill({ type: "exact" }) },
    /^graders: .*20 items/,
  ),
  refused(
    "a filter that is no column",
    { ...hello, filters: { nonsense: 1 } },
    /^filters\.nonsense: unknown field/,
  ),
  refused(
    "a filter by account",
    { ...hello, filters: { account_id: 1 } },
    /^filters\.account_id: unknown field/,
  ),
  refused("a filter that is an object", { ...hello, filters: { app: {} } }, /^filters\.app: /),
  refused("an empty filter list", { ...hello, filters: { app: [] } }, /^filters\.app: /),
  refused("a limit of nothing", { ...hello, limit: 0 }, /^limit: expected at least 1/),
  refused("a limit beyond 10,000", { ...hello, limit: 10_001 }, /^limit: expected at most 10000/),
  refused(
    "a sample nobody knows",
    { ...hello, sample: "best" },
    /^sample: expected 'newest' or 'random'/,
  ),
  refused("a bad date", { ...hello, start_date: "yesterday" }, /^start_date: expected an RFC 3339/),
  refused("an end before the start", {
    ...hello,
    start_date: "2026-11-21T00:00:00Z",
    end_date: "2026-11-20T00:00:00Z",
  }, /^end_date: the end is not after the start/),
  refused("an unknown field", { ...hello, models: [] }, /^models: unknown field/),
  refused("an unknown grader", grader({ type: "vibes" }), /^graders\[0\]/),
  refused(
    "a grader's unknown field",
    grader({ type: "exact", ignore: true }),
    /^graders\[0\]\.ignore: unknown field/,
  ),
  refused(
    "a pattern that is none",
    grader({ type: "regex", pattern: "(" }),
    /^graders\[0\]\.pattern: can't be used: /,
  ),
  refused(
    "flags that are none",
    grader({ type: "regex", pattern: "a", flags: "gg" }),
    /^graders\[0\]\.flags: /,
  ),
  refused(
    "a schema that can't be compiled",
    grader({ type: "json_schema", schema: { type: "thing" } }),
    /^graders\[0\]\.schema: can't be used: /,
  ),
  refused(
    "a schema that points elsewhere",
    grader({ type: "json_schema", schema: { $ref: "http://127.0.0.1/x" } }),
    /^graders\[0\]\.schema: can't be used: /,
  ),
  refused(
    "a judge without a prompt",
    grader({ type: "judge", model: "vendor-b/gpt-4.1" }),
    /^graders\[0\]\.prompt: required/,
    "missing_required_field",
  ),
  missing(
    "an unknown model",
    { ...hello, model: "vendor-z/x" },
    /^model: unknown model 'vendor-z\/x'/,
  ),
  missing(
    "a model without a price",
    { ...hello, model: "vendor-b/none" },
    /^model: no price is known/,
  ),
  missing(
    "an unknown judge",
    grader({ type: "judge", model: "gpt", prompt: "?" }),
    /^graders\[0\]\.model: unknown model 'gpt'/,
  ),
  badRead("GET", `${path}/no-uuid`, 404, "eval_not_found", /^eval_run_id: no evaluation/),
  badRead("DELETE", `${path}/no-uuid`, 404, "eval_not_found", /^eval_run_id: no evaluation/),
  badRead(
    "GET",
    `${path}/${unknownId}`,
    404,
    "eval_not_found",
    /^eval_run_id: no evaluation has the id/,
  ),
  badRead(
    "DELETE",
    `${path}/${unknownId}`,
    404,
    "eval_not_found",
    /^eval_run_id: no evaluation has the id/,
  ),
  badRead("GET", `${path}?limit=0`, 400, "invalid_value", /^limit: /),
  badRead("GET", `${path}?limit=many`, 400, "invalid_value", /^limit: /),
  badRead("GET", `${path}?after=x`, 400, "invalid_value", /^after: /),
  badRead("GET", `${path}/${unknownId}?after=x`, 400, "invalid_value", /^after: /),
  badRead("GET", `${path}?page=2`, 400, "invalid_value", /^page: unknown field/),
]);

function refused(name: string, body: unknown, message: RegExp, code = "invalid_value"): Scenario {
  const error = { type: "invalid_request_error", code, message, dialect: "service" as const };
  return { name: `400 for ${name}`, path, body, status: 400, error };
}

function missing(name: string, body: unknown, message: RegExp): Scenario {
  const error = {
    dialect: "service" as const,
    type: "not_found_error",
    code: "model_not_found",
    message,
  };
  return { name: `404 for ${name}`, path, body, status: 404, error };
}

function badRead(
  method: string,
  at: string,
  status: number,
  code: string,
  message: RegExp,
): Scenario {
  const type = status === 404 ? "not_found_error" : "invalid_request_error";
  return {
    name: `${status} for ${method} ${at}`,
    method,
    path: at,
    status,
    error: { type, code, message, dialect: "service" as const },
  };
}
