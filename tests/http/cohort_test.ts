import assert from "@std/assert";
import { play, type Scenario, testScenarios } from "../support/scenarios.ts";
import { shared, startSimulatedService, type TestService } from "../support/service.ts";

const service = shared(async () => {
  const started = await startSimulatedService();
  const account = await started.admin("account", "create", "--name", "others");
  assert.equal(account.exitCode, 0, account.lines.join());
  const other = await started.createKey("--account", "others");
  return { ...started, other };
});

const path = "/api/v1/cohort/outcome";

async function call(at: TestService, cohort: string, content = "How are you?"): Promise<void> {
  await at.api().unifiedChat({
    body: {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: `/// COHORT ${cohort}\n${content}` }],
    },
  });
}

async function report(cohort: string, compare?: string, key = service().key) {
  const { body } = await service().api(key).getCohort({
    params: { cohort_id: cohort },
    query: compare === undefined ? {} : { compare },
  });
  return body;
}

async function post(body: unknown, headers: Record<string, string> = {}) {
  const answer = await service().post(path, body, headers);
  const json = await answer.json();
  return { status: answer.status, replayed: answer.headers.get("x-idempotent-replay"), json };
}

Deno.test("outcomes before the first call count with the calls that follow, at once", async () => {
  const cohort = "früh/1 %&?";
  const posted = await post({
    cohort_id: cohort,
    conversions: [
      { type: "revenue", value: 0.1, label: "eu" },
      { type: "revenue", value: 0.2, label: "eu" },
      { type: "clicks", value: 3, label: "banner" },
      { type: "clicks", value: 1 },
    ],
  });
  assert.deepEqual(posted.json, {
    status: "ok",
    cohort_id: cohort,
    accepted: 4,
    message: "4 outcomes recorded.",
  });
  const before = await report(cohort);
  assert.equal(before.interactions, 0);
  assert.equal(before.revenue_usd, "0.300000000");
  for (let n = 0; n < 3; n++) await call(service(), cohort);
  const rows = await service().rows({ cohort_id: cohort });
  const cost = rows.reduce((sum, row) => sum + Math.round(Number(row.cost_usd) * 1e9), 0);
  const after = await report(cohort);
  assert.equal(after.interactions, 3);
  assert.equal(Math.round(Number(after.cost_usd) * 1e9), cost);
  assert.equal(after.input_tokens, rows.reduce((sum, row) => sum + Number(row.input_tokens), 0));
  assert.equal(after.output_tokens, rows.reduce((sum, row) => sum + Number(row.output_tokens), 0));
  assert.deepEqual(after.conversions, [
    { type: "clicks", label: null, count: 1, value: 1 },
    { type: "clicks", label: "banner", count: 1, value: 3 },
    // As decimals add, not as doubles do.
    { type: "revenue", label: "eu", count: 2, value: 0.3 },
  ]);
  assert.equal(Math.round(Number(after.cost_per_conversion_usd) * 1e9), Math.round(cost / 4));
  assert.ok(Math.abs((after.revenue_per_dollar ?? 0) - 0.3e9 / cost) < 1e-9);
  const latencies = rows.map((row) => Number(row.latency_ms)).sort((a, b) => a - b);
  assert.equal(after.latency_ms.p50, latencies[1]);
  assert.match(after.warnings.join(), /^small_sample: 3 interactions/);
});

Deno.test("a repeat with the same X-Request-ID adds nothing; with another body it is a 409", async () => {
  const body = { cohort_id: "repeat", conversions: [{ type: "clicks", value: 1 }] };
  const headers = { "x-request-id": "outcome-of-tuesday" };
  const first = await post(body, headers);
  const again = await post(body, headers);
  assert.deepEqual(again.json, first.json);
  assert.equal(again.replayed, "true");
  const other = await post({ ...body, cohort_id: "another" }, headers);
  assert.deepEqual([other.status, other.json.error.code], [409, "idempotency_conflict"]);
  // Without the header each post counts.
  await post(body);
  assert.equal((await report("repeat")).conversions_total, 2);
  assert.equal((await report("another")).conversions_total, 0);
});

Deno.test("an item with an id counts once, and can't be changed", async () => {
  const order = { type: "revenue", value: 5, id: "order-7" };
  await post({ cohort_id: "ids", conversions: [order] });
  const again = await post({
    cohort_id: "ids",
    conversions: [order, { type: "clicks", value: 1 }],
  });
  assert.equal(again.json.accepted, 1);
  assert.equal(again.json.message, "1 of 2 outcomes recorded; the others were known.");
  const changed = await post({ cohort_id: "ids", conversions: [{ ...order, value: 6 }] });
  assert.equal(changed.status, 409);
  assert.match(changed.json.error.message, /^conversions\[0\]\.id: /);
  assert.equal((await report("ids")).revenue_usd, "5.000000000");
});

Deno.test("a comparison has both cohorts and the difference of each figure", async () => {
  for (let n = 0; n < 3; n++) await call(service(), "short", `n ${n}`);
  for (let n = 0; n < 3; n++) await call(service(), "long", `n ${n} [long:${200 + n}]`);
  const body = await report("long", "short");
  const alone = await report("short");
  assert.deepEqual(body.comparison?.compared_with, alone);
  const { comparison: _, ...own } = body;
  assert.deepEqual(body.comparison?.cohort, own);
  const differences = body.comparison!.differences;
  assert.equal(differences.output_tokens.difference, body.output_tokens - alone.output_tokens);
  assert.equal(differences.output_tokens_per_interaction.distinguishable, true);
  assert.equal(differences.cost_per_interaction_usd.distinguishable, true);
  assert.equal(differences.interactions.difference, 0);
  assert.equal(differences.cost_per_conversion_usd.difference, null);
});

/** A call of a session; gives its transaction. */
async function callIn(session: string, model: string, cohort: string): Promise<string> {
  const answer = await service().post("/chat/v1/chat/completions", {
    model,
    messages: [{ role: "user", content: `/// COHORT ${cohort}\nHello` }],
  }, { "x-session-id": session });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
  return answer.headers.get("x-transaction-id")!;
}

async function reportByModel(cohort: string, compare?: string) {
  const { body } = await service().api().getCohort({
    params: { cohort_id: cohort },
    query: { by: "model", ...(compare === undefined ? {} : { compare }) },
  });
  return body;
}

Deno.test("a cohort by model has each model's calls, outcomes and difference from the first", async () => {
  const cohort = "by model";
  const [cheap, dear] = ["vendor-b/gpt-4.1", "vendor-c/claude-sonnet-4-6"];
  const calls = [
    await callIn("m-1", cheap, cohort),
    await callIn("m-2", cheap, cohort),
    await callIn("m-3", cheap, cohort),
    await callIn("m-4", dear, cohort),
    await callIn("m-5", dear, cohort),
  ];
  const posted = await post({
    cohort_id: cohort,
    conversions: [
      { type: "signups", value: 1, session_id: "m-1" },
      { type: "signups", value: 1, session_id: "m-4" },
      { type: "revenue", value: 9.5, transaction_id: calls[4] },
      { type: "signups", value: 2, session_id: "unknown" },
      { type: "signups", value: 4 },
    ],
  });
  assert.deepEqual([posted.status, posted.json.accepted], [200, 5]);
  const body = await reportByModel(cohort, "another");
  const [first, second] = body.by_model!;
  assert.deepEqual(
    [first?.model, first?.interactions, second?.model, second?.interactions],
    [cheap, 3, dear, 2],
  );
  assert.deepEqual(first?.conversions, [{ type: "signups", label: null, count: 1, value: 1 }]);
  assert.deepEqual(second?.conversions, [
    { type: "revenue", label: null, count: 1, value: 9.5 },
    { type: "signups", label: null, count: 1, value: 1 },
  ]);
  assert.deepEqual(body.unattributed_conversions, [
    { type: "signups", label: null, count: 2, value: 6 },
  ]);
  assert.equal(first?.versus_first, null);
  const costs = [first, second].map((model) => Number(model!.cost_per_interaction_usd.mean));
  const versus = second!.versus_first!;
  const difference = Number(versus.cost_per_interaction_usd.difference);
  assert.ok(Math.abs(difference - (costs[1]! - costs[0]!)) < 2e-9);
  assert.ok(Math.abs(versus.conversion_rate.difference! - (1 / 2 - 1 / 3)) < 1e-12);
  assert.ok(versus.conversion_rate.low95! < 0 && versus.conversion_rate.high95! > 0);
  assert.equal(versus.conversion_rate.distinguishable, false);
  assert.equal(second!.revenue_usd, "9.500000000");
  assert.equal(body.comparison?.compared_with.interactions, 0);
  // The whole is as it is without `by`.
  const { by_model: _, unattributed_conversions: __, by_model_warnings, ...whole } = body;
  assert.deepEqual(by_model_warnings, []);
  assert.deepEqual(whole, await report(cohort, "another"));
});

Deno.test("an erased session's outcomes leave the cohort with its calls", async () => {
  const cohort = "erased";
  await callIn("e-1", "vendor-b/gpt-4.1", cohort);
  await callIn("e-2", "vendor-b/gpt-4.1", cohort);
  await post({
    cohort_id: cohort,
    conversions: [
      { type: "orders", value: 1, session_id: "e-1", id: "order-1" },
      { type: "orders", value: 1, session_id: "e-2", id: "order-2" },
    ],
  });
  await service().api().deleteData({ body: { session_ids: ["e-1"], confirm: true } });
  const [model] = (await reportByModel(cohort)).by_model!;
  assert.deepEqual([model?.interactions, model?.conversions[0]?.count], [1, 1]);
  assert.equal((await report(cohort)).conversions_total, 1);
});

Deno.test("no account sees or adds to another's cohort", async () => {
  const theirs = { authorization: `Bearer ${service().other.key}` };
  await call(service(), "ours");
  await post({ cohort_id: "ours", conversions: [{ type: "clicks", value: 1, id: "x" }] });
  const added = await post({
    cohort_id: "ours",
    conversions: [{ type: "clicks", value: 50, id: "x" }],
  }, theirs);
  assert.equal(added.status, 200);
  const ours = await report("ours");
  assert.deepEqual([ours.interactions, ours.conversions_total], [1, 1]);
  const seen = await report("ours", "short", service().other.key);
  assert.deepEqual([seen.interactions, seen.conversions_total], [0, 50]);
  assert.equal(seen.comparison?.compared_with.interactions, 0);
});

Deno.test("the scope 'cohort' opens both, another neither", async () => {
  const open = await service().createKey("--scope", "cohort");
  const shut = await service().createKey("--scope", "exports");
  for (const [key, status] of [[open.key, 200], [shut.key, 403]] as const) {
    const body = { cohort_id: "scoped", conversions: [{ type: "clicks", value: 1 }] };
    await play(service(), { name: "post", path, key, body, status, ...denied(status) });
    await play(service(), {
      name: "get",
      path: "/api/v1/cohort/scoped",
      key,
      status,
      ...denied(status),
    });
  }
});

function denied(status: number) {
  return status === 403
    ? {
      error: { dialect: "service" as const, type: "permission_error", code: "permission_denied" },
    }
    : {};
}

Deno.test("an empty label is none, also where an item is posted again", async () => {
  const cohort = "empty labels";
  for (const label of ["", "  ", null, undefined]) {
    const posted = await post({
      cohort_id: cohort,
      conversions: [
        { type: "clicks", value: 2, label },
        { type: "orders", value: 1, label, id: "order-1" },
      ],
    });
    assert.equal(posted.status, 200, JSON.stringify(posted.json));
  }
  assert.deepEqual((await report(cohort)).conversions, [
    { type: "clicks", label: null, count: 4, value: 8 },
    { type: "orders", label: null, count: 1, value: 1 },
  ]);
});

const item = { type: "clicks", value: 1, label: "x" };
const one = (more: Record<string, unknown>) => ({
  cohort_id: "c",
  conversions: [{ ...item, ...more }],
});

testScenarios(service, [
  refused("no body", "", "invalid_json", /empty/),
  refused("no cohort", { conversions: [item] }, "missing_required_field", /^cohort_id: /),
  refused(
    "an empty cohort",
    { cohort_id: " ", conversions: [item] },
    "invalid_value",
    /^cohort_id: /,
  ),
  refused(
    "a cohort with a line break",
    { cohort_id: "a\nb", conversions: [item] },
    "invalid_value",
    /^cohort_id: expected text without control/,
  ),
  refused(
    "a cohort of 257 characters",
    { cohort_id: "c".repeat(257), conversions: [item] },
    "invalid_value",
    /^cohort_id: .*256/,
  ),
  refused(
    "a cohort that is a number",
    { cohort_id: 7, conversions: [item] },
    "invalid_value",
    /^cohort_id: expected a string/,
  ),
  refused("no conversions", { cohort_id: "c" }, "missing_required_field", /^conversions: /),
  refused(
    "an empty list",
    { cohort_id: "c", conversions: [] },
    "invalid_value",
    /^conversions: expected at least 1 item/,
  ),
  refused(
    "1,001 items",
    { cohort_id: "c", conversions: Array(1001).fill(item) },
    "invalid_value",
    /^conversions: .*1000 items/,
  ),
  refused(
    "an item that is none",
    { cohort_id: "c", conversions: ["clicks"] },
    "invalid_value",
    /^conversions\[0\]: expected an object/,
  ),
  refused(
    "no type",
    one({ type: undefined }),
    "missing_required_field",
    /^conversions\[0\]\.type: /,
  ),
  refused(
    "no value",
    one({ value: undefined }),
    "missing_required_field",
    /^conversions\[0\]\.value: /,
  ),
  refused(
    "a value in words",
    one({ value: "12" }),
    "invalid_value",
    /^conversions\[0\]\.value: expected a number/,
  ),
  refused("a value of null", one({ value: null }), "invalid_value", /^conversions\[0\]\.value: /),
  refused(
    "a value beyond all measure",
    one({ value: 1e10 }),
    "invalid_value",
    /^conversions\[0\]\.value: expected at most 1000000000/,
  ),
  refused(
    "a value beyond numbers",
    '{"cohort_id":"c","conversions":[{"type":"a","value":1e999}]}',
    "invalid_value",
    /^conversions\[0\]\.value: /,
  ),
  refused(
    "a label that is a list",
    one({ label: [] }),
    "invalid_value",
    /^conversions\[0\]\.label: /,
  ),
  refused(
    "a field nobody knows",
    one({ currency: "EUR" }),
    "invalid_value",
    /^conversions\[0\]\.currency: unknown field/,
  ),
  refused(
    "a field nobody knows beside",
    { ...one({}), app: "x" },
    "invalid_value",
    /^app: unknown field/,
  ),
  refused(
    "an id twice",
    { cohort_id: "c", conversions: [{ ...item, id: "1" }, { ...item, id: "1" }] },
    "invalid_value",
    /^conversions\[1\]\.id: the id is there twice/,
  ),
  refused(
    "a session that is a number",
    one({ session_id: 7 }),
    "invalid_value",
    /^conversions\[0\]\.session_id: expected a string/,
  ),
  refused(
    "an empty transaction",
    one({ transaction_id: "" }),
    "invalid_value",
    /^conversions\[0\]\.transaction_id: /,
  ),
  refused(
    "a session of 257 characters",
    one({ session_id: "s".repeat(257) }),
    "invalid_value",
    /^conversions\[0\]\.session_id: .*256/,
  ),
  wrongRead("another way to break it down", "/api/v1/cohort/c?by=vendor", /^by: /),
  wrongRead("a comparison with itself", "/api/v1/cohort/c?compare=c", /^compare: /),
  wrongRead("an empty comparison", "/api/v1/cohort/c?compare=", /^compare: /),
  wrongRead("a query nobody knows", "/api/v1/cohort/c?with=d", /^with: unknown field/),
  wrongRead(
    "a cohort of 257 characters in the path",
    `/api/v1/cohort/${"c".repeat(257)}`,
    /^cohort_id: /,
  ),
]);

function refused(name: string, body: unknown, code: string, message: RegExp): Scenario {
  const error = { type: "invalid_request_error", code, message, dialect: "service" as const };
  return { name: `400 for ${name}`, path, body, status: 400, error };
}

function wrongRead(name: string, at: string, message: RegExp): Scenario {
  const error = {
    dialect: "service" as const,
    type: "invalid_request_error",
    code: "invalid_value",
    message,
  };
  return { name: `400 for ${name}`, path: at, status: 400, error };
}
