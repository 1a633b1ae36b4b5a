import assert from "@std/assert";
import { z } from "zod";
import { integers } from "../../contracts/kernel/common.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import { Fault } from "./fault.ts";
import { chatRequest } from "../../contracts/calls/chat.ts";
import { generateRequest } from "../../contracts/calls/generate.ts";
import { messagesRequest } from "../../contracts/calls/messages.ts";
import { responsesRequest } from "../../contracts/calls/responses.ts";
import { previewIssues, validate, validateSteps } from "./validate.ts";

const schema = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.looseObject({ role: z.enum(["system", "user"]) })).min(1),
  n: z.number().int().min(1).max(128).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).optional(),
  confirm: z.literal(true).optional(),
  at: z.iso.datetime({ offset: true }).optional(),
  on: z.iso.date().optional(),
  id: z.uuid().optional(),
  above: z.number().gt(0).lt(10).optional(),
  options: z.strictObject({ usage: z.boolean().optional() }).optional(),
  grader: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("exact") }),
    z.strictObject({ type: z.literal("regex") }),
  ]).optional(),
  schema: z.union([z.record(z.string(), z.unknown()), z.boolean()]).optional(),
});
const good = { model: "m", messages: [{ role: "user" }] };

interface Scenario {
  name: string;
  value: unknown;
  code: ErrorCode;
  param: string;
  message: string;
}

const missing = "missing_required_field";
const invalid = "invalid_value";
const scenarios: Scenario[] = [
  {
    name: "no body",
    value: undefined,
    code: missing,
    param: "",
    message: "The request body: required, expected an object.",
  },
  {
    name: "a form of no known name",
    value: { ...good, grader: { type: "Exact" } },
    code: invalid,
    param: "grader.type",
    message: "grader.type: expected 'exact' or 'regex'.",
  },
  {
    name: "a form without a name",
    value: { ...good, grader: {} },
    code: missing,
    param: "grader.type",
    message: "grader.type: required, expected 'exact' or 'regex'.",
  },
  {
    name: "an array for a body",
    value: [],
    code: invalid,
    param: "",
    message: "The request body: expected an object, received an array.",
  },
  {
    name: "null for a body",
    value: null,
    code: invalid,
    param: "",
    message: "The request body: expected an object, received null.",
  },
  {
    name: "a missing string",
    value: { ...good, model: undefined },
    code: missing,
    param: "model",
    message: "model: required, expected a string.",
  },
  {
    name: "a missing choice of words",
    value: { ...good, messages: [{ role: "user" }, {}] },
    code: missing,
    param: "messages[1].role",
    message: "messages[1].role: required, expected 'system' or 'user'.",
  },
  {
    name: "a number for a string",
    value: { ...good, model: 7 },
    code: invalid,
    param: "model",
    message: "model: expected a string, received a number.",
  },
  {
    name: "an empty string",
    value: { ...good, model: "" },
    code: invalid,
    param: "model",
    message: "model: expected at least 1 character.",
  },
  {
    name: "an empty array",
    value: { ...good, messages: [] },
    code: invalid,
    param: "messages",
    message: "messages: expected at least 1 item.",
  },
  {
    name: "an unknown word",
    value: { ...good, messages: [{ role: "a secret prompt" }] },
    code: invalid,
    param: "messages[0].role",
    message: "messages[0].role: expected 'system' or 'user'.",
  },
  {
    name: "a fraction for a whole number",
    value: { ...good, n: 1.5 },
    code: invalid,
    param: "n",
    message: "n: expected a whole number, received a fraction.",
  },
  {
    name: "a number that JavaScript can't hold is named as such",
    value: { ...good, above: JSON.parse("1e400") },
    code: invalid,
    param: "above",
    message: "above: expected a number, received a number that is too large.",
  },
  {
    name: "a number too large",
    value: { ...good, n: 129 },
    code: invalid,
    param: "n",
    message: "n: expected at most 128.",
  },
  {
    name: "a number at an open bound",
    value: { ...good, above: 0 },
    code: invalid,
    param: "above",
    message: "above: expected more than 0.",
  },
  {
    name: "a number at the upper open bound",
    value: { ...good, above: 10 },
    code: invalid,
    param: "above",
    message: "above: expected less than 10.",
  },
  {
    name: "none of several forms",
    value: { ...good, stop: { a: "secret" } },
    code: invalid,
    param: "stop",
    message: "stop: expected a string or an array, received an object.",
  },
  {
    name: "no object of any names, among several forms",
    value: { ...good, schema: "secret" },
    code: invalid,
    param: "schema",
    message: "schema: expected an object or a boolean, received a string.",
  },
  {
    name: "a wrong element in one of several forms",
    value: { ...good, stop: ["a", 1] },
    code: invalid,
    param: "stop[1]",
    message: "stop[1]: expected a string, received a number.",
  },
  {
    name: "the wrong constant",
    value: { ...good, confirm: false },
    code: invalid,
    param: "confirm",
    message: "confirm: expected true.",
  },
  {
    name: "no timestamp",
    value: { ...good, at: "secret" },
    code: invalid,
    param: "at",
    message: "at: expected an RFC 3339 timestamp such as 2026-11-21T09:00:00Z.",
  },
  {
    name: "no date",
    value: { ...good, on: "secret" },
    code: invalid,
    param: "on",
    message: "on: expected a date such as 2026-11-21.",
  },
  {
    name: "no UUID",
    value: { ...good, id: "secret" },
    code: invalid,
    param: "id",
    message: "id: expected a UUID.",
  },
  {
    name: "an unknown field of a strict object",
    value: { ...good, options: { usge: true } },
    code: invalid,
    param: "options.usge",
    message: "options.usge: unknown field. Did you mean 'usage'?",
  },
  {
    name: "an unknown field that is like no other",
    value: { ...good, options: { from: true } },
    code: invalid,
    param: "options.from",
    message: "options.from: unknown field, expected one of usage.",
  },
];

function refusal(value: unknown, against: z.ZodType = schema): Fault {
  try {
    validate(against, value);
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
  throw new Error("accepted");
}

for (const { name, value, code, param, message } of scenarios) {
  Deno.test(`${name}: 400 that names the field and says what was expected`, () => {
    const fault = refusal(value);
    assert.deepEqual(
      { code: fault.code, param: fault.param, message: fault.message },
      { code, param, message },
    );
    assert.doesNotMatch(fault.message, /secret/);
  });
}

Deno.test("a missing value of several forms, or of any form, is a missing field", () => {
  const union = z.object({ stop: z.union([z.string(), z.array(z.string())]) });
  const some = z.object({ content: z.unknown().nonoptional() });
  assert.equal(refusal({}, union).code, missing);
  assert.equal(refusal({}, union).message, "stop: required.");
  assert.equal(refusal({}, some).message, "content: required.");
});

Deno.test("a schema's own word for its type is used", () => {
  const file = z.looseObject({ bytes: z.number() }, { error: "expected a file" });
  const files = z.object({ file, image: z.union([file, z.array(file)]).optional() });
  assert.equal(refusal({}, files).message, "file: required, expected a file.");
  assert.equal(refusal({ file: "x" }, files).message, "file: expected a file, received a string.");
  assert.equal(
    refusal({ file: { bytes: 1 }, image: "x" }, files).message,
    "image: expected a file or an array, received a string.",
  );
});

Deno.test("the first wrong field is named when several are", () => {
  assert.equal(refusal({ model: 1, messages: 2, n: 0 }).param, "model");
});

Deno.test("a very long name is cut in the answer", () => {
  const fault = refusal({ ...good, options: { ["x".repeat(5000)]: 1 } });
  assert.ok(fault.message.length < 200, `${fault.message.length}`);
  const ofRecord = refusal({ ["x".repeat(5000)]: 1 }, z.record(z.string(), z.string()));
  assert.equal(ofRecord.param, "x".repeat(100));
});

Deno.test("what passes comes back parsed, unknown fields included, defaults filled in", () => {
  const parsed = validate(
    z.looseObject({ a: z.string(), b: z.number().default(3) }),
    { a: "x", extra: [1] },
  );
  assert.deepEqual(parsed, { a: "x", b: 3, extra: [1] });
});

const many = <T>(count: number, one: T) => Array<T>(count).fill(one);
const user = { role: "user", content: "a" };
const longRequests: readonly (readonly [z.ZodType, unknown])[] = [
  [chatRequest, { model: "m", messages: many(20_000, user), more: [1] }],
  [chatRequest, { model: "m", messages: many(20_001, user) }],
  [chatRequest, { model: 1, messages: many(2_000, user) }],
  [chatRequest, { model: "m", messages: [...many(900, user), { role: "nobody" }, 3] }],
  [chatRequest, { model: "m", messages: many(900, 3) }],
  [chatRequest, {
    model: "m",
    messages: [...many(900, user), { ...user, content: many(10_001, 1) }],
  }],
  [messagesRequest, { model: "m", max_tokens: 1, messages: [...many(900, user), {}] }],
  [messagesRequest, { model: "m", max_tokens: 1, messages: many(900, user) }],
  [generateRequest, { contents: many(900, { parts: [{ text: "a" }] }) }],
  [responsesRequest, { model: "m", input: many(900, user) }],
  [responsesRequest, { model: "m", input: many(20_001, user) }],
];

Deno.test("a long list is checked in steps, and says what it would say at once", () => {
  for (const [against, value] of longRequests) {
    const inSteps = told(() => {
      const steps = validateSteps(against, value);
      for (let number = 0;; number++) {
        const step = steps.next();
        if (!step.done) continue;
        assert.ok(number > 20, `${number} steps`);
        return step.value;
      }
    });
    assert.deepEqual(inSteps, told(() => validate(against, value)));
  }
});

Deno.test("a wrong element of a list is refused before the rest of the request is parsed", () => {
  const preview = previewIssues(chatRequest)!;
  assert.throws(
    () => preview("messages", [user, { role: "nobody" }]),
    (thrown: unknown) => thrown instanceof Fault && thrown.param === "messages[1].role",
  );
  preview("messages", [user]);
  preview("toString", [1]);
  assert.equal(previewIssues(z.array(z.string())), undefined);
});

function told(act: () => unknown): unknown {
  try {
    return act();
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return [thrown.code, thrown.param, thrown.message];
  }
}

Deno.test("a list of integers is the same list, and any other is refused as each of its values would be", () => {
  const list = integers().min(1).max(3);
  const each = z.array(z.number().int()).min(1).max(3);
  const sent = [1, -2, 2 ** 53 - 1];
  assert.equal(list.parse(sent), sent);
  for (const value of [[], [1, 1, 1, 1], [1.5], [1, "1"], [2 ** 53], [1, null], [NaN], "1", {}]) {
    assert.deepEqual(list.safeParse(value).error?.issues, each.safeParse(value).error!.issues);
  }
});
