import { z } from "@hono/zod-openapi";
import type { ErrorDialect } from "./contract.ts";

const fault = {
  message: z.string().describe("What went wrong, for humans. Names the field by its path."),
  type: z.string().describe("Class of the error, such as `invalid_request_error`."),
  code: z.string().describe("What went wrong, for programs, such as `missing_required_field`."),
};

const param = z.string().nullable().describe("Path of the invalid field; null if there is none.");
const chatError = z.strictObject({
  error: z.strictObject({ ...fault, param }).openapi("ChatErrorBody").describe("The error."),
}).openapi("ChatError");

/**
 * Error answers by dialect (docs/errors.md). `message`, `type` and `code` are always present
 * strings; a dialect adds its own fields.
 */
export const errorSchemas = {
  service: z.strictObject({
    error: z.strictObject(fault).openapi("ServiceErrorBody").describe("The error."),
  }).openapi("ServiceError"),
  chat: chatError,
  responses: chatError,
  messages: z.strictObject({
    type: z.literal("error").describe("Always `error`."),
    error: z.strictObject({
      ...fault,
      details: z.looseObject({
        error_code: z.string().describe("Our `code`, or a code of the vendor's own."),
      }).describe(
        "What clients of this dialect use to recover.",
      ),
    }).openapi("MessagesErrorBody").describe(
      "The error; its `type` is one of this dialect's fixed list.",
    ),
    request_id: z.string().describe("`X-Request-ID`."),
  }).openapi("MessagesError"),
  generate: z.strictObject({
    error: z.strictObject({
      ...fault,
      status: z.string().describe("Canonical name of the status, such as `NOT_FOUND`."),
    }).openapi("GenerateErrorBody").describe("The error."),
  }).openapi("GenerateError"),
} as const satisfies Readonly<Record<ErrorDialect, z.ZodType>>;

/** A block, part or item with a `type`; its other fields depend on the dialect. */
export const typedPart = z.looseObject({
  type: z.string().describe("What it is, such as `text`."),
}).openapi("TypedPart");

/** An RFC 3339 timestamp, with a time zone. Its `T` and `Z` may be lower case. */
export const timestampSchema = z.string().toUpperCase().datetime({ offset: true }).openapi({
  format: "date-time",
  example: "2026-11-21T09:00:00Z",
});

/** A whole day of UTC, or a moment; to be read by `timeSpan`. */
export const dayOrTimeSchema = z.union(
  [z.iso.date().openapi({ format: "date" }), timestampSchema],
  {
    error: (issue) =>
      issue.input === undefined
        ? undefined
        : "expected a day such as 2026-11-21, or an RFC 3339 timestamp such as 2026-11-21T09:00:00Z",
  },
).openapi({ example: "2026-11-21" });

/** An amount in US dollars with nine decimals. */
export const usdSchema = z.string().regex(
  /^-?\d{1,10}\.\d{9}$/,
  "expected an amount such as 0.000054399",
).openapi({ example: "0.000054399" });

/** A whole number in a URL. */
export function wholeNumber(about: { minimum?: number; maximum?: number; default?: number } = {}) {
  const { minimum = -(10 ** 15), maximum = 10 ** 15 } = about;
  const from = about.minimum === undefined ? "" : ` from ${minimum}`;
  const to = about.maximum === undefined ? "" : ` to ${maximum}`;
  const expected = `expected a whole number${from}${to}`;
  return z.string().regex(/^-?\d{1,16}$/, expected).transform(Number)
    .refine((value) => value >= minimum && value <= maximum, expected)
    .openapi({ type: "integer", ...about }) as unknown as z.ZodType<number, number>;
}

/** An optional field for which null means "not set" too. */
export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish();
}

/** `schema | null` as a union, so that a named component itself isn't marked nullable. */
export function orNull<T extends z.ZodType>(schema: T) {
  return z.union([schema, z.null()]);
}

/**
 * The most elements of arrays in requests. The document states it, and it is checked before the
 * elements. Apart from this, a body's total number of values and its depth are limited.
 */
export const maxEntries = {
  /** Messages, items or contents. */
  turns: 20_000,
  /** Parts in one of them. */
  parts: 10_000,
  tools: 4_096,
  /** Arrays of which vendors take only a few elements, such as stop sequences. */
  others: 1_000,
} as const;

/**
 * Any value, which is left to its recipient to check, except that an array has at most `most`
 * elements.
 */
export function upTo(most: number) {
  const list = z.array(z.unknown()).max(most);
  return z.union([z.string(), list, openObject({}), z.number(), z.boolean(), z.null()]);
}

/**
 * An object with further, unchecked fields. Parsing returns the same object, since copying these
 * fields would cost more than all checks. So no schema in `shape` may have a default or transform
 * its value.
 */
export function openObject<Shape extends z.ZodRawShape>(shape: Shape) {
  return new OpenObject({ type: "object", shape, catchall: z.unknown() }) as unknown as z.ZodObject<
    Shape,
    z.core.$loose
  >;
}

const OpenObject = z.core.$constructor<z.ZodObject, z.core.$ZodObjectDef>(
  "OpenObject",
  (inst, def) => {
    z.ZodObject.init(inst, def);
    const named = z.object(def.shape);
    const parse: typeof inst._zod.parse = (payload, context) => {
      const { value } = payload;
      named._zod.run(payload, context);
      if (payload.issues.length === 0) payload.value = value as typeof payload.value;
      return payload;
    };
    inst._zod.parse = parse;
  },
);

/**
 * A list of integers. Of a million of them, checking each by a schema of its own would take ten times
 * as long. Parsing returns the same list.
 */
export function integers() {
  return new IntegerList({ type: "array", element: z.number().int() }) as unknown as z.ZodArray<
    z.ZodNumber
  >;
}

const IntegerList = z.core.$constructor<z.ZodArray, z.core.$ZodArrayDef>(
  "IntegerList",
  (inst, def) => {
    z.ZodArray.init(inst, def);
    const { parse: parseEach } = inst._zod;
    const parse: typeof inst._zod.parse = (payload, context) => {
      const { value } = payload as { value: unknown };
      const isValid = Array.isArray(value) && value.every(Number.isSafeInteger);
      return isValid ? payload : parseEach(payload, context);
    };
    inst._zod.parse = parse;
  },
);

/** A short text of one line, such as a label. Space around it is removed. */
export function labelText(maxLength: number, minLength: 0 | 1 = 1) {
  return z.string().trim().min(minLength).max(maxLength).refine(
    (text) => !/\p{Cc}/u.test(text) && text.isWellFormed(),
    "expected text without control characters",
  );
}

/** Transactions' ids are UUIDs in lower case; some languages write those in upper case. */
export function lowerCaseUuid(text: string): string {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ? text.toLowerCase() : text;
}

/** A UUID in a path. Other text is the id of nothing: 404, as for an unknown UUID. */
export function pathUuid() {
  return labelText(256).overwrite(lowerCaseUuid).openapi({ format: "uuid" });
}

/** The id of a cohort, under the same rules as in the prompt tag `/// COHORT`. */
export const cohortIdSchema = labelText(256).describe(
  "Identifier used in the COHORT tag; at most 256 characters.",
).openapi({ example: "checkout-2026-11" });
