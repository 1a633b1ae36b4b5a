import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";

/**
 * How a column's value is written. `text`: words of callers or vendors; `word`: a word of ours;
 * `json`: JSON text, put into the export as it is; the rest say it themselves.
 */
export type ColumnKind =
  | "text"
  | "word"
  | "number"
  | "boolean"
  | "timestamp"
  | "usd"
  | "json";

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

/** One stored call as an export shows it: the columns and their order are a promise to callers. */
export const interactionRecord = z.strictObject({
  transaction_id: word("Our id of the call, as in `X-Transaction-ID`."),
  created_at: time("When the request arrived, UTC."),
  request_id: word("`X-Request-ID`, the caller's or ours."),
  session_id: maybe("`X-Session-ID`."),
  user_id: maybe("The end user that the caller named."),
  account_id: z.number().int().describe("The key's account."),
  api_key_id: word("Id of the service key."),
  app: maybe("Prompt tag `/// APP`."),
  flow: maybe("Prompt tag `/// FLOW`."),
  cohort_id: maybe("Prompt tag `/// COHORT`."),
  endpoint: word("Path template of the endpoint."),
  dialect: word("The caller's dialect, such as `chat`."),
  vendor: word("Label of the vendor."),
  model: word("Model as sent to the vendor."),
  requested_model: word("Model as the caller named it."),
  mode: z.enum(["managed", "stored_key", "dual_key"]).describe("Whose vendor key was used."),
  stream: z.boolean().describe("Whether the caller asked for a stream."),
  status: z.enum(["completed", "failed", "truncated", "cancelled", "interrupted"]).describe(
    "How the call ended.",
  ),
  http_status: count("Status that the caller received; null when it left before."),
  error_code: maybe("Code of the error that the caller received."),
  finish_reason: maybe("`stop`, `length`, `tool_calls` or `content_filter`."),
  input_tokens: count("Tokens of the whole prompt, cached parts included."),
  cache_read_tokens: count("Of those: read from the vendor's cache."),
  cache_write_tokens: count("Of those: written to the vendor's cache."),
  output_tokens: count("Tokens of the answer, reasoning included."),
  reasoning_tokens: count("Of those: reasoning."),
  total_tokens: count("All tokens."),
  cost_usd: usd("What the call costs in US dollars; null when no price is known.").nullable(),
  charged_usd: usd("What the balance lost, in US dollars."),
  billing_basis: z.enum(["reported", "vendor_cost", "estimated", "disputed", "none"]).describe(
    "Where the cost comes from: `reported` counts, the vendor's own cost, counts of ours; `disputed`: the vendor reported more than ten times what was set aside, and the cost is what was set aside.",
  ),
  price_version: maybe("Version of the price that was used."),
  usage_raw: z.unknown().describe("The vendor's own usage object."),
  translation_loss: z.array(z.string()).describe("Fields that the vendor could not be given."),
  latency_ms: z.number().int().describe("From the request's arrival to its end, milliseconds."),
  time_to_first_token_ms: count("To the first words of the answer, milliseconds."),
  request: z.unknown().describe("The request as the caller sent it."),
  response: z.unknown().describe("The answer as the caller received it; a stream as its whole."),
  payload_truncated: z.boolean().describe("Whether a payload was too large to keep whole."),
  attempts: z.array(vendorAttempt).max(100).nullable().describe(
    "All requests to vendors, the last one answered; null for a single one.",
  ),
}).openapi("Interaction");

/** One evaluation. */
export const evalRunRecord = z.strictObject({
  eval_run_id: word("Id of the evaluation."),
  created_at: time("When it was asked for, UTC."),
  account_id: z.number().int().describe("The key's account."),
  api_key_id: word("Id of the service key."),
  name: maybe("The caller's name for it."),
  model: word("The model that is evaluated."),
  filters: z.unknown().describe("Which stored interactions it takes."),
  graders: z.unknown().describe("What judges the answers."),
  state: z.enum(["queued", "running", "done", "failed", "cancelled"]).describe("How far it is."),
  counts: z.unknown().describe("Figures of the run so far."),
}).openapi("ExportedEvalRun");

/** One answer's grade. */
export const evalResultRecord = z.strictObject({
  eval_run_id: word("Id of the evaluation."),
  created_at: time("When it was graded, UTC."),
  account_id: z.number().int().describe("The key's account."),
  transaction_id: word("The stored interaction."),
  answer_transaction_id: maybe("The call that was made for it."),
  session_id: maybe("Session of the stored interaction."),
  user_id: maybe("End user of the stored interaction."),
  grader: z.unknown().describe("What judged the answer."),
  passed: z.boolean().nullable().describe("Whether it passed; null when it could not be judged."),
  score: z.number().nullable().describe("Score, where the grader gives one."),
  detail: maybe("What the grader said."),
}).openapi("ExportedEvalResult");

/** Table → its row as an export shows it. */
export const exportRecords = {
  interactions: interactionRecord,
  eval_runs: evalRunRecord,
  eval_results: evalResultRecord,
} as const;

export type ExportTable = keyof typeof exportRecords;
export const exportTables = Object.keys(exportRecords) as ExportTable[];

/** Names of the columns of an interaction, in the order of an export. */
export const interactionColumns = Object.keys(
  interactionRecord.shape,
) as readonly (keyof typeof interactionRecord.shape)[];

type Kinds<T extends ExportTable> = Readonly<
  Record<keyof (typeof exportRecords)[T]["shape"], ColumnKind>
>;

/** Table → column → kind, in the order of an export. */
export const columnKinds: { readonly [T in ExportTable]: Kinds<T> } = {
  interactions: {
    transaction_id: "word",
    created_at: "timestamp",
    request_id: "text",
    session_id: "text",
    user_id: "text",
    account_id: "number",
    api_key_id: "word",
    app: "text",
    flow: "text",
    cohort_id: "text",
    endpoint: "text",
    dialect: "word",
    vendor: "text",
    model: "text",
    requested_model: "text",
    mode: "word",
    stream: "boolean",
    status: "word",
    http_status: "number",
    error_code: "text",
    finish_reason: "text",
    input_tokens: "number",
    cache_read_tokens: "number",
    cache_write_tokens: "number",
    output_tokens: "number",
    reasoning_tokens: "number",
    total_tokens: "number",
    cost_usd: "usd",
    charged_usd: "usd",
    billing_basis: "word",
    price_version: "text",
    usage_raw: "json",
    translation_loss: "json",
    latency_ms: "number",
    time_to_first_token_ms: "number",
    request: "json",
    response: "json",
    payload_truncated: "boolean",
    attempts: "json",
  },
  eval_runs: {
    eval_run_id: "word",
    created_at: "timestamp",
    account_id: "number",
    api_key_id: "word",
    name: "text",
    model: "text",
    filters: "json",
    graders: "json",
    state: "word",
    counts: "json",
  },
  eval_results: {
    eval_run_id: "word",
    created_at: "timestamp",
    account_id: "number",
    transaction_id: "word",
    answer_transaction_id: "word",
    session_id: "text",
    user_id: "text",
    grader: "json",
    passed: "boolean",
    score: "number",
    detail: "text",
  },
};
