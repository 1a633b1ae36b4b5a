import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { createEval, getEval, listEvals } from "../../contracts/data/evals.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { play } from "../support/scenarios.ts";
import {
  type Environment,
  shared,
  startSimulatedService,
  type TestService,
} from "../support/service.ts";

const path = "/api/v1/evals";
const hello = { model: "vendor-c/claude-sonnet-4-6", filters: {}, graders: [{ type: "exact" }] };

const service = shared(() => startWithCalls({}));

/** One call in each dialect, tagged, of the first account, and another account. */
async function startWithCalls(env: Environment) {
  const started = await startSimulatedService(env);
  const account = await started.admin("account", "create", "--name", "others");
  assert.equal(account.exitCode, 0, account.lines.join());
  const other = await started.createKey("--account", "others");
  const text = "/// COHORT eval\n/// APP a\nWhat is it? [say:It is fine.]";
  const calls: [string, unknown][] = [
    ["/chat/v1/chat/completions", {
      ...{ model: "vendor-b/gpt-4.1", user: "u-1", stream: true },
      stream_options: { include_usage: true },
      messages: [{ role: "system", content: "Be kind." }, { role: "user", content: text }],
    }],
    ["/vendor-c/v1/messages", {
      ...{ model: "claude-sonnet-4-6", max_tokens: 100, stream: true },
      messages: [{ role: "user", content: text }],
    }],
    ["/vendor-d/v1beta/models/gemini-2.5-flash:generateContent", {
      contents: [{ role: "user", parts: [{ text }] }],
    }],
    ["/chat/v1/responses", { model: "vendor-b/gpt-4.1", stream: true, input: text }],
  ];
  for (const [at, body] of calls) {
    const answer = await started.post(at, body, { "x-session-id": "s-1" });
    const said = await answer.text();
    assert.equal(answer.status, 200, said);
  }
  return { ...started, other };
}

async function finished(at: TestService, id: string, key = at.key) {
  for (let look = 0; look < 3_000; look++) {
    const answer = await at.fetch(`${path}/${id}?limit=1000`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(answer.status, 200);
    const run = getEval.answer!.parse(await answer.json());
    if (run.state !== "queued" && run.state !== "running") return run;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the run does not end");
}

async function create(at: TestService, body: unknown, headers: Record<string, string> = {}) {
  const answer = await at.post(path, body, headers);
  const json = await answer.json();
  assert.equal(answer.status, 202, JSON.stringify(json));
  return { ...json, replayed: answer.headers.get("x-idempotent-replay") } as {
    eval_run_id: string;
    total: number;
    replayed: string | null;
  };
}

async function wholeRun(at: TestService): Promise<void> {
  const cohort = await (await at.fetch("/api/v1/cohort/eval")).json();
  const made = await create(at, {
    ...{ name: "nightly", model: "vendor-c/claude-sonnet-4-6", filters: { cohort_id: "eval" } },
    graders: [
      { type: "exact" },
      { type: "contains", value: "nowhere" },
      { type: "json_schema", schema: { type: "object" } },
      { type: "regex", pattern: "^it is", flags: "i" },
      {
        ...{ type: "judge", model: "vendor-b/gpt-4.1" },
        prompt: 'Is it kind? [say:{"passed": true, "score": 0.5, "reason": "Quite."}]',
      },
    ],
  });
  assert.equal(made.total, 4);
  const run = await finished(at, made.eval_run_id);
  assert.deepEqual([run.state, run.counts.total, run.counts.failed], ["done", 4, 4]);
  assert.equal(run.results.length, 20);
  for (const { grader_index, passed, detail } of run.results) {
    assert.equal(passed, [true, false, false, true, true][grader_index], detail ?? "");
  }
  const rows = await at.rows({ endpoint: "/api/v1/evals" });
  assert.equal(rows.length, 8, "a call and a judge for each");
  const ids = new Set(rows.map((row) => row.transaction_id));
  for (const { answer_transaction_id, judge_transaction_id, grader_index } of run.results) {
    assert.ok(ids.has(answer_transaction_id));
    assert.equal(ids.has(judge_transaction_id), grader_index === 4);
  }
  for (const row of rows) {
    assert.deepEqual([row.app, row.cohort_id, row.status], [null, null, "completed"]);
    assert.equal(row.session_id, "s-1", "erased with the session whose words it holds");
    assert.match(String(row.cost_usd), /^0\.0\d*[1-9]/);
    assert.doesNotMatch(JSON.stringify(row.request), /\/\/\/ (COHORT|APP)/);
  }
  const asked = rows.filter((row) => row.model === "claude-sonnet-4-6");
  assert.deepEqual(asked.map((row) => row.dialect).sort(), [
    "chat",
    "generate",
    "messages",
    "responses",
  ]);
  const nanos = rows.reduce((sum, row) => sum + Math.round(Number(row.cost_usd) * 1e9), 0);
  assert.equal(Math.round(Number(run.counts.cost_usd) * 1e9), nanos);
  // The calls of an evaluation distort no cohort, and no later run takes them up.
  assert.deepEqual(await (await at.fetch("/api/v1/cohort/eval")).json(), cohort);
  assert.equal((await create(at, hello)).total, 4);
}

Deno.test("calls of every dialect are asked again of another vendor's model, judged, priced and recorded", () =>
  wholeRun(service()));

const { available, reason } = postgresAvailability();
Deno.test({
  name: `the same on PostgreSQL, with interactions in a database of their own${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  async fn() {
    const server = await startPostgres();
    const [database, analytics] = [await server.createDatabase(), await server.createDatabase()];
    const env = { DATABASE_URL: database.url, ANALYTICS_DATABASE_URL: analytics.url };
    const started = await startWithCalls(env);
    try {
      await wholeRun(started);
    } finally {
      await started.stop();
      await database.drop();
      await analytics.drop();
    }
  },
});

Deno.test("a picture that stands apart from its payload goes along when it is asked again", async () => {
  const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(99_992, 7)]);
  const data = picture.toString("base64");
  const url = `data:image/png;base64,${data}`;
  const content = [{ type: "text", text: "See this" }, { type: "image_url", image_url: { url } }];
  const answer = await service().post("/chat/v1/chat/completions", {
    ...{ model: "vendor-b/gpt-4.1", user: "painter" },
    messages: [{ role: "user", content }],
  });
  assert.equal(answer.status, 200, await answer.text());
  const { eval_run_id: id } = await create(service(), {
    ...{ ...hello, filters: { user_id: "painter" }, graders: [{ type: "regex", pattern: "." }] },
  });
  const run = await finished(service(), id);
  assert.deepEqual([run.counts.total, run.counts.passed], [1, 1], JSON.stringify(run.results));
  assert.deepEqual(run.filters, { user_id: null }, "the run stays when that user is erased");
  const sent = service().simulators.requests("vendor-c").at(-1);
  assert.ok(JSON.stringify(sent).includes(data.slice(0, 1000)), "vendor-c got the picture");
});

Deno.test("a compacted conversation is compacted again, and judged by its summary", async () => {
  const answer = await service().post("/chat/v1/responses/compact", {
    model: "vendor-c/claude-sonnet-4-6",
    input: "Feed the yak. [say:The yak is fed.]",
  }, { "x-user-id": "compacter" });
  assert.equal(answer.status, 200, await answer.text());
  const filters = { user_id: "compacter" };
  const graders = [{ type: "exact" }];
  const { eval_run_id: id } = await create(service(), { ...hello, filters, graders });
  const run = await finished(service(), id);
  assert.deepEqual([run.counts.total, run.counts.passed], [1, 1], JSON.stringify(run.results));
  assert.deepEqual(run.filters, { user_id: null }, "the run stays when that user is erased");
  const sent = service().simulators.requests("vendor-c").at(-1);
  assert.match(JSON.stringify(sent), /Write a summary of this whole conversation/);
  // OpenAI's own summary is sealed: nothing of it can be compared.
  const model = "vendor-b/gpt-4.1";
  const sealed = await create(service(), { ...hello, model, filters, graders });
  const { counts, results } = await finished(service(), sealed.eval_run_id);
  assert.deepEqual([counts.total, counts.skipped], [1, 1], JSON.stringify(results));
  assert.match(String(results[0]?.detail), /unreadable_answer/);
});

Deno.test("a repeat with the same X-Request-ID is the same run; with another body it is a 409", async () => {
  const headers = { "x-request-id": "eval-once" };
  const first = await create(service(), hello, headers);
  const again = await create(service(), hello, headers);
  assert.equal(again.eval_run_id, first.eval_run_id);
  assert.equal(again.replayed, "true");
  await play(service(), {
    ...{ name: "other body", path, headers, body: { ...hello, limit: 3 }, status: 409 },
    error: {
      dialect: "service" as const,
      type: "invalid_request_error",
      code: "idempotency_conflict",
    },
  });
});

Deno.test("runs are listed newest first, page by page, and results too", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    ids.push((await create(service(), { ...hello, name: `n ${n}` })).eval_run_id);
  }
  const list = async (query: string) =>
    listEvals.answer!.parse(await (await service().fetch(`${path}${query}`)).json());
  const first = await list("?limit=2");
  assert.deepEqual(first.data.map((run) => run.eval_run_id), [ids[2], ids[1]]);
  const second = await list(`?limit=2&after=${encodeURIComponent(first.next!)}`);
  assert.equal(second.data[0]?.eval_run_id, ids[0]);
  const whole = await finished(service(), ids[0]!);
  const paged: unknown[] = [];
  for (let next = "";;) {
    const page = await (await service().fetch(`${path}/${ids[0]}?limit=3${next}`)).json();
    paged.push(...page.results);
    if (page.next === null) break;
    next = `&after=${encodeURIComponent(page.next)}`;
  }
  assert.deepEqual(paged, whole.results);
});

Deno.test("a limit takes the newest, or as many at random; nothing found is done at once", async () => {
  const all = await service().rows();
  // A vendor goes by any of its names.
  const filters = { cohort_id: "eval", vendor: "openai" };
  const newest = await create(service(), { ...hello, filters, limit: 1 });
  const run = await finished(service(), newest.eval_run_id);
  const last = all.findLast((row) => row.cohort_id === "eval" && row.vendor === "vendor-b");
  assert.deepEqual(run.results.map((one) => one.transaction_id), [last?.transaction_id]);
  const random = await create(service(), { ...hello, sample: "random", limit: 2 });
  assert.equal(random.total, 2);
  const none = await create(service(), { ...hello, filters: { app: "nobody's" } });
  assert.equal((await finished(service(), none.eval_run_id)).state, "done");
  const early = await create(service(), { ...hello, end_date: "2020-01-01T00:00:00Z" });
  assert.equal(early.total, 0);
});

Deno.test("a run that has not ended can be cancelled, as the audit log says; one that has stays as it is", async () => {
  const slow = "Slowly now [slow:400]";
  const stored = await service().post("/chat/v1/chat/completions", {
    ...{ model: "vendor-b/gpt-4.1", user: "slow" },
    messages: [{ role: "user", content: slow }],
  });
  assert.equal(stored.status, 200, await stored.text());
  const { eval_run_id: id } = await create(service(), { ...hello, filters: { user_id: "slow" } });
  const cancelled = await service().fetch(`${path}/${id}`, { method: "DELETE" });
  assert.equal((await cancelled.json()).state, "cancelled");
  const again = await service().fetch(`${path}/${id}`, { method: "DELETE" });
  assert.deepEqual([again.status, (await again.json()).state], [200, "cancelled"]);
  const { eval_run_id: other } = await create(service(), { ...hello, limit: 1 });
  await finished(service(), other);
  const done = await service().fetch(`${path}/${other}`, { method: "DELETE" });
  assert.equal((await done.json()).state, "done");
  const { key } = await service().createKey("--name", "Reader", "--scope", "admin");
  const log = await service().fetch("/api/v1/admin/audit?limit=20", {
    headers: { authorization: `Bearer ${key}` },
  });
  const { data } = await log.json() as { data: Record<string, string>[] };
  const acts = data.filter(({ action }) => action!.startsWith("eval.")).slice(0, 3);
  assert.deepEqual(acts.map(({ action, subject }) => [action, subject]), [
    ["eval.created", hello.model],
    ["eval.cancelled", hello.model],
    ["eval.created", hello.model],
  ]);
  for (const { actor } of acts) assert.match(actor!, /^API key '.+' \(dmt_\w+…\)$/);
});

Deno.test("another account's runs are not there, whatever is asked of them", async () => {
  const { other } = service();
  const { eval_run_id: id } = await create(service(), hello);
  const key = other.key;
  const error = { dialect: "service" as const, type: "not_found_error", code: "eval_not_found" };
  await play(service(), { name: "get", path: `${path}/${id}`, key, status: 404, error });
  await play(service(), {
    name: "cancel",
    method: "DELETE",
    path: `${path}/${id}`,
    key,
    status: 404,
    error,
  });
  const seen = await (await service().fetch(path, { headers: { authorization: `Bearer ${key}` } }))
    .json();
  assert.deepEqual(seen, { data: [], next: null });
  const theirs = await create(service(), hello, { authorization: `Bearer ${key}` });
  assert.equal(theirs.total, 0, "nor are our calls");
  assert.equal((await finished(service(), id)).state, "done");
});

Deno.test("an account without credit waits, and what was asked of it costs nothing", async () => {
  const { simulators } = service();
  // The state of its run is polled.
  const tier = ["poor", "enterprise", "--rpm", "1000000", "--burst", "1000000"];
  for (const argv of [["create", "--name", "poor"], ["tier", ...tier]]) {
    const { exitCode, lines } = await service().admin("account", ...argv);
    assert.equal(exitCode, 0, lines.join());
  }
  const { key } = await service().createKey("--account", "poor");
  const answer = await service().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "With an own vendor key" }],
  }, { authorization: `Bearer ${key};${simulators.vendors["vendor-b"].apiKey}` });
  assert.equal(answer.status, 200, await answer.text());
  const headers = { authorization: `Bearer ${key}` };
  const { eval_run_id: id, total } = await create(service(), hello, headers);
  assert.equal(total, 1);
  for (let look = 0;; look++) {
    const run = await (await service().fetch(`${path}/${id}`, { headers })).json();
    if (run.waiting) {
      assert.equal(run.waiting.for, "insufficient_credits");
      assert.deepEqual([run.state, run.counts.done, run.counts.cost_usd], [
        ...["running", 0, "0.000000000"],
      ]);
      break;
    }
    assert.ok(look < 3_000, JSON.stringify(run));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal((await service().rows({}, key)).length, 1, "no vendor was called");
  const granted = await service().admin("credits", "grant", "--usd", "5", "--account", "poor");
  assert.equal(granted.exitCode, 0, granted.lines.join());
  assert.equal((await finished(service(), id, key)).state, "done");
});

Deno.test("a key's scopes and models hold for what a run calls", async () => {
  const denied = {
    dialect: "service" as const,
    type: "permission_error",
    code: "permission_denied",
  };
  const keyOf = async (...argv: string[]) => (await service().createKey(...argv)).key;
  const cases: [string, number, object][] = [
    [await keyOf("--scope", "exports"), 403, denied],
    [await keyOf("--scope", "evals"), 403, {
      ...denied,
      message: /^model: .*'chat' nor 'vendor-c'/,
    }],
    [await keyOf("--scope", "evals", "--scope", "vendor-b"), 403, denied],
    [await keyOf("--scope", "evals", "--scope", "vendor-c"), 202, {}],
    [await keyOf("--scope", "evals", "--scope", "chat"), 202, {}],
    [await keyOf("--models", "vendor-b/gpt-4.1"), 403, {
      ...denied,
      message: /^model: this API key may not call/,
    }],
  ];
  for (const [key, status, error] of cases) {
    const expected = status === 202 ? {} : { error: error as typeof denied };
    await play(service(), { name: "scoped", path, key, body: hello, status, ...expected });
  }
  const judge = { type: "judge", model: "vendor-g/grok-4.3", prompt: "?" };
  await play(service(), {
    ...{ name: "judge", path, key: await keyOf("--models", "vendor-c/claude-sonnet-4-6") },
    ...{ body: { ...hello, graders: [judge] }, status: 403 },
    error: { ...denied, message: /^graders\[0\]\.model: this API key may not call/ },
  });
});

Deno.test("a vendor key of the dual-key form is not kept, so a run with it is refused", async () => {
  const { key, simulators } = service();
  const vendorKey = simulators.vendors["vendor-c"].apiKey;
  await play(service(), {
    ...{ name: "dual", path, key: `${key};${vendorKey}`, body: hello, status: 400 },
    error: {
      dialect: "service" as const,
      type: "invalid_request_error",
      code: "invalid_request",
      message: /vendor key/,
    },
    unexpected: [vendorKey],
  });
  assert.ok(createEval.codes.includes("invalid_request"), "the document says so");
});
