import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";

/**
 * How an export writes a column's value. `text`: the caller's or vendor's text; `word`: a value that
 * we chose; `json`: JSON text, copied into the export unchanged. Every kind but `json` is a filter.
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

/** A row as JSON. */
function recordOf<T extends Columns>(columns: T) {
  const schemas = Object.entries(columns).map(([name, { schema }]) => [name, schema]);
  return z.strictObject(Object.fromEntries(schemas) as { [K in keyof T]: T[K]["schema"] });
}

function kindsOf<T extends Columns>(columns: T): { readonly [K in keyof T]: ColumnKind } {
  const kinds = Object.entries(columns).map(([name, { kind }]) => [name, kind]);
  return Object.fromEntries(kinds) as { [K in keyof T]: ColumnKind };
}

/** Money as a decimal string in USD with nine decimals. */
const usd = (text: string) =>
  z.string().regex(/^-?\d{1,9}\.\d{9}$/, "expected an amount such as 0.000054399")
    .openapi({ example: "0.000054399" }).describe(text);
const word = (text: string) => z.string().describe(text);
const maybe = (text: string) => z.string().nullable().describe(text);
const count = (text: string) => z.number().int().nullable().describe(text);
const time = (text: string) => timestampSchema.describe(text);

const vendorAttempt = z.strictObject({
  vendor: word("Label of the vendor."),
  model: word("Model as sent to the vendor."),
  http_status: count("The vendor's status; null when no answer began."),
  error_code: maybe("What that was to the caller; null for a good answer."),
  ms: z.number().int().describe("Until the answer began, milliseconds."),
}).openapi("VendorAttempt");

/**
 * The public columns of a stored call, in the order of an export. Record, filters and document are
 * derived from this table; how each column is stored is in `src/records/columns.ts`.
 */
export const interactionTable = {
  transaction_id: column("word", word("Our id of the call, as in `X-Transaction-ID`.")),
  created_at: column("timestamp", time("When the request arrived, UTC.")),
  request_id: column("text", word("`X-Request-ID`, the caller's or ours.")),
  session_id: column("text", maybe("`X-Session-ID`.")),
  user_id: column("text", maybe("The end user that the caller named.")),
  account_id: column("number", z.number().int().describe("The key's account.")),
  api_key_id: column("word", word("Id of the service key.")),
  app: column("text", maybe("Prompt tag `/// APP`.")),
  flow: column("text", maybe("Prompt tag `/// FLOW`.")),
  cohort_id: column("text", maybe("Prompt tag `/// COHORT`.")),
  endpoint: column("text", word("Path template of the endpoint.")),
  dialect: column("word", word("The caller's dialect, such as `chat`.")),
  vendor: column("text", word("Label of the vendor.")),
  model: column("text", word("Model as sent to the vendor.")),
  requested_model: column("text", word("Model as the caller named it.")),
  mode: column(
    "word",
    z.enum(["managed", "stored_key", "dual_key"]).describe("Whose vendor key was used."),
  ),
  stream: column("boolean", z.boolean().describe("Whether the caller asked for a stream.")),
  status: column(
    "word",
    z.enum(["completed", "failed", "truncated", "cancelled", "interrupted"]).describe(
      "How the call ended.",
    ),
  ),
  http_status: column(
    "number",
    count("Status that the caller received; null when it left before."),
  ),
  error_code: column("text", maybe("Code of the error that the caller received.")),
  finish_reason: column("text", maybe("`stop`, `length`, `tool_calls` or `content_filter`.")),
  input_tokens: column("number", count("Tokens of the whole prompt, cached parts included.")),
  cache_read_tokens: column("number", count("Of those: read from the vendor's cache.")),
  cache_write_tokens: column("number", count("Of those: written to the vendor's cache.")),
  output_tokens: column("number", count("Tokens of the answer, reasoning included.")),
  reasoning_tokens: column("number", count("Of those: reasoning.")),
  total_tokens: column("number", count("All tokens.")),
  cost_usd: column(
    "usd",
    usd("What the call costs in US dollars; null when no price is known.").nullable(),
  ),
  charged_usd: column("usd", usd("What the balance lost, in US dollars.")),
  billing_basis: column(
    "word",
    z.enum(["reported", "vendor_cost", "estimated", "disputed", "none"]).describe(
      "Where the cost comes from: `reported` counts, the vendor's own cost, counts of ours; `disputed`: the vendor reported more than ten times what was set aside, and the cost is what was set aside.",
    ),
  ),
  price_version: column("text", maybe("Version of the price that was used.")),
  usage_raw: column("json", z.unknown().describe("The vendor's own usage object.")),
  translation_loss: column(
    "json",
    z.array(z.string()).describe("Fields that the vendor could not be given."),
  ),
  latency_ms: column(
    "number",
    z.number().int().describe("From the request's arrival to its end, milliseconds."),
  ),
  time_to_first_token_ms: column(
    "number",
    count("To the first words of the answer, milliseconds."),
  ),
  request: column("json", z.unknown().describe("The request as the caller sent it.")),
  response: column(
    "json",
    z.unknown().describe("The answer as the caller received it; a stream as its whole."),
  ),
  payload_truncated: column(
    "boolean",
    z.boolean().describe("Whether a payload was too large to keep whole."),
  ),
  attempts: column(
    "json",
    z.array(vendorAttempt).max(100).nullable().describe(
      "All requests to vendors, the last one answered; null for a single one.",
    ),
  ),
} as const;

export const interactionRecord = recordOf(interactionTable).openapi("Interaction");

/** One evaluation. */
export const evalRunTable = {
  eval_run_id: column("word", word("Id of the evaluation.")),
  created_at: column("timestamp", time("When it was asked for, UTC.")),
  account_id: column("number", z.number().int().describe("The key's account.")),
  api_key_id: column("word", word("Id of the service key.")),
  name: column("text", maybe("The caller's name for it.")),
  model: column("text", word("The model that is evaluated.")),
  filters: column("json", z.unknown().describe("Which stored interactions it takes.")),
  graders: column("json", z.unknown().describe("What judges the answers.")),
  state: column(
    "word",
    z.enum(["queued", "running", "done", "failed", "cancelled"]).describe("How far it is."),
  ),
  counts: column("json", z.unknown().describe("Figures of the run so far.")),
} as const;

export const evalRunRecord = recordOf(evalRunTable).openapi("ExportedEvalRun");

/** One answer's grade. */
export const evalResultTable = {
  eval_run_id: column("word", word("Id of the evaluation.")),
  created_at: column("timestamp", time("When it was graded, UTC.")),
  account_id: column("number", z.number().int().describe("The key's account.")),
  transaction_id: column("word", word("The stored interaction.")),
  answer_transaction_id: column("word", maybe("The call that was made for it.")),
  session_id: column("text", maybe("Session of the stored interaction.")),
  user_id: column("text", maybe("End user of the stored interaction.")),
  grader: column("json", z.unknown().describe("What judged the answer.")),
  passed: column(
    "boolean",
    z.boolean().nullable().describe("Whether it passed; null when it could not be judged."),
  ),
  score: column("number", z.number().nullable().describe("Score, where the grader gives one.")),
  detail: column("text", maybe("What the grader said.")),
} as const;

export const evalResultRecord = recordOf(evalResultTable).openapi("ExportedEvalResult");

/** Table → its row as an export shows it. */
export const exportRecords = {
  interactions: interactionRecord,
  eval_runs: evalRunRecord,
  eval_results: evalResultRecord,
} as const;

export type ExportTable = keyof typeof exportRecords;
export const exportTables = Object.keys(exportRecords) as ExportTable[];

export type InteractionColumn = keyof typeof interactionTable;

/** Names of the columns of an interaction, in the order of an export. */
export const interactionColumns = Object.keys(
  interactionTable,
) as readonly InteractionColumn[];

/** Table → column → kind, in the order of an export. */
export const columnKinds = {
  interactions: kindsOf(interactionTable),
  eval_runs: kindsOf(evalRunTable),
  eval_results: kindsOf(evalResultTable),
} as const satisfies Record<ExportTable, unknown>;
