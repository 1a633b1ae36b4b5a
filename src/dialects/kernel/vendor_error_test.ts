import assert from "@std/assert";
import { carriesError, readVendorError, type VendorError } from "./vendor_error.ts";

interface Shape {
  name: string;
  body: unknown;
  httpStatus?: number;
  /** What is read; fields that aren't named are undefined. */
  read: Partial<VendorError>;
}

const chat = { message: "bad", type: "invalid_request_error", param: "n", code: "invalid_value" };
const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "37s" };
const errorInfo = {
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason: "API_KEY_INVALID",
};

const shapes: Shape[] = [
  {
    name: "the chat dialect's own",
    body: { error: chat },
    httpStatus: 400,
    read: { ...chat, status: 400 },
  },
  {
    name: "null for param and code",
    body: { error: { ...chat, param: null, code: null } },
    httpStatus: 401,
    read: { message: "bad", type: "invalid_request_error", status: 401 },
  },
  {
    name: "error as plain string",
    body: { error: "model is loading" },
    httpStatus: 503,
    read: { message: "model is loading", status: 503 },
  },
  {
    name: "message and code without error",
    body: { message: "no", code: "bad_thing" },
    httpStatus: 400,
    read: { message: "no", code: "bad_thing", status: 400 },
  },
  {
    name: "detail as string",
    body: { detail: "Not Found" },
    httpStatus: 404,
    read: { message: "Not Found", status: 404 },
  },
  {
    name: "detail as list",
    body: { detail: [{ loc: ["body", "n"], msg: "field required", type: "missing" }] },
    httpStatus: 422,
    read: { message: "field required", status: 422 },
  },
  {
    name: "code beside a plain error",
    body: { code: "Client specified an invalid argument", error: "Incorrect API key" },
    httpStatus: 400,
    read: {
      code: "Client specified an invalid argument",
      message: "Incorrect API key",
      status: 400,
    },
  },
  {
    name: "object error, with a number for a code",
    body: { object: "error", message: "too long", type: "BadRequestError", param: null, code: 400 },
    httpStatus: 200,
    read: { message: "too long", type: "BadRequestError", status: 400 },
  },
  {
    name: "the aggregator's numeric code inside a 200",
    body: { error: { code: 429, message: "slow down", metadata: { provider_name: "x" } } },
    httpStatus: 200,
    read: { message: "slow down", status: 429 },
  },
  {
    name: "array-wrapped",
    body: [{ error: { code: 404, message: "no model", status: "NOT_FOUND" } }],
    httpStatus: 404,
    read: { message: "no model", code: "NOT_FOUND", status: 404 },
  },
  {
    name: "generate's, with its reason",
    body: { error: { code: 400, message: "m", status: "INVALID_ARGUMENT", details: [errorInfo] } },
    read: { message: "m", code: "API_KEY_INVALID", status: 400 },
  },
  {
    name: "generate's, with a wait",
    body: {
      error: { code: 429, message: "m", status: "RESOURCE_EXHAUSTED", details: [{}, retryInfo] },
    },
    read: { message: "m", code: "RESOURCE_EXHAUSTED", status: 429, retryAfterSeconds: 37 },
  },
  {
    name: "messages'",
    body: { type: "error", error: { type: "overloaded_error", message: "busy" } },
    read: { type: "overloaded_error", message: "busy" },
  },
  {
    name: "a code in digits",
    body: { error: { code: "529", message: "m" } },
    read: { code: "529", message: "m", status: 529 },
  },
  {
    name: "an HTML page, which is no JSON",
    body: undefined,
    httpStatus: 413,
    read: { isPage: true, status: 413 },
  },
  { name: "no message", body: {}, read: {} },
  { name: "an empty list", body: [], httpStatus: 500, read: { status: 500 } },
  { name: "a number", body: 7, httpStatus: 500, read: { status: 500 } },
  { name: "wrong types everywhere", body: { error: { message: {}, code: [], type: 1 } }, read: {} },
];

for (const { name, body, httpStatus, read } of shapes) {
  Deno.test(`an error in the shape '${name}' is read`, () => {
    const error = readVendorError(body, httpStatus);
    const said = Object.fromEntries(
      Object.entries(error).filter(([, value]) => value !== undefined),
    );
    assert.deepEqual(said, read);
  });
}

const statuses: [unknown, number | undefined][] = [
  [399, undefined],
  [400, 400],
  [599, 599],
  [600, undefined],
  [1, undefined],
  [400.5, undefined],
  ["400", 400],
  ["4000", undefined],
  ["rate_limit_exceeded", undefined],
];
for (const [code, status] of statuses) {
  Deno.test(`the code ${JSON.stringify(code)} claims the status ${status}`, () => {
    assert.equal(readVendorError({ error: { code } }, undefined).status, status);
  });
}

const waits: [unknown, number | undefined][] = [
  ["37s", 37],
  ["34.4s", 35],
  ["0.5s", 1],
  ["37", undefined],
  ["-1s", undefined],
  [37, undefined],
  ["2592000s", 2_592_000],
  ["999999999s", undefined],
  ["9".repeat(400) + "s", undefined],
];
for (const [retryDelay, seconds] of waits) {
  Deno.test(`the wait ${JSON.stringify(retryDelay)?.slice(0, 20)} is ${seconds} seconds`, () => {
    const error = readVendorError({ error: { details: [{ retryDelay }] } }, 429);
    assert.equal(error.retryAfterSeconds, seconds);
  });
}

const answers: [boolean, Record<string, unknown>][] = [
  [true, { error: { message: "x" } }],
  [true, { error: "x" }],
  [true, { object: "error", message: "x" }],
  [true, { error: {}, choices: [] }],
  [false, { error: null, choices: [] }],
  [false, { error: "" }],
  [false, { error: false }],
  [false, { choices: [] }],
  [false, { object: "chat.completion" }],
];
for (const [failed, json] of answers) {
  Deno.test(`${JSON.stringify(json)} ${failed ? "is an error, even inside a 200" : "is none"}`, () => {
    assert.equal(carriesError(json), failed);
  });
}
