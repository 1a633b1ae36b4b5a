import { z } from "@hono/zod-openapi";
import { timestampSchema, usdSchema } from "../kernel/common.ts";

/**
 * How an export writes a column's value. `text`: text from a caller or vendor; `word`: a value that
 * the service chose; `json`: JSON text, copied unchanged. Every kind except `json` can be a filter.
 */
export type ColumnKind =
  | "text"
  | "word"
  | "number"
  | "boolean"
  | "timestamp"
  | "usd"
  | "json";

/** One column; its schema carries the description that the document shows. */
interface Column<Schema extends z.ZodType> {
  readonly kind: ColumnKind;
  readonly schema: Schema;
}

type Columns = Readonly<Record<string, Column<z.ZodType>>>;

function column<Schema extends z.ZodType>(kind: ColumnKind, schema: Schema): Column<Schema> {
  return { kind, schema };
}

/** Returns the schema of a row as JSON. */
function recordOf<T extends Columns>(columns: T) {
  const schemas = Object.entries(columns).map(([name, { schema }]) => [name, schema]);
  return z.strictObject(Object.fromEntries(schemas) as { [K in keyof T]: T[K]["schema"] });
}

function kindsOf<T extends Columns>(columns: T): { readonly [K in keyof T]: ColumnKind } {
  const kinds = Object.entries(columns).map(([name, { kind }]) => [name, kind]);
  return Object.fromEntries(kinds) as { [K in keyof T]: ColumnKind };
}

/** Builders of columns, by kind; money is a decimal string in USD with nine decimals. */
const text = (about: string) => column("text", z.string().describe(about));
const textOrNull = (about: string) => column("text", z.string().nullable().describe(about));
const word = (about: string) => column("word", z.string().describe(about));
const oneOf = <const Values extends readonly string[]>(values: Values, about: string) =>
  column("word", z.enum(values).describe(about));
const whole = (about: string) => column("number", z.number().int().describe(about));
const wholeOrNull = (about: string) =>
  column("number", z.number().int().nullable().describe(about));
const flag = (about: string) => column("boolean", z.boolean().describe(about));
const time = (about: string) => column("timestamp", timestampSchema.describe(about));
const json = (about: string) => column("json", z.unknown().describe(about));
const usd = (about: string) => usdSchema.describe(about);

const vendorAttempt = z.strictObject({
  vendor: z.string().describe("Label of the vendor."),
  model: z.string().describe("Model as sent to the vendor."),
  http_status: z.number().int().nullable().describe(
    "The vendor's status; null when no answer began.",
  ),
  error_code: z.string().nullable().describe(
    "The error code that it maps to; null if it succeeded.",
  ),
  ms: z.number().int().describe("Milliseconds until the answer began."),
}).openapi("VendorAttempt");

/**
 * The public columns of a stored call, in the order of an export. Record, filters and document are
 * derived from this table; how each column is stored is in `src/records/columns.ts`.
 */
const interactionTable = {
  transaction_id: word("Our id of the call, as in `X-Transaction-ID`."),
  created_at: time("When the request arrived, UTC."),
  request_id: text("`X-Request-ID`, yours or ours."),
  session_id: textOrNull("`X-Session-ID`."),
  user_id: textOrNull("The end user that the caller named."),
  account_id: whole("The key's account."),
  api_key_id: word("Id of the service key."),
  app: textOrNull("Prompt tag `/// APP`."),
  flow: textOrNull("Prompt tag `/// FLOW`."),
  cohort_id: textOrNull("Prompt tag `/// COHORT`."),
  endpoint: text("Path template of the endpoint."),
  dialect: word("The caller's dialect, such as `chat`."),
  vendor: text("Label of the vendor."),
  model: text("Model as sent to the vendor."),
  requested_model: text("Model as the caller named it."),
  mode: oneOf(["managed", "stored_key", "dual_key"], "Whose vendor key was used."),
  stream: flag("Whether the caller asked for a stream."),
  status: oneOf(
    ["completed", "failed", "truncated", "cancelled", "interrupted"],
    "How the call ended.",
  ),
  http_status: wholeOrNull("HTTP status that the caller received; null if it disconnected before."),
  error_code: textOrNull("Code of the error that the caller received."),
  finish_reason: textOrNull("`stop`, `length`, `tool_calls` or `content_filter`."),
  input_tokens: wholeOrNull("Tokens of the whole prompt, cached parts included."),
  cache_read_tokens: wholeOrNull("Of those: read from the vendor's cache."),
  cache_write_tokens: wholeOrNull("Of those: written to the vendor's cache."),
  output_tokens: wholeOrNull("Tokens of the answer, reasoning included."),
  reasoning_tokens: wholeOrNull("Of those: reasoning."),
  total_tokens: wholeOrNull("All tokens."),
  cost_usd: column(
    "usd",
    usd("What the call costs in US dollars; null if no price is known.").nullable().describe(
      "What the call costs in US dollars; null if no price is known.",
    ),
  ),
  charged_usd: column("usd", usd("Amount charged to the balance, in US dollars.")),
  billing_basis: oneOf(
    ["reported", "vendor_cost", "estimated", "disputed", "none"],
    "Where the cost comes from: `reported`: the vendor's token counts; `vendor_cost`: the vendor's own cost; `estimated`: our counts; `disputed`: the vendor reported more than ten times the reserved amount, so the reserved amount is the cost.",
  ),
  price_version: textOrNull("Version of the price that was used."),
  usage_raw: json("The vendor's own usage object."),
  translation_loss: column(
    "json",
    z.array(z.string()).describe(
      "Fields that were dropped because the vendor doesn't support them.",
    ),
  ),
  latency_ms: whole("From the request's arrival to its end, in milliseconds."),
  time_to_first_token_ms: wholeOrNull(
    "From the request's arrival to the first text of the answer, in milliseconds.",
  ),
  request: json("The request as the caller sent it."),
  response: json(
    "The answer as the caller received it; a stream as one complete answer, a compacted conversation without the text of the messages it repeats.",
  ),
  payload_truncated: flag("Whether a payload was too large and was truncated."),
  attempts: column(
    "json",
    z.array(vendorAttempt).max(100).nullable().describe(
      "All requests to vendors, the one that answered last; null for a single one.",
    ),
  ),
  cache: column(
    "word",
    z.enum(["hit", "miss"]).nullable().describe(
      "Whether the response cache had the answer; null if it was not used.",
    ),
  ),
  client: textOrNull(
    "The program that called: the first product of its `User-Agent`, such as `claude-cli/2.1.4`.",
  ),
  trace_id: textOrNull(
    "The trace that the call belongs to (W3C Trace Context): the caller's `traceparent`, or the service's own where it exports traces.",
  ),
} as const;

export const interactionRecord = recordOf(interactionTable).openapi("Interaction");

/** Columns of one evaluation. */
const evalRunTable = {
  eval_run_id: word("Id of the evaluation."),
  created_at: time("When it was requested, UTC."),
  account_id: whole("The key's account."),
  api_key_id: word("Id of the service key."),
  name: textOrNull("The caller's name for it."),
  model: text("The evaluated model."),
  filters: json(
    "Which stored interactions it takes; null for values of `user_id`, `session_id` and `request_id`, which are not stored.",
  ),
  graders: json("Graders that judge the answers."),
  state: oneOf(["queued", "running", "done", "failed", "cancelled"], "State of the run."),
  counts: json("Figures of the run so far."),
} as const;

const evalRunRecord = recordOf(evalRunTable).openapi("ExportedEvalRun");

/** Columns of one answer's grade. */
const evalResultTable = {
  eval_run_id: word("Id of the evaluation."),
  created_at: time("When it was graded, UTC."),
  account_id: whole("The key's account."),
  transaction_id: word("The stored interaction."),
  answer_transaction_id: column(
    "word",
    z.string().nullable().describe("The evaluation's own call."),
  ),
  session_id: textOrNull("Session of the stored interaction."),
  user_id: textOrNull("End user of the stored interaction."),
  grader: json("Grader that judged the answer."),
  passed: column(
    "boolean",
    z.boolean().nullable().describe("Whether it passed; null when it could not be judged."),
  ),
  score: column("number", z.number().nullable().describe("Score, if the grader gives one.")),
  detail: textOrNull("The grader's explanation."),
} as const;

const evalResultRecord = recordOf(evalResultTable).openapi("ExportedEvalResult");

/** Table → schema of its rows in an export. */
export const exportRecords = {
  interactions: interactionRecord,
  eval_runs: evalRunRecord,
  eval_results: evalResultRecord,
} as const;

export type ExportTable = keyof typeof exportRecords;
export const exportTables = Object.keys(exportRecords) as ExportTable[];

export type InteractionColumn = keyof typeof interactionTable;

/** Names of the columns of an interaction, in the order of an export. */
export const interactionColumns = Object.keys(interactionTable) as readonly InteractionColumn[];

/** Table → column → kind, in the order of an export. */
export const columnKinds = {
  interactions: kindsOf(interactionTable),
  eval_runs: kindsOf(evalRunTable),
  eval_results: kindsOf(evalResultTable),
} as const satisfies Record<ExportTable, unknown>;
