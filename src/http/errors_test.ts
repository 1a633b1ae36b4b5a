import assert from "@std/assert";
import { type ErrorCode, errors } from "../../contracts/kernel/errors.ts";
import type { ErrorDialect } from "../../contracts/kernel/contract.ts";
import { Fault } from "../shared/fault.ts";
import { asFault, errorReply } from "./errors.ts";

const dialects: ErrorDialect[] = ["service", "chat", "responses", "messages", "generate"];
const codes = Object.keys(errors) as ErrorCode[];

function parsed(fault: Fault, dialect: ErrorDialect) {
  const { status, headers, body } = errorReply(fault, dialect, "req-1");
  return { status, headers, json: JSON.parse(String(body)) as Record<string, unknown> };
}

for (const dialect of dialects) {
  Deno.test(`${dialect}: every code has its status, three string fields and a JSON body`, () => {
    for (const code of codes) {
      const { status, headers, json } = parsed(new Fault(code), dialect);
      const error = json.error as Record<string, unknown>;
      assert.equal(status, errors[code].status, code);
      assert.equal(headers?.["content-type"], "application/json", code);
      assert.equal(error.code, code);
      assert.equal(error.message, errors[code].message);
      assert.equal(typeof error.type, "string", code);
    }
  });
}

const fault = new Fault("invalid_value", { message: "n: expected at most 128.", param: "n" });
const own: [ErrorDialect, Record<string, unknown>][] = [
  ["service", { error: base() }],
  ["chat", { error: { ...base(), param: "n" } }],
  ["responses", { error: { ...base(), param: "n" } }],
  ["messages", {
    type: "error",
    error: { ...base(), details: { error_code: "invalid_value" } },
    request_id: "req-1",
  }],
  ["generate", { error: { ...base(), status: "INVALID_ARGUMENT" } }],
];

function base() {
  return {
    message: "n: expected at most 128.",
    type: "invalid_request_error",
    code: "invalid_value",
  };
}

for (const [dialect, body] of own) {
  Deno.test(`${dialect}: an error carries the fields that its clients look for, and no other`, () => {
    assert.deepEqual(parsed(fault, dialect).json, body);
  });
}

Deno.test("chat and responses say param null where no field is wrong", () => {
  for (const dialect of ["chat", "responses"] as const) {
    for (
      const fault of [new Fault("upstream_timeout"), new Fault("invalid_value", { param: "" })]
    ) {
      assert.equal((parsed(fault, dialect).json.error as Record<string, unknown>).param, null);
    }
  }
});

Deno.test("messages: error_code is the vendor's if that is text, or else ours", () => {
  for (
    const [error_code, shown] of [["ramp_limit_exceeded"], [null, "invalid_value"], [
      7,
      "invalid_value",
    ]]
  ) {
    const vendorDetails = { error_visibility: "user_facing", error_code };
    const { error } = parsed(new Fault("invalid_value", { vendorDetails }), "messages").json;
    const { details } = error as Record<string, unknown>;
    assert.deepEqual(details, { ...vendorDetails, error_code: shown ?? error_code });
  }
});

/** The closed list of error types of the messages dialect. */
const messagesTypes = new Set([
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "conflict_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "timeout_error",
  "overloaded_error",
]);

Deno.test("messages: every type is one that the dialect knows", () => {
  for (const code of codes) {
    const { type } = parsed(new Fault(code), "messages").json.error as { type: string };
    assert.ok(messagesTypes.has(type), `${code} has the type ${type}`);
  }
  const { type } = parsed(new Fault("upstream_error"), "messages").json.error as { type: string };
  assert.equal(type, "api_error");
});

Deno.test("generate: every status has a canonical name", () => {
  for (const code of codes) {
    const { status } = parsed(new Fault(code), "generate").json.error as { status: string };
    assert.match(status, /^[A-Z_]+$/, code);
    assert.notEqual(status, "UNKNOWN", code);
  }
});

Deno.test("no answer has the status 405, 415, 422 or 529", () => {
  for (const { status } of Object.values(errors)) {
    assert.ok(![405, 415, 422, 529].includes(status), String(status));
  }
});

const waits: [number | undefined, string | undefined][] = [
  [undefined, undefined],
  [0, "1"],
  [0.2, "1"],
  [37, "37"],
  [37.4, "38"],
];
for (const [retryAfterSeconds, header] of waits) {
  Deno.test(`a wait of ${retryAfterSeconds} s becomes Retry-After: ${header}`, () => {
    const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    const { headers } = parsed(new Fault("rate_limit_exceeded", details), "chat");
    assert.equal(headers?.["retry-after"], header);
  });
}

Deno.test("note and cause never leave the process", () => {
  const secret = new Fault("internal_error", {
    note: "canary-note",
    cause: new Error("canary-cause"),
  });
  for (const dialect of dialects) {
    assert.doesNotMatch(JSON.stringify(errorReply(secret, dialect, "r")), /canary/);
  }
});

Deno.test("what isn't a fault is a failure of our own, its text kept inside", () => {
  const thrown = new TypeError("canary: db at 10.0.0.3");
  const own = asFault(thrown);
  assert.equal(own.code, "internal_error");
  assert.equal(own.cause, thrown);
  assert.doesNotMatch(own.message, /canary/);
  const known = new Fault("model_not_found");
  assert.equal(asFault(known), known);
  assert.equal(asFault(undefined).code, "internal_error");
});

Deno.test("a temporary refusal has Retry-After, in every dialect", () => {
  for (const dialect of dialects) {
    for (const code of ["overloaded", "store_unavailable"] as const) {
      assert.match(parsed(new Fault(code), dialect).headers?.["retry-after"] ?? "", /^[1-9]\d*$/);
    }
    const said = parsed(new Fault("overloaded", { retryAfterSeconds: 7.2 }), dialect);
    assert.equal(said.headers?.["retry-after"], "8");
  }
});

Deno.test("whether a retry helps is left out where another model may answer it", () => {
  const said = (code: Fault["code"], facts: Partial<Fault>) =>
    parsed(Object.assign(new Fault(code), facts), "chat").headers?.["x-should-retry"];
  assert.equal(said("upstream_rate_limited", { vendorRetryAdvice: false }), "false");
  const isOneOfSeveral = true;
  for (const code of ["upstream_rate_limited", "upstream_quota_exhausted"] as const) {
    assert.equal(said(code, { vendorRetryAdvice: false, isOneOfSeveral }), undefined);
  }
});

Deno.test("errors that last until a key is replaced or a quota raised say so, and no others", () => {
  const lasting = codes.filter((code) =>
    parsed(new Fault(code), "messages").headers?.["x-should-retry"] === "false"
  );
  assert.deepEqual(lasting.toSorted(), [
    "invalid_api_key",
    "invalid_vendor_api_key",
    "missing_api_key",
    "upstream_authentication_failed",
    "upstream_quota_exhausted",
    "vendor_quota_exhausted",
  ]);
});
