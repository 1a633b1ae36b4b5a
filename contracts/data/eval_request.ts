import { z } from "@hono/zod-openapi";
import { schemaExcess } from "../kernel/schema_bounds.ts";

/** Columns by which stored interactions can be chosen: ids, names and labels (docs/data.md). */
const filterColumns = [
  "transaction_id",
  "request_id",
  "session_id",
  "user_id",
  "api_key_id",
  "app",
  "flow",
  "cohort_id",
  "endpoint",
  "dialect",
  "vendor",
  "model",
  "requested_model",
  "mode",
  "stream",
  "status",
  "http_status",
  "error_code",
  "finish_reason",
  "billing_basis",
] as const;

const filterValue = z.union([z.string().max(1000), z.number(), z.boolean()]);
const filter = z.union([filterValue, z.array(filterValue).min(1).max(1000)]).optional();

export const evalFilters = z.strictObject(Object.fromEntries(filterColumns.map((column) => [
  column,
  filter.describe(`\`${column}\` of the interaction: a value, or an array of 1 to 1,000.`),
])) as Record<
  typeof filterColumns[number],
  typeof filter
>).openapi("EvalFilters");

const compared = z.string().min(1).max(100_000).optional().describe(
  "Default: the text of the stored answer.",
);

const exact = z.strictObject({
  type: z.literal("exact").describe("The answer's text equals `value` exactly."),
  value: compared,
});

const contains = z.strictObject({
  type: z.literal("contains").describe("The answer's text contains `value`."),
  value: compared,
});

const jsonSchema = z.strictObject({
  type: z.literal("json_schema").describe(
    "The answer's text, of at most 1 MiB, is JSON that the schema allows. Drafts 2020-12 and 07; `format` is not checked.",
  ),
  schema: z.union([z.record(z.string(), z.unknown()), z.boolean()])
    .check(({ value, issues }) => {
      const message = schemaExcess(value);
      if (message !== undefined) issues.push({ code: "custom", message, input: value });
    })
    .describe(
      "The schema: at most 65,536 characters of JSON, 2,000 objects and arrays, and 2,000 characters in a pattern.",
    ),
});

const regex = z.strictObject({
  type: z.literal("regex").describe("The pattern is found in the answer's text, of at most 1 MiB."),
  pattern: z.string().min(1).max(2000).describe("A regular expression of JavaScript."),
  flags: z.string().regex(
    /^(?!.{0,1}(.).{0,1}\1)[ims]{0,3}$/,
    "expected any of i, m and s, each once",
  )
    .optional().describe("Any of `i`, `m` and `s`. Default none."),
});

const judge = z.strictObject({
  type: z.literal("judge").describe("Another model judges the answer."),
  model: z.string().min(1).max(300).describe("Named as in calls to the unified endpoint."),
  prompt: z.string().min(1).max(20_000).describe(
    "Instructions for the judge. `{{input}}`, `{{answer}}` and `{{expected}}` stand for the stored request, the new answer and the stored one; without any of them, all three are appended.",
  ),
});

const graderSchema = z.discriminatedUnion("type", [
  exact,
  contains,
  jsonSchema,
  regex,
  judge,
]).openapi("EvalGrader");

export const evalGraders = z.array(graderSchema).min(1).max(20).describe("1 to 20 graders.");

export type Grader = z.output<typeof graderSchema>;
