import assert from "@std/assert";
import { interactionColumns, interactionRecord } from "../../contracts/data/export_tables.ts";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { columns, sqlNameOf } from "../records/columns.ts";
import { exportedCells, type ExportedRow } from "../records/exported_cells.ts";
import { columnsOf, csvCell, csvHeader, csvWriter, jsonWriter } from "./row_writers.ts";
import type { SettledCall } from "../shared/interaction.ts";

const full: Partial<SettledCall> = {
  sessionId: 's"1',
  userId: "u\n1",
  app: "a",
  flow: "f",
  cohortId: "c",
  stream: true,
  status: "completed",
  httpStatus: 200,
  errorCode: "upstream_error",
  finishReason: "stop",
  inputTokens: 0,
  cacheReadTokens: 1,
  cacheWriteTokens: 2,
  outputTokens: 3,
  reasoningTokens: 4,
  totalTokens: 5,
  costNanos: 54_399n,
  chargedNanos: 1_000_000_001n,
  billingBasis: "reported",
  priceVersion: "v1",
  usageRawText: '{"prompt_tokens":1.0}',
  translationLoss: ["seed", "tools[0].x"],
  latencyMs: 12,
  timeToFirstTokenMs: 7,
  requestText: '{"seed": 12345678901234567890}',
  responseText: '{"b":1,"a":2}',
  payloadTruncated: false,
  attempts: [
    { vendor: "vendor-b", model: "m", http_status: 400, error_code: "invalid_value", ms: 3 },
    { vendor: "vendor-b", model: "m", http_status: 200, error_code: null, ms: 4 },
  ],
  cache: "hit",
  client: "claude-cli/2.1.4",
  traceId: "0af7651916cd43dd8448eb211c80319c",
  retained: { reasoning: [] },
};
/** A row as the database gives it; in `tests/store` the database itself does. */
function exportedRow(row: SettledCall): ExportedRow {
  const values = interactionColumns.filter((name) => name !== "request" && name !== "response").map(
    (name) => columns.find((one) => one.name === sqlNameOf(name))!,
  );
  const [numbers, texts] = [true, false].map((isNumber) =>
    JSON.stringify(
      values.map(({ sqlType, name, write }) => ({ sqlType, name, value: write(row) }))
        .filter(({ sqlType, name }) => isNumber === (/int/.test(sqlType) && !/nanos/.test(name)))
        .map(({ value }) =>
          Array.isArray(value)
            ? JSON.stringify(value)
            : isNumber || value === null
            ? value
            : String(value)
        ),
    )
  );
  const { requestText: request, responseText: response } = row;
  return { texts: texts!, numbers: numbers!, request, response };
}
const interactionJson = (row: SettledCall) =>
  jsonWriter("interactions")(exportedCells(exportedRow(row)));
const parse = (more: Partial<SettledCall> = {}) =>
  JSON.parse(interactionJson(interactionRow("t1", more))) as Record<string, unknown>;

Deno.test("the columns are those of the interface, in its order, and no other", () => {
  for (const more of [{}, full]) assert.deepEqual(Object.keys(parse(more)), interactionColumns);
  assert.equal(interactionColumns.length, 42);
  assert.deepEqual(
    [interactionColumns[0], ...interactionColumns.slice(37)],
    ["transaction_id", "payload_truncated", "attempts", "cache", "client", "trace_id"],
  );
});

Deno.test("a row agrees with its contract, empty and full", () => {
  for (const more of [{}, full]) {
    const { success, error } = interactionRecord.safeParse(parse(more));
    assert.ok(success, String(error));
  }
});

Deno.test("every value stands in its own column", () => {
  assert.deepEqual(parse(full), {
    transaction_id: "t1",
    created_at: "2026-11-21T09:00:00.123Z",
    request_id: "req-1",
    session_id: 's"1',
    user_id: "u\n1",
    account_id: 1,
    api_key_id: "key-1",
    app: "a",
    flow: "f",
    cohort_id: "c",
    endpoint: "/chat/v1/chat/completions",
    dialect: "chat",
    vendor: "vendor-b",
    model: "gpt-x",
    requested_model: "openai/gpt-x",
    mode: "managed",
    stream: true,
    status: "completed",
    http_status: 200,
    error_code: "upstream_error",
    finish_reason: "stop",
    input_tokens: 0,
    cache_read_tokens: 1,
    cache_write_tokens: 2,
    output_tokens: 3,
    reasoning_tokens: 4,
    total_tokens: 5,
    cost_usd: "0.000054399",
    charged_usd: "1.000000001",
    billing_basis: "reported",
    price_version: "v1",
    usage_raw: { prompt_tokens: 1 },
    translation_loss: ["seed", "tools[0].x"],
    latency_ms: 12,
    time_to_first_token_ms: 7,
    request: JSON.parse(full.requestText!),
    response: { b: 1, a: 2 },
    payload_truncated: false,
    attempts: full.attempts,
    cache: "hit",
    client: "claude-cli/2.1.4",
    trace_id: full.traceId,
  });
});

Deno.test("payloads and raw usage are the text they were: digits, key order and spaces survive", () => {
  const line = interactionJson(interactionRow("t1", full));
  assert.ok(line.includes('"request":{"seed": 12345678901234567890},'));
  assert.ok(line.includes('"response":{"b":1,"a":2},'));
  assert.ok(line.includes('"usage_raw":{"prompt_tokens":1.0},'));
});

Deno.test("an absent value is null, an absent cost is not a cost of 0", () => {
  const row = parse();
  for (const column of ["session_id", "http_status", "usage_raw", "request", "response"]) {
    assert.equal(row[column], null, column);
  }
  assert.equal(row.cost_usd, null);
  assert.equal(row.charged_usd, "0.000000000");
  assert.equal(parse({ costNanos: 0n }).cost_usd, "0.000000000");
});

const cuts: [string, Partial<SettledCall>, unknown, unknown][] = [
  ["a cut request is shown as the string it is", { requestText: '{"a":"b' }, '{"a":"b', null],
  [
    "a whole request beside a cut answer stays JSON",
    { requestText: '{"a":1}', responseText: '{"b' },
    { a: 1 },
    '{"b',
  ],
];
for (const [name, more, request, response] of cuts) {
  Deno.test(name, () => {
    const row = parse({ ...more, payloadTruncated: true });
    assert.deepEqual([row.request, row.response], [request, response]);
  });
}

/** A row of eval_results whose `detail` (text) is this; all else is absent. */
const line = (detail: string | null, rawCells = false) => {
  const cells = columnsOf("eval_results").map(([name]) => name === "detail" ? detail : null);
  return [...csvWriter("eval_results", rawCells)(cells)].join("");
};
const commas = ",".repeat(10);

Deno.test("the header line names the columns in their order and ends by CRLF", () => {
  assert.equal(
    csvHeader("eval_results"),
    "eval_run_id,created_at,account_id,transaction_id,answer_transaction_id,session_id,user_id," +
      "grader,passed,score,detail\r\n",
  );
});

const cells: readonly [what: string, text: string | null, guarded: string, raw: string][] = [
  ["an absent value is nothing", null, "", ""],
  ["an empty text is quoted, so that it is not absent", "", '""', '""'],
  ["plain words are as they are", "plain words", "plain words", "plain words"],
  ["a comma is quoted", "a,b", '"a,b"', '"a,b"'],
  ["quotes are doubled", 'say "x"', '"say ""x"""', '"say ""x"""'],
  ["line ends are kept", "a\r\nb\nc", '"a\r\nb\nc"', '"a\r\nb\nc"'],
  ["=", "=1+1", "'=1+1", "=1+1"],
  ["+", "+1", "'+1", "+1"],
  ["-", "-1", "'-1", "-1"],
  ["@", "@SUM(A1)", "'@SUM(A1)", "@SUM(A1)"],
  ["a tab before a formula", "\t=1", "'\t=1", "\t=1"],
  ["a return before a formula", "\r=1", '"\'\r=1"', '"\r=1"'],
  ["a line feed before a formula", "\n=1", '"\'\n=1"', '"\n=1"'],
  ["full-width =", "＝1+1", "'＝1+1", "＝1+1"],
  ["full-width +", "＋1", "'＋1", "＋1"],
  ["full-width -", "－1", "'－1", "－1"],
  ["full-width @", "＠SUM(A1)", "'＠SUM(A1)", "＠SUM(A1)"],
  ["a formula with quotes", '=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"', '"=HYPERLINK(""x"")"'],
  ["= in the middle is no formula", "a=1", "a=1", "a=1"],
];
for (const [what, text, guarded, raw] of cells) {
  Deno.test(`csv: ${what}`, () => {
    assert.equal(line(text), `${commas}${guarded}\r\n`);
    assert.equal(line(text, true), `${commas}${raw}\r\n`);
  });
}

Deno.test("numbers, amounts and times are never guarded: they are ours", () => {
  const values: Record<string, string | number | boolean> = {
    score: -1.5,
    passed: false,
    created_at: "2026-11-21T09:00:00.000Z",
  };
  const row = columnsOf("eval_results").map(([name]) => values[name] ?? null);
  assert.equal(
    [...csvWriter("eval_results", false)(row)].join(""),
    ",2026-11-21T09:00:00.000Z,,,,,,,false,-1.5,\r\n",
  );
  assert.equal(csvCell("-0.000001500", "number", false), "-0.000001500");
  assert.equal(csvCell("-1", "json", false), "'-1", "an answer may be a number");
});

Deno.test("a large cell is written in pieces, and is the same", () => {
  const [at] = columnsOf("interactions").flatMap(([name], index) =>
    name === "request" ? index : []
  );
  const row = (request: string) => Object.assign([], { [at!]: request });
  for (const text of ['"a,', "😀", "a😀", "a"].map((one) => one.repeat(100_000))) {
    for (const json of [text, `=${text}`]) {
      const pieces = [...csvWriter("interactions", false)(row(json))];
      const commas = (count: number) => ",".repeat(count);
      const others = columnsOf("interactions").length - at! - 1;
      const cell = csvCell(json, "json", false);
      assert.equal(pieces.join(""), `${commas(at!)}${cell}${commas(others)}\r\n`);
      if (json.includes('"')) assert.ok(pieces.every((piece) => piece.length <= 128 * 1024));
      assert.ok(pieces.every((piece) => piece.isWellFormed()));
    }
  }
});

Deno.test("an object on one line has no line end between its tokens", () => {
  const text = '{"a":\r\n"\\n",\n"b":\r1}';
  const [at] = columnsOf("interactions").flatMap(([name], index) =>
    name === "request" ? index : []
  );
  const line = jsonWriter("interactions", ["request"], { oneLine: true });
  const written = line(Object.assign([], { [at!]: text }));
  assert.equal(written, '{"request":{"a":  "\\n", "b": 1}}');
});
