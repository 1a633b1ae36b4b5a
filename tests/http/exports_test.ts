import assert from "@std/assert";
import { interactionColumns } from "../../contracts/data/export_tables.ts";
import { play, type Scenario, testScenarios } from "../support/scenarios.ts";
import { type Row, shared, startSimulatedService } from "../support/service.ts";

/** What every call of these tests says, in the order they are made. */
const made = [
  { model: "vendor-b/gpt-4.1", app: "shop", flow: "pay", user: "u-1", session: "s-1" },
  { model: "vendor-b/gpt-4.1", app: "shop", flow: "ask", user: "u-2", session: "s-1" },
  { model: "vendor-g/grok-4.3", app: "docs", flow: "ask", user: "u-1", session: "s-2" },
] as const;

const service = shared(async () => {
  const started = await startSimulatedService();
  const account = await started.admin("account", "create", "--name", "others");
  assert.equal(account.exitCode, 0, account.lines.join());
  await started.admin("credits", "grant", "--usd", "5", "--account", "others");
  const other = await started.createKey("--account", "others");
  const transactions: string[] = [];
  for (const { model, app, flow, user, session } of made) {
    const content = `/// APP ${app}\n/// FLOW ${flow}\n/// COHORT c-1\nHow are you?`;
    const body = { model, user, messages: [{ role: "user", content }] };
    const answer = await started.post("/chat/v1/chat/completions", body, {
      "x-session-id": session,
    });
    assert.equal(answer.status, 200, await answer.text());
    transactions.push(answer.headers.get("x-transaction-id") ?? "");
  }
  const theirs = await started.post("/openai/v1/chat/completions", {
    model: "gpt-4.1",
    messages: [{ role: "user", content: "of the other account" }],
  }, { authorization: `Bearer ${other.key}` });
  await theirs.body?.cancel();
  const rows = await started.rows();
  return { ...started, transactions, rows: started.rows, all: rows, other };
});

const path = "/api/v1/exports";
const start = "2020-01-01T00:00:00Z";

Deno.test("a row has the columns of the interface in their order, oldest first", () => {
  const { all, transactions } = service();
  assert.deepEqual(all.map((row) => row.transaction_id), transactions);
  for (const row of all) assert.deepEqual(Object.keys(row), [...interactionColumns]);
});

Deno.test("a row says who called what, how it went and what it cost", () => {
  const { all } = service();
  const said = all.map(({ app, flow, user_id, session_id, requested_model, cohort_id }) => ({
    app,
    flow,
    user_id,
    session_id,
    requested_model,
    cohort_id,
  }));
  assert.deepEqual(
    said,
    made.map(({ app, flow, user, session, model }) => ({
      app,
      flow,
      user_id: user,
      session_id: session,
      requested_model: model,
      cohort_id: "c-1",
    })),
  );
  const [first] = all as [Row];
  assert.equal(first.model, "gpt-4.1");
  assert.equal(first.vendor, "vendor-b");
  assert.equal(first.endpoint, "/chat/v1/chat/completions");
  assert.equal(first.status, "completed");
  assert.match(String(first.cost_usd), /^0\.\d{9}$/);
  assert.equal(first.charged_usd, first.cost_usd);
  assert.notEqual(Number(first.cost_usd), 0);
  // As the caller sent it, tag lines included.
  const request = first.request as { messages: { content: string }[] };
  assert.match(request.messages[0]!.content, /^\/\/\/ APP shop\n/);
});

/** Filters, and which of the calls they leave. */
const filters: readonly { filters: Record<string, unknown>; left: readonly number[] }[] = [
  { filters: {}, left: [0, 1, 2] },
  { filters: { app: "shop" }, left: [0, 1] },
  { filters: { app: ["shop", "docs"] }, left: [0, 1, 2] },
  { filters: { app: "shop", flow: "ask" }, left: [1] },
  { filters: { app: "SHOP" }, left: [] },
  { filters: { user_id: "u-1" }, left: [0, 2] },
  { filters: { session_id: "s-2" }, left: [2] },
  { filters: { model: "gpt-4.1" }, left: [0, 1] },
  { filters: { requested_model: "vendor-g/grok-4.3" }, left: [2] },
  { filters: { vendor: ["vendor-g", "vendor-a"] }, left: [2] },
  { filters: { cohort_id: "c-1" }, left: [0, 1, 2] },
  { filters: { status: "failed" }, left: [] },
  { filters: { http_status: 200 }, left: [0, 1, 2] },
  { filters: { stream: false }, left: [0, 1, 2] },
  { filters: { stream: true }, left: [] },
  { filters: { app: [] }, left: [] },
  { filters: { app: "' or 1=1 --" }, left: [] },
];

Deno.test("filters narrow by column, a value or any of several", async () => {
  const { rows, transactions } = service();
  for (const { filters: given, left } of filters) {
    const found = (await rows(given)).map((row) => row.transaction_id);
    assert.deepEqual(found, left.map((index) => transactions[index]), JSON.stringify(given));
  }
});

Deno.test("times are half-open: the start is in, the end is out", async () => {
  const { all, post } = service();
  const at = all.map((row) => String(row.created_at));
  const count = async (body: unknown) => {
    const answer = await post(path, body);
    assert.equal(answer.status, 200, "status");
    return (await answer.json()).length;
  };
  assert.equal(await count({ start_date: at[0] }), 3);
  assert.equal(await count({ end_date: at[0] }), 0);
  assert.equal(await count({ start_date: at[0], end_date: at[2] }), 2);
  assert.equal(await count({ start_date: at[2] }), 1);
  assert.equal(await count({ start_date: "2100-01-01T00:00:00Z" }), 0);
  // The same moment in another time zone.
  const zoned = new Date(Date.parse(at[2]!) + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
  assert.equal(await count({ start_date: zoned }), 1);
});

Deno.test("a day as a start begins at midnight UTC, as an end it is included whole", async () => {
  const { all, post } = service();
  const today = String(all[0]!.created_at).slice(0, 10);
  const dayOf = (days: number) =>
    new Date(Date.parse(today) + days * 86_400_000).toISOString().slice(0, 10);
  const count = async (body: unknown) => (await (await post(path, body)).json()).length;
  assert.equal(await count({ start_date: today, end_date: dayOf(1) }), 3);
  assert.equal(await count({ end_date: dayOf(-1) }), 0);
  assert.equal(await count({ start_date: dayOf(2) }), 0);
  const range = { start: all[0]!.created_at, end: all[2]!.created_at };
  assert.equal(await count({ range, delivery: "stream" }), 2);
});

Deno.test("columns are those that were asked for, in that order, in every format", async () => {
  const { all, post } = service();
  const columns = ["model", "cost_usd", "translation_loss", "transaction_id"];
  const wanted = all.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])));
  const text = async (format: string) =>
    await (await post(path, { start_date: start, format, columns })).text();
  const rows = JSON.parse(await text("json"));
  assert.deepEqual(rows, wanted);
  assert.deepEqual(Object.keys(rows[0]), columns);
  const lines = (await text("jsonl")).split("\n");
  assert.equal(lines.pop(), "");
  assert.deepEqual(lines.map((line) => JSON.parse(line)), wanted);
  assert.deepEqual((await text("csv")).split("\r\n").slice(0, 2), [
    columns.join(),
    `${all[0]!.model},${all[0]!.cost_usd},[],${all[0]!.transaction_id}`,
  ]);
});

Deno.test("without payloads no prompt and no answer leaves, and every figure does", async () => {
  const { all, post } = service();
  const answer = await post(path, { start_date: start, format: "jsonl", payloads: false });
  assert.equal(answer.headers.get("content-type"), "application/x-ndjson");
  const text = await answer.text();
  assert.ok(!text.includes("How are you?"));
  const rows = text.trimEnd().split("\n").map((line) => JSON.parse(line) as Row);
  assert.deepEqual(
    rows,
    all.map(({ request: _request, response: _response, ...figures }) => figures),
  );
});

Deno.test("another account's rows are never seen, whatever is filtered", async () => {
  const { rows, other, all } = service();
  const theirs = await rows({}, other.key);
  assert.equal(theirs.length, 1);
  assert.equal(theirs[0]!.account_id, other.account_id);
  const theirId = theirs[0]!.transaction_id;
  assert.deepEqual(await rows({ transaction_id: theirId }), []);
  assert.deepEqual(await rows({ transaction_id: all[0]!.transaction_id }, other.key), []);
  await play(service(), {
    name: "by account",
    path,
    body: { start_date: start, filters: { account_id: other.account_id } },
    status: 400,
    error: {
      type: "invalid_request_error",
      code: "invalid_value",
      dialect: "service",
      message: /^filters\.account_id: /,
    },
  });
});

Deno.test("an export is not a call: it leaves no row and has no transaction id", async () => {
  const { post, rows } = service();
  const answer = await post(path, { start_date: start });
  assert.equal(answer.headers.get("x-transaction-id"), null);
  assert.equal(answer.headers.get("content-type"), "application/json");
  await answer.body?.cancel();
  assert.equal((await rows()).length, 3);
});

testScenarios(service, [
  refused("neither form", {}, "missing_required_field", /^start_date: give start_date, end_date/),
  refused("no day", { start_date: "2026-02-30" }, "invalid_value", /^start_date: expected a day/),
  refused("a time without a zone", { start_date: "2026-01-01T00:00:00" }, "invalid_value", /RFC/),
  refused("a time as a number", { start_date: 5 }, "invalid_value", /^start_date: /),
  refused(
    "an end before the start",
    { start_date: start, end_date: "2019-01-01T00:00:00Z" },
    "invalid_value",
    /^end_date: the end is not after the start/,
  ),
  refused("an unknown table", { start_date: start, tables: ["users"] }, "invalid_value", /tables/),
  refused("no table", { start_date: start, tables: [] }, "invalid_value", /^tables: /),
  refused("an unknown format", { start_date: start, format: "xml" }, "invalid_value", /^format: /),
  refused("an unknown field", { start_date: start, limit: 5 }, "invalid_value", /^limit: unknown/),
  refused(
    "an unknown column",
    { start_date: start, filters: { "app; drop table interactions": "x" } },
    "invalid_value",
    /^filters\["app; drop table interactions"\]: expected one of transaction_id, /,
  ),
  refused(
    "a filter that is an object",
    { start_date: start, filters: { app: { like: "%" } } },
    "invalid_value",
    /^filters\.app: /,
  ),
  ...([
    [
      "a number where text is",
      { app: 5 },
      /^filters\.app: expected a string of at most 1000 characters, or an array/,
    ],
    [
      "a long text",
      { app: ["a", "a".repeat(1_001)] },
      /^filters\.app.*: expected at most 1000 characters/,
    ],
    ["text where a number is", { http_status: "200" }, /^filters\.http_status: expected a number/],
    ["text where a truth is", { stream: "true" }, /^filters\.stream: expected true or false/],
    ["null", { user_id: null }, /^filters\.user_id: expected a string/],
    ["one wrong value of several", { app: ["a", 5] }, /^filters\.app: /],
    ["a list of lists", { app: [["a"]] }, /^filters\.app: /],
    ["a status that there is not", { status: "done" }, /^filters\.status: expected one of comp/],
    ["an amount as a number", { cost_usd: 0.1 }, /^filters\.cost_usd: expected an amount/],
    ["an amount's exponent", { cost_usd: "1e-3" }, /^filters\.cost_usd: expected an amount/],
    ["a time that is none", { created_at: "x" }, /^filters\.created_at: expected an RFC 3339/],
    ["a payload", { request: "x" }, /^filters\.request: expected one of transaction_id, /],
    [
      "another table's column",
      { passed: true },
      /^filters\.passed: expected one of transaction_id/,
    ],
    ["a prototype's field", { constructor: "x" }, /^filters\.constructor: /],
  ] as const).map(([what, filters, message]) =>
    refused(`a filter: ${what}`, { start_date: start, filters }, "invalid_value", message)
  ),
  ...([
    ["a day that there is not", { start: "2026-02-30", end: "2026-03-01" }, /^range\.start: exp/],
    ["its end at its start", { start, end: start }, /^range\.end: the end is not after the start/],
    [
      "its end before its start",
      { start: "2026-03-02", end: "2026-03-01" },
      /^range\.end: the last day/,
    ],
    ["more than two fields", { start: "2026-03-01", end: "2026-03-01", zone: "x" }, /^range\.zone/],
    ["text", "2026-03", /^range: expected an object/],
  ] as const).map(([what, range, message]) =>
    refused(`a range: ${what}`, { range }, "invalid_value", message)
  ),
  refused(
    "a range without its end",
    { range: { start: "2026-03-01" } },
    "missing_required_field",
    /^range\.end: required/,
  ),
  refused(
    "both forms",
    { start_date: start, range: { start: "2026-03-01", end: "2026-03-01" } },
    "invalid_value",
    /^range: give either/,
  ),
  refused(
    "csv of two tables",
    { start_date: start, format: "csv", tables: ["interactions", "eval_runs"] },
    "invalid_value",
    /^tables: csv takes exactly one/,
  ),
  refused(
    "jsonl of two tables",
    { start_date: start, format: "jsonl", tables: ["interactions", "eval_runs"] },
    "invalid_value",
    /^tables: jsonl takes exactly one/,
  ),
  refused("no column", { start_date: start, columns: [] }, "invalid_value", /^columns: /),
  refused(
    "an unknown column",
    { start_date: start, columns: ["x"] },
    "invalid_value",
    /^columns\[0/,
  ),
  refused(
    "another table's column",
    { start_date: start, columns: ["app", "passed"] },
    "invalid_value",
    /^columns\[1\]: expected one of transaction_id, /,
  ),
  refused(
    "a table of which no column is asked for",
    { start_date: start, columns: ["app"], tables: ["interactions", "eval_results"] },
    "invalid_value",
    /^columns: expected at least one column of eval_results/,
  ),
  refused(
    "a payload that is left out too",
    { start_date: start, columns: ["app", "request"], payloads: false },
    "invalid_value",
    /^columns\[1\]: request is a payload/,
  ),
  refused(
    "payloads in words",
    { start_date: start, payloads: "no" },
    "invalid_value",
    /^payloads: /,
  ),
  refused("raw cells in words", { start_date: start, raw_cells: "yes" }, "invalid_value", /^raw_c/),
  refused("another delivery", { start_date: start, delivery: "mail" }, "invalid_value", /^deliv/),
  refused("a list in place of an object", [], "invalid_value", /^The request body: /),
]);

function refused(name: string, body: unknown, code: string, message: RegExp): Scenario {
  return {
    name: `400 for ${name}`,
    path,
    body,
    status: 400,
    error: { type: "invalid_request_error", code, message, dialect: "service" },
  };
}
