/** Calls, their cost and the account's credit, read with a key. */
import assert from "@std/assert";
import { interactionColumns } from "../../contracts/data/export_tables.ts";
import { listFilters } from "../../contracts/data/interactions.ts";
import { play, type Scenario, testScenarios } from "../support/scenarios.ts";
import { type Row, shared, startSimulatedService } from "../support/service.ts";

const models = ["vendor-b/gpt-4.1", "vendor-c/claude-sonnet-4-6", "vendor-g/grok-4.3"] as const;

/** Calls of two accounts; every third one is a stream, every fifth one fails. */
const service = shared(async () => {
  const started = await startSimulatedService();
  await started.admin("account", "create", "--name", "others");
  await started.admin("credits", "grant", "--usd", "5", "--account", "others");
  const other = await started.createKey("--account", "others");
  const ids: string[] = [];
  for (let n = 0; n < 14; n++) {
    const word = ["pear", "plum", "fig"][n % 3]!;
    const tags = n % 4 === 0 ? "" : `/// APP app ${n % 2}\n/// FLOW =${n % 3}\n`;
    const fails = n % 5 === 4 ? " [error:400]" : "";
    const answer = await started.post("/chat/v1/chat/completions", {
      model: models[n % 3],
      stream: n % 3 === 2,
      user: `u-${n % 4}`,
      messages: [{ role: "user", content: `${tags}A ${word}, please.${fails}` }],
    }, { "x-session-id": `s-${n % 5}` });
    await answer.text();
    ids.push(answer.headers.get("x-transaction-id")!);
  }
  const theirs = await started.post("/chat/v1/chat/completions", {
    model: models[0],
    messages: [{ role: "user", content: "A pear of theirs." }],
  }, { authorization: `Bearer ${other.key}` });
  await theirs.text();
  const rows = await started.rows();
  return { ...started, ids, all: rows, other, theirId: theirs.headers.get("x-transaction-id")! };
});

const path = "/api/v1/interactions";

interface Page {
  data: Row[];
  next_cursor: string | null;
}

async function get<T>(target: string, key = service().key): Promise<T> {
  const answer = await service().fetch(target, { headers: { authorization: `Bearer ${key}` } });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text) as T;
}

/** The rows of all pages. */
async function listed(query: string, limit: number, key?: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | null = "";;) {
    const from: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor!)}`;
    const page: Page = await get<Page>(`${path}?limit=${limit}&${query}${from}`, key);
    assert.ok(page.data.length <= limit);
    rows.push(...page.data);
    if (page.next_cursor === null) return rows;
    cursor = page.next_cursor;
  }
}

const withoutPayloads = ({ request: _request, response: _response, ...row }: Row) => row;

Deno.test("pages through cursors hold what an export of the same filter holds, newest first", async () => {
  const { rows, all } = service();
  const [first, , third] = all as [Row, Row, Row];
  const filters: Record<string, readonly (string | number | boolean)[]>[] = [
    {},
    { model: ["gpt-4.1"] },
    { model: ["gpt-4.1", "grok-4.3"], app: ["app 1"] },
    { user_id: ["u-0", "u-3"], stream: [true] },
    { flow: ["=1"] },
    { session_id: ["s-1", "s-2", "s-3"] },
    { status: ["failed"] },
    { http_status: [200], vendor: ["vendor-b", "vendor-c"] },
    { input_tokens: [Number(first.input_tokens)] },
    { cost_usd: [String(first.cost_usd), String(third.cost_usd)] },
    { created_at: [String(first.created_at)] },
    { transaction_id: [String(first.transaction_id), String(third.transaction_id)] },
    { endpoint: ["/nowhere"] },
    { app: ["' or 1=1 --"] },
    { account_id: [Number(first.account_id)], model: ["gpt-4.1"] },
  ];
  for (const filter of filters) {
    const wanted = (await rows(filter)).map(withoutPayloads).reverse();
    const query = Object.entries(filter).flatMap(([name, values]) =>
      values.map((value) => `${name}=${encodeURIComponent(value)}`)
    ).join("&");
    for (const limit of [1, 3, 1000]) {
      assert.deepEqual(await listed(query, limit), wanted, `${query} by ${limit}`);
    }
  }
  assert.equal((await listed("", 1000)).length, 14);
});

Deno.test("a vendor is found by its usual name as by its label, in lists and in exports", async () => {
  for (const [alias, label] of [["openai", "vendor-b"], ["anthropic", "vendor-c"]]) {
    const rows = await listed(`vendor=${label}`, 50);
    assert.ok(rows.length > 0, label);
    assert.deepEqual(await listed(`vendor=${alias}`, 50), rows);
    assert.equal((await service().rows({ vendor: alias })).length, rows.length);
  }
  const both = await service().rows({ vendor: ["openai", "vendor-c"] });
  assert.deepEqual(new Set(both.map(({ vendor }) => vendor)), new Set(["vendor-b", "vendor-c"]));
  assert.equal((await listed("vendor=openai&vendor=vendor-c", 50)).length, both.length);
  const twice = await listed("vendor=openai&vendor=vendor-b", 50);
  assert.deepEqual(twice, await listed("vendor=vendor-b", 50));
});

Deno.test("a model is found by its name in usage, in lists and in exports", async () => {
  const usage = await get<{ data: { model: string; calls: number }[] }>(
    "/api/v1/usage?group_by=model",
  );
  assert.ok(usage.data.length > 1);
  for (const { model, calls } of usage.data) {
    assert.equal((await listed(`model=${model}`, 5)).length, calls, model);
    assert.equal((await service().rows({ model })).length, calls, model);
  }
  const names = usage.data.map(({ model }) => model);
  const every = await listed("", 50);
  assert.deepEqual(await listed(names.map((name) => `model=${name}`).join("&"), 5), every);
  const own = await listed("model=gpt-4.1", 5);
  const unknown = Array.from({ length: 30 }, (_, n) => `model=v${n}/gpt-4.1`).join("&");
  for (
    const query of [
      "model=vendor-b/gpt-4.1",
      "model=vendor-b/gpt-4.1&model=gpt-4.1",
      "model=vendor-b/gpt-4.1&vendor=openai",
      `model=vendor-b/gpt-4.1&${unknown}`,
    ]
  ) assert.deepEqual(await listed(query, 5), own, query);
  for (const query of ["model=vendor-c/gpt-4.1", "model=vendor-b/gpt-4.1&vendor=vendor-c"]) {
    assert.deepEqual(await listed(query, 5), [], query);
  }
});

for (
  const [method, target, body] of [
    ["GET", "/api/v1/credits?day=2026-11-01", undefined],
    ["POST", "/api/v1/exports?format=csv", { start_date: "2026-01-01" }],
    ["DELETE", "/api/v1/data?dry_run=true", { start_date: "2026-01-01T00:00:00Z", confirm: true }],
  ] as const
) {
  Deno.test(`${method} ${target}: 400, since it takes no parameters`, async () => {
    const answer = await service().fetch(target, {
      method,
      headers: { authorization: `Bearer ${service().key}` },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const { error } = await answer.json();
    const name = /\?(\w+)/.exec(target)![1];
    assert.deepEqual([answer.status, error.message], [400, `${name}: unknown field.`]);
    assert.ok((await listed("", 50)).length >= service().all.length);
  });
}

Deno.test("a call that comes between two pages changes neither", async () => {
  const { all, post } = service();
  const before = all.map((row) => row.transaction_id).reverse();
  const first = await get<Page>(`${path}?limit=5`);
  const late = await post("/chat/v1/chat/completions", {
    model: models[0],
    user: "late",
    messages: [{ role: "user", content: "Late." }],
  });
  await late.text();
  const second = await get<Page>(`${path}?limit=5&cursor=${first.next_cursor}`);
  const ids = [...first.data, ...second.data].map((row) => row.transaction_id);
  assert.deepEqual(ids, before.slice(0, 10));
  const [newest] = await listed("", 1);
  assert.equal(newest!.transaction_id, late.headers.get("x-transaction-id"));
});

Deno.test("days and times bound the list as they bound an export", async () => {
  const { all } = service();
  const at = all.map((row) => String(row.created_at));
  const count = async (query: string) => (await listed(`user_id=u-1&${query}`, 100)).length;
  const whole = await count("");
  const today = at[0]!.slice(0, 10);
  const tomorrow = new Date(Date.parse(today) + 86_400_000).toISOString().slice(0, 10);
  assert.equal(whole, 4);
  assert.equal(await count(`start_date=${today}&end_date=${tomorrow}`), whole);
  assert.equal(await count("end_date=2020-01-01"), 0);
  assert.equal(await count(`start_date=${at[5]}`), 3);
  assert.equal(await count(`end_date=${encodeURIComponent(at[5]!)}`), 1);
});

Deno.test("words are found in prompts and answers, all of them", async () => {
  const words = async (q: string) => (await listed(`q=${encodeURIComponent(q)}`, 2)).length;
  assert.equal(await words("pear"), 5);
  assert.equal(await words("PEAR please"), 5);
  assert.equal(await words("pear plum"), 0);
  assert.equal(await words("theirs"), 0);
  assert.equal(
    await words('"a phrase in quotes may have more words than the twelve that are looked for"'),
    0,
  );
  assert.equal((await listed("q=pear&user_id=u-0", 1)).length, 2);
});

Deno.test("one call is its whole record, with lines that add up to its cost", async () => {
  const { all } = service();
  const nanos = (usd: unknown) => BigInt(String(usd).replace(".", ""));
  let priced = 0;
  for (const row of all) {
    const { lines, ...record } = await get<Row & { lines: Row[] }>(`${path}/${row.transaction_id}`);
    assert.deepEqual(record, row);
    assert.deepEqual(Object.keys(record), [...interactionColumns]);
    const sum = lines.reduce((total, line) => total + nanos(line.cost_usd), 0n);
    assert.equal(sum, nanos(row.cost_usd), JSON.stringify(lines));
    for (const { dimension, quantity, unit_price_usd, cost_usd } of lines) {
      assert.ok(["input", "cache_read", "output", "reasoning"].includes(String(dimension)));
      assert.equal((Number(quantity) * Number(unit_price_usd)).toFixed(9), cost_usd);
    }
    if (lines.length > 0) priced++;
  }
  assert.ok(priced >= 8, `${priced} calls have lines`);
  const id = String(all[0]!.transaction_id);
  assert.deepEqual(await get(`${path}/${id.toUpperCase()}`), await get(`${path}/${id}`));
});

Deno.test("a stream's cost can be read at once after its last byte", async () => {
  const { post } = service();
  for (let n = 0; n < 5; n++) {
    const answer = await post("/anthropic/v1/messages", {
      model: "claude-sonnet-4-6",
      max_tokens: 100,
      stream: true,
      messages: [{ role: "user", content: "Count to three." }],
      metadata: { user_id: "streamer" },
    });
    assert.equal(answer.headers.get("x-cost-usd"), null);
    await answer.text();
    const row = await get<Row>(`${path}/${answer.headers.get("x-transaction-id")}`);
    assert.equal(row.status, "completed");
    assert.ok(Number(row.cost_usd) > 0);
  }
});

Deno.test("nothing of another account is seen: not listed, not found, not summed", async () => {
  const { other, theirId, ids, all } = service();
  const theirs = await listed("", 10, other.key);
  assert.deepEqual(theirs.map((row) => row.transaction_id), [theirId]);
  assert.deepEqual(await listed(`transaction_id=${theirId}`, 10), []);
  for (const [id, key] of [[theirId, service().key], [ids[0], other.key], ["x", other.key]]) {
    await play(service(), {
      name: "another account's call",
      path: `${path}/${id}`,
      key: key!,
      status: 404,
      error: {
        type: "not_found_error",
        code: "interaction_not_found",
        dialect: "service",
        message: /^transaction_id: no call has the id/,
      },
    });
  }
  const usage = await get<{ total: Row }>("/api/v1/usage", other.key);
  assert.equal(usage.total.calls, 1);
  assert.equal(usage.total.cost_usd, theirs[0]!.cost_usd);
  assert.notEqual(usage.total.cost_usd, all[0]!.cost_usd);
});

Deno.test("a cursor is good for its own account and filters alone", async () => {
  const { other } = service();
  const { next_cursor: cursor } = await get<Page>(`${path}?limit=2&vendor=vendor-b`);
  if (cursor === null) throw new Error("there is no next page");
  await get<Page>(`${path}?limit=3&vendor=vendor-b&cursor=${cursor}`);
  const refusals: [string, string | undefined][] = [
    [`vendor=vendor-b&cursor=${cursor}`, other.key],
    [`cursor=${cursor}`, undefined],
    [`vendor=vendor-c&cursor=${cursor}`, undefined],
    [`vendor=vendor-b&cursor=${cursor.slice(0, -3)}`, undefined],
    ["cursor=x", undefined],
    [`cursor=${btoa('[1e99,"a","b"]')}`, undefined],
  ];
  for (const [query, key] of refusals) {
    await play(service(), {
      name: query,
      path: `${path}?${query}`,
      ...(key === undefined ? {} : { key }),
      status: 400,
      error: {
        type: "invalid_request_error",
        code: "invalid_value",
        dialect: "service",
        message: /^cursor: expected the next_cursor/,
      },
    });
  }
});

Deno.test("credit says what is left and what was charged, as the calls do", async () => {
  const { all } = service();
  const credits = await get<Record<string, string>>("/api/v1/credits");
  const rows = await service().rows();
  const nanos = (usd: unknown) => BigInt(String(usd).replace(".", ""));
  const charged = rows.reduce((sum, row) => sum + nanos(row.charged_usd), 0n);
  assert.deepEqual(Object.keys(credits), [
    ...["balance_usd", "reserved_usd", "charged_today_usd", "charged_month_usd"],
  ]);
  assert.equal(nanos(credits.balance_usd), 10_000_000_000n - charged);
  assert.equal(credits.reserved_usd, "0.000000000");
  const isOneDay = String(all[0]!.created_at).slice(0, 10) ===
    new Date().toISOString().slice(0, 10);
  if (isOneDay) assert.equal(nanos(credits.charged_today_usd), charged);
  assert.ok(nanos(credits.charged_month_usd) >= nanos(credits.charged_today_usd));
});

Deno.test("usage agrees with the rows, by one label and by several, and as CSV", async () => {
  const rows = await service().rows();
  const nanos = (usd: unknown) => BigInt(String(usd).replace(".", ""));
  const sum = (some: readonly Row[]) => some.reduce((all, row) => all + nanos(row.cost_usd), 0n);
  const report = await get<{ data: Row[]; total: Row; omitted: number }>(
    "/api/v1/usage?group_by=app,user",
  );
  const groups = Map.groupBy(rows, (row) => JSON.stringify([row.app, row.user_id]));
  assert.equal(report.data.length, groups.size);
  for (const row of report.data) {
    const calls = groups.get(JSON.stringify([row.app, row.user]))!;
    assert.equal(row.calls, calls.length);
    assert.equal(nanos(row.cost_usd), sum(calls));
    assert.equal(row.failed, calls.filter(({ status }) => status === "failed").length);
  }
  assert.equal(nanos(report.total.cost_usd), sum(rows));
  const cut = await get<{ data: Row[]; total: Row; omitted: number }>(
    "/api/v1/usage?group_by=app,user&limit=2",
  );
  assert.deepEqual(cut.data, report.data.slice(0, 2));
  assert.deepEqual([cut.total, cut.omitted], [report.total, groups.size - 2]);

  const csv = await service().fetch("/api/v1/usage?group_by=flow", {
    headers: { accept: "text/csv" },
  });
  assert.match(csv.headers.get("content-type") ?? "", /^text\/csv/);
  const lines = (await csv.text()).split("\r\n");
  const names = "calls,failed,input_tokens,output_tokens,cost_usd,charged_usd,erased";
  assert.equal(lines[0], `flow,${names}`);
  // A spreadsheet would take `=1` for a formula.
  const flows = lines.slice(1, -1).map((line) => line.split(",")[0]).sort();
  assert.deepEqual(flows, ["", "'=0", "'=1", "'=2"]);
});

Deno.test("usage comes in the form that Accept prefers", async () => {
  const forms: [accept: string, isCsv: boolean][] = [
    ["text/csv;q=0.5, application/json", false],
    ["text/csv;q=0, */*", false],
    ["application/json;q=0.5, Text/CSV;q=0.9", true],
    ["text/csv;q=0.5, */*", false],
    ["text/csv, */*;q=0.1", true],
    ["*/*, text/csv", true],
    ["text/csv, application/json", true],
    ["application/json, text/csv", false],
    ["*/*", false],
    ["text/csv;q=x", false],
  ];
  for (const [accept, isCsv] of forms) {
    const answer = await service().fetch("/api/v1/usage", { headers: { accept } });
    await answer.body?.cancel();
    assert.equal(answer.headers.get("content-type")?.startsWith("text/csv"), isCsv, accept);
  }
});

Deno.test("erased calls stay in the sums, as a row of their own", async () => {
  await using own = await startSimulatedService();
  const read = async (query: string) => await (await own.fetch(`/api/v1/usage?${query}`)).json();
  for (const user of ["ann", "ann", "bob"]) {
    const answer = await own.post("/chat/v1/chat/completions", {
      model: models[0],
      user,
      messages: [{ role: "user", content: "/// APP shop\nHello." }],
    });
    await answer.text();
  }
  const before = await read("group_by=app");
  await own.fetch("/api/v1/data", {
    method: "DELETE",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      transaction_ids: (await own.rows({ user_id: "ann" })).map((row) => row.transaction_id),
      confirm: true,
    }),
  });
  const after = await read("group_by=app");
  assert.deepEqual(after.total, before.total);
  const labels = (row: Row) => [row.app, row.calls, row.erased];
  assert.deepEqual(before.data.map(labels), [["shop", 3, false]]);
  assert.deepEqual(after.data.map(labels), [[null, 2, true], ["shop", 1, false]]);
  const users = await read("group_by=user,day");
  assert.deepEqual(users.total, before.total);
  assert.deepEqual(users.data.map((row: Row) => [row.user, row.calls, row.erased]), [
    ...[[null, 2, true], ["bob", 1, false]],
  ]);
  const credits = await (await own.fetch("/api/v1/credits")).json();
  assert.equal(credits.charged_month_usd, before.total.charged_usd);
});

Deno.test("the scopes are interactions and credits", async () => {
  const targets = [path, `${path}/x`, "/api/v1/usage", "/api/v1/credits"];
  const statuses = async (scope: string) => {
    const { key } = await service().createKey("--scope", scope);
    return await Promise.all(targets.map(async (target) => {
      const answer = await service().fetch(target, { headers: { "x-api-key": key } });
      await answer.body?.cancel();
      return answer.status;
    }));
  };
  assert.deepEqual(await statuses("interactions"), [200, 404, 200, 403]);
  assert.deepEqual(await statuses("credits"), [403, 403, 403, 200]);
  assert.deepEqual(await statuses("exports"), [403, 403, 403, 403]);
});

testScenarios(service, [
  refused("an unknown parameter", "colour=red", /^colour: expected start_date, end_date, q, /),
  refused("a payload as a filter", "request=x", /^request: expected start_date/),
  refused("another account", "account_id=999", /^account_id: expected the account of this key/),
  refused("two accounts", "account_id=1&account_id=999", /^account_id: expected the account/),
  refused("a limit of 0", "limit=0", /^limit: expected a whole number from 1 to 1000/),
  refused("a limit of 1001", "limit=1001", /^limit: expected a whole number from 1 to 1000/),
  refused("a limit in words", "limit=many", /^limit: expected a whole number/),
  refused("two limits", "limit=1&limit=2", /^limit: expected one value, not 2/),
  refused("a status that there is not", "status=done", /^status\[0\]: expected 'completed' or/),
  refused("a number in words", "http_status=ok", /^http_status\[0\]: expected a whole number/),
  refused("a truth in words", "stream=maybe", /^stream\[0\]: expected 'true' or 'false'/),
  refused("an amount in words", "cost_usd=much", /^cost_usd\[0\]: expected an amount/),
  refused("a day that there is not", "start_date=2026-02-30", /^start_date: expected a day/),
  refused("an end before its start", "start_date=2026-02-02&end_date=2026-02-01", /^end_date: /),
  refused("no words", "q=%20", /^q: /),
  refused("a search without a word", "q=!!", /^q: expected 1 to 12 words, got 0/),
  refused("too many words", "q=a+b+c+d+e+f+g+h+i+j+k+l+m", /^q: expected 1 to 12 words, got 13/),
  refused(
    "a long phrase and a word",
    "q=%22a+b+c+d+e+f+g+h+i+j+k+l+m%22+n",
    /^q: expected 1 to 12/,
  ),
  refused("an unknown label", "group_by=colour", /^group_by: expected one of model/, "usage"),
  refused(
    "a time within an hour",
    "start_date=2026-01-01T10:30:00Z",
    /^start_date: .*hour/,
    "usage",
  ),
  refused("two groupings", "group_by=app&group_by=model", /^group_by: expected one value/, "usage"),
  refused("two starts", "start_date=2026-01-01&start_date=2026-01-02", /^start_date: /, "usage"),
  refused("a limit that is none", "limit=-1", /^limit: expected a whole number/, "usage"),
]);

function refused(
  name: string,
  query: string,
  message: RegExp,
  of: "interactions" | "usage" = "interactions",
): Scenario {
  return {
    name: `${of}: 400 for ${name}`,
    path: `/api/v1/${of}?${query}`,
    status: 400,
    error: { type: "invalid_request_error", code: "invalid_value", message, dialect: "service" },
  };
}

Deno.test("every plain column of the record is a filter", () => {
  const json = ["usage_raw", "translation_loss", "request", "response", "attempts"];
  assert.deepEqual([...listFilters], interactionColumns.filter((name) => !json.includes(name)));
});

Deno.test("status says what a key may do, what it has spent and what is left", async () => {
  const { admin, createKey, post } = service();
  await admin("account", "create", "--name", "capped");
  await admin("credits", "grant", "--usd", "2", "--account", "capped");
  await admin("account", "tier", "capped", "pro");
  const { key } = await createKey(
    ...["--account", "capped", "--scope", "chat", "--scope", "status", "--cap-day-usd", "0.5"],
  );
  const called = await post("/chat/v1/chat/completions", {
    model: models[0],
    messages: [{ role: "user", content: "Hello." }],
  }, { authorization: `Bearer ${key}` });
  await called.text();
  const cost = called.headers.get("x-charged-usd");
  // So that the charge is in the store: the record is written by a read at the latest.
  await service().rows();
  // On a busy machine the store may be too slow for an answer, which then has null for sums.
  let status: Record<string, unknown>;
  let asked = 0;
  do status = await get<Record<string, unknown>>("/api/v1/status", key); while (
    status.balance_usd === null && ++asked < 30
  );
  assert.deepEqual(status.scopes, ["chat", "status"]);
  assert.deepEqual(status.rate_limit, { requests_per_minute: 600, burst: 1000 });
  assert.deepEqual(status.caps, {
    day: { limit_usd: "0.500000000", charged_usd: cost },
    month: null,
  });
  const nanos = (usd: unknown) => BigInt(String(usd).replace(".", ""));
  assert.equal(nanos(status.balance_usd), 2_000_000_000n - nanos(cost));
});

Deno.test("the program that called stands in the record, and is a filter of lists and exports", async () => {
  const session = crypto.randomUUID();
  const ask = async (agent: string) => {
    const answer = await service().post("/chat/v1/chat/completions", {
      model: models[0],
      messages: [{ role: "user", content: "Hi" }],
    }, { "x-session-id": session, "user-agent": agent });
    await answer.text();
    return (await service().row(answer.headers.get("x-transaction-id"))).client;
  };
  assert.equal(await ask("claude-cli/2.1.330 (external, sdk-cli)"), "claude-cli/2.1.330");
  assert.equal(await ask("OpenAI/JS 7.57.0"), "OpenAI/JS");
  assert.equal(await ask("x".repeat(300)), "x".repeat(100));
  const filters = { session_id: session, client: ["OpenAI/JS", "claude-cli/2.1.330"] };
  assert.equal((await service().rows(filters)).length, 2);
  assert.equal((await listed(`session_id=${session}&client=OpenAI/JS`, 10)).length, 1);
});
