/** Deletions, exports, evaluations and cohorts, done through their pages. */
import assert from "@std/assert";
import type { Answer, BrowserClient } from "../support/browser_client.ts";
import { startBucket } from "../support/bucket.ts";
import { readCsv } from "../support/csv.ts";
import { shared, type TestService } from "../support/service.ts";
import { type DashboardWorld, signIn, startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));

/** A call of an end user, in a cohort; gives its transaction. */
async function call(
  service: TestService,
  { user = "somebody", cohort, text = "Hello", model = "vendor-b/gpt-4.1", session }: {
    user?: string;
    cohort?: string;
    text?: string;
    model?: string;
    session?: string;
  },
): Promise<string> {
  const tags = cohort === undefined ? "" : `/// COHORT ${cohort}\n`;
  const answer = await service.post("/chat/v1/chat/completions", {
    model,
    messages: [{ role: "user", content: tags + text }],
    user,
  }, session === undefined ? {} : { "x-session-id": session });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
  return answer.headers.get("x-transaction-id") ?? "";
}

/** Requests a page until it is as expected, because background work changes it. */
async function until(
  browser: BrowserClient,
  path: string,
  wanted: RegExp,
): Promise<Answer> {
  for (let look = 0; look < 2_400; look++) {
    const page = await browser.get(path);
    if (wanted.test(page.text)) return page;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${path} never showed ${wanted}`);
}

async function auditText(at: DashboardWorld): Promise<string> {
  const { text } = await (await at.owner()).get("/dashboard/settings/audit");
  return text.slice(text.indexOf("<table"));
}

Deno.test("an export and an evaluation can be of any vendor's calls, also without keys of one's own", async () => {
  const owner = await world().owner();
  for (const form of ["/dashboard/exports/new", "/dashboard/evals/new"]) {
    const { text } = await owner.get(form);
    for (const name of ["openai (vendor-b)", "gemini (vendor-e)", "openrouter (vendor-f)"]) {
      assert.ok(text.includes(`>${name}</option>`), `${form}: ${name}`);
    }
  }
});

Deno.test("a deletion is counted first, takes the number typed, and leaves a receipt", async () => {
  const owner = await world().owner();
  const form = "/dashboard/deletion/new";
  const kept = await call(world(), { user: "who stays" });
  await call(world(), { user: "who-goes" });
  await call(world(), { user: "who-goes" });
  const wanted = { user_id: "who-goes", tables: ["interactions", "eval_results"] };
  const bare = await owner.submit(form, form, wanted);
  assert.equal(bare.status, 400, "a reason is needed");
  assert.match(bare.text, /id="reason-error"/);
  const nothing = await owner.submit(form, form, { tables: "interactions", reason: "why" });
  assert.match(nothing.text, /Fill in at least one of User/);
  const backwards = { start_date: "2026-02-02", end_date: "2026-01-01", reason: "why" };
  assert.match(
    (await owner.submit(form, form, { ...backwards, tables: "interactions" })).text,
    /id="end_date-error"/,
  );

  const dry = await owner.submit(form, form, { ...wanted, reason: "Request <4711>" });
  assert.equal(dry.status, 200);
  assert.match(dry.text, /Delete 2 rows\?/);
  assert.match(dry.text, /Request &lt;4711&gt;/);
  const rows = () => world().rows({ user_id: "who-goes" });
  assert.equal((await rows()).length, 2, "a dry run deletes nothing");

  assert.match(dry.text, /<button [^>]*name="change"/);
  const back = await owner.submit(form, form, { ...wanted, reason: "Request <4711>", change: "1" });
  assert.equal(back.status, 200);
  assert.match(back.text, /Step 1 of 2/);
  assert.match(back.text, /value="who-goes"/, "the selection can be changed");

  const confirmed = { ...wanted, reason: "Request <4711>", expected: "2" };
  for (const confirm of ["", "3", "yes", "delete"]) {
    const refused = await owner.submit(form, "/dashboard/deletion", { ...confirmed, confirm });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /Nothing was deleted/);
  }
  assert.equal((await rows()).length, 2);

  const done = await owner.submit(form, "/dashboard/deletion", { ...confirmed, confirm: "2" });
  assert.equal(done.status, 303);
  const receipt = await until(owner, done.location!, /Download receipt/);
  assert.match(receipt.text, /Request &lt;4711&gt;/);
  assert.equal((await rows()).length, 0);
  assert.equal((await world().row(kept)).user_id, "who stays");
  const file = await owner.get(`${done.location}/receipt.json`);
  assert.match(file.headers.get("content-disposition") ?? "", /^attachment; filename="deletion-/);
  const told = JSON.parse(file.text);
  assert.deepEqual([told.state, told.deleted_count, told.receipt.reason], [
    "done",
    2,
    "Request <4711>",
  ]);
  const byApi = await world().fetch(`/api/v1/data/requests/${told.request_id}`);
  assert.deepEqual(await byApi.json(), told);
  assert.match((await owner.get("/dashboard/deletion")).text, /Request &lt;4711&gt;/);
  const audit = await auditText(world());
  assert.match(audit, /data\.deleted/);
  assert.ok(!audit.includes("who-goes"), "who was erased is in no log");
});

Deno.test("a user whose name has a blank at its end is erased, and not who is called so without", async () => {
  const owner = await world().owner();
  const form = "/dashboard/deletion/new";
  for (const user of ["kim", "kim "]) await call(world(), { user });
  const wanted = { user_id: "kim ", tables: "interactions", reason: "asked by letter" };
  const asked = (await owner.submit(form, form, wanted)).text;
  assert.match(asked, /Delete 1 row\?/);
  assert.match(asked, /<dt>User<\/dt><dd><bdi>“kim ”<\/bdi><\/dd>/, "whom is looked at once more");
  const done = await owner.submit(form, "/dashboard/deletion", {
    ...{ ...wanted, expected: "1", confirm: "1" },
  });
  await until(owner, done.location!, /Download receipt/);
  assert.deepEqual((await world().rows({ user_id: ["kim", "kim "] })).map((row) => row.user_id), [
    "kim",
  ]);
});

Deno.test("that nothing matched can be put on record", async () => {
  const owner = await world().owner();
  const form = "/dashboard/deletion/new";
  const wanted = { user_id: "nobody", tables: "interactions", reason: "asked by letter" };
  const backwards = { ...wanted, start_date: "2026-11-20", end_date: "2026-11-10" };
  const refused = (await owner.submit(form, form, backwards)).text;
  assert.match(refused, /id="end_date-error">The end is not after the start\./);
  assert.match((await owner.submit(form, form, wanted)).text, /Nothing matches/);
  const done = await owner.submit(form, "/dashboard/deletion", {
    ...{ ...wanted, expected: "0", confirm: "0" },
  });
  await until(owner, done.location!, /Download receipt/);
});

Deno.test("an export is asked for, fetched, noted and deleted", async () => {
  const owner = await world().owner();
  const now = Date.now();
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  // People whose names differ by a blank are two.
  const id = await call(world(), { user: "exported ", text: "=1+1" });
  await call(world(), { user: "exported" });
  const form = "/dashboard/exports/new";
  const wanted = {
    tables: "interactions",
    format: "csv",
    from: dayOf(now),
    to: dayOf(now + 86_400_000),
  };
  const wrong: [Record<string, string | string[]>, RegExp][] = [
    [{ ...wanted, tables: ["interactions", "eval_runs"] }, /Csv takes exactly one table/i],
    [{ ...wanted, tables: [] }, /Choose at least one\./],
    [{ ...wanted, from: "2027-01-01", to: "2026-01-01" }, /id="to-error">The last day is before/],
    [{ ...wanted, from: "soon" }, /id="from-error"/],
    [{ ...wanted, filter_status: "sideways" }, /expected|Expected/],
  ];
  for (const [fields, message] of wrong) {
    const refused = await owner.submit(form, form, fields);
    assert.equal(refused.status, 400);
    assert.match(refused.text, message);
  }
  const made = await owner.submit(form, form, {
    ...{ ...wanted, filter_user_id: "exported ", filter_model: "openai/gpt-4.1" },
  });
  assert.equal(made.location, "/dashboard/exports");
  const list = await until(owner, "/dashboard/exports", /\/file"/);
  // Without its filters two exports of the same days would look alike; their values aren't kept.
  const columns = list.text.match(/(?<=filtered by )[a-z_]+, [a-z_]+, [a-z_]+(?=<)/)?.[0] ?? "";
  assert.deepEqual(columns.split(", ").sort(), ["model", "user_id", "vendor"]);
  assert.ok(!list.text.includes("exported "), "an export names no end user");
  const path = /href="(\/dashboard\/exports\/[^"]+\/file)"/.exec(list.text)?.[1] ?? "";
  const file = await owner.get(path);
  assert.match(file.headers.get("content-type") ?? "", /^text\/csv/);
  assert.match(
    file.headers.get("content-disposition") ?? "",
    /^attachment; filename="export-.*csv"/,
  );
  const lines = file.text.trim().split("\r\n");
  assert.equal(lines.length, 2);
  assert.ok(lines[1]!.startsWith(id));
  const remove = path.replace(/file$/, "delete");
  assert.equal((await owner.submit(remove, remove)).location, "/dashboard/exports");
  assert.equal((await owner.get(path)).status, 404);
  const audit = await auditText(world());
  for (const act of ["created", "downloaded", "deleted"]) {
    assert.ok(audit.includes(`export.${act}`), act);
  }
});

Deno.test("while the bucket is away, its export is deleted without a word that the file is", async () => {
  const bucket = await startBucket();
  await using at = await startDashboard({ env: bucket.env });
  const owner = await at.owner();
  const form = "/dashboard/exports/new";
  const day = new Date().toISOString().slice(0, 10);
  const wanted = { tables: "interactions", format: "csv", from: day, to: day, delivery: "bucket" };
  assert.equal((await owner.submit(form, form, wanted)).location, "/dashboard/exports");
  const { text } = await until(owner, "/dashboard/exports", /\/file"/);
  const path = /href="(\/dashboard\/exports\/[^"]+\/file)"/.exec(text)?.[1] ?? "";
  await bucket[Symbol.asyncDispose]();
  assert.equal((await owner.get(path)).status, 503);
  const remove = path.replace(/file$/, "delete");
  const removed = await owner.submit(remove, remove);
  const list = (await owner.get(removed.location!)).text;
  assert.ok(list.includes("Its file can&#39;t be removed now"));
});

Deno.test("an evaluation runs with a chosen key, shows what came out, and is cancelled", async () => {
  const owner = await world().owner();
  await call(world(), { user: "evaluated", text: "Say hello" });
  const form = "/dashboard/evals/new";
  const key = await world().createKey();
  const narrow = await world().createKey("--scope", "status");
  const wanted = {
    ...{ name: "<b>greets</b>", model: "vendor-b/gpt-6-luna", key: key.id, limit: "5" },
    ...{ sample: "newest", filter_user_id: "evaluated" },
    ...{ grader0_type: "regex", grader0_text: ".", grader1_type: "contains", grader1_text: "zzz" },
  };
  const wrong: [Record<string, string>, RegExp][] = [
    [{ ...wanted, model: "vendor-b/none" }, /id="model-error"/],
    [{ ...wanted, grader0_text: "(" }, /id="grader0_text-error"/],
    [{ ...wanted, grader1_type: "json_schema", grader1_text: "{" }, /id="grader1_text-error"/],
    [{ ...wanted, grader1_type: "judge", grader1_model: "x" }, /id="grader1_model-error"/],
    // Whoever left a grader out sees what is wrong with the next one.
    [
      { ...wanted, grader1_type: "", grader2_type: "regex", grader2_text: "(" },
      /id="grader0_type"[^]*more" open>[^]*more" open>[^]*id="grader2_text-error"/,
    ],
    [{ ...wanted, limit: "0" }, /id="limit-error"/],
    [{ ...wanted, key: narrow.id }, /id="key-error"/],
    [{ ...wanted, key: "none" }, /id="key-error"/],
  ];
  for (const [fields, message] of wrong) {
    const refused = await owner.submit(form, form, fields);
    assert.equal(refused.status, 400, JSON.stringify(fields));
    assert.match(refused.text, message);
  }
  const made = await owner.submit(form, form, wanted);
  assert.equal(made.status, 303, made.text);
  const done = await until(owner, made.location!, /badge-good">Done/);
  assert.match(done.text, /&lt;b&gt;greets/);
  assert.match(done.text, /contains “zzz”/);
  assert.match(done.text, /1 of 1/);
  assert.match(
    done.text,
    /<dd><span>user_id \(value not stored\)<\/span>/,
    "one text, not a row of items",
  );
  assert.match((await owner.get("/dashboard/evals")).text, /&lt;b&gt;greets/);
  assert.equal((await owner.submit(made.location!, `${made.location}/cancel`)).status, 303);
  assert.match((await owner.get(made.location!)).text, /Done/, "what has ended stays as it is");
  assert.match(await auditText(world()), /eval\.created/);
  const none = await owner.submit(form, form, { ...wanted, filter_user_id: "nobody" });
  assert.match((await owner.get(none.location!)).text, /No stored call matched\./);
  const erased = await world().post("/api/v1/data", { user_id: "evaluated", reason: "test" });
  assert.equal(erased.status, 200, await erased.text());
  await until(owner, made.location!, /The results were erased\./);
});

Deno.test("cohorts show what they cost and brought, alone and side by side", async () => {
  const owner = await world().owner();
  const name = `a/b <script>alert(1)</script> "c"`;
  await call(world(), { cohort: name });
  await call(world(), { cohort: name });
  await call(world(), { cohort: "other" });
  const posted = await world().post("/api/v1/cohort/outcome", {
    cohort_id: name,
    conversions: [
      { type: "<i>orders</i>", value: 1.5 },
      { type: "revenue", value: 12 },
    ],
  });
  assert.equal(posted.status, 200);
  await posted.body?.cancel();
  const list = await owner.get("/dashboard/cohorts");
  assert.match(list.text, /a\/b &lt;script&gt;alert/);
  assert.match(list.text, /\$12\.00/);
  const query = new URLSearchParams({ id: name });
  const path = `/dashboard/cohorts/show?${query}`;
  assert.ok(list.text.includes(path.replaceAll("&", "&amp;")));
  const one = await owner.get(path);
  assert.match(one.text, /&lt;i&gt;orders/);
  assert.match(one.text, /2 completed/);
  assert.match(one.text, />\d+ in<[^]*?>\d+ out</, "tokens per call");
  const both = await owner.get(`${path}&with=other`);
  for (
    const text of [
      ...["Could be chance|Lower|Higher", "Conversions per call", "Sums"],
      // Names in Arabic or Hebrew don't change places.
      "<h1><bdi>[^<]+</bdi> and <bdi>other</bdi></h1>",
    ]
  ) {
    assert.match(both.text, new RegExp(text));
  }
  assert.match(
    (await owner.get(`${path}&${query.toString().replace("id", "with")}`)).text,
    /a cohort other than/,
  );
  for (const page of [list, one, both]) assert.ok(!page.text.includes("<script>alert"));
  const unknown = (await owner.get("/dashboard/cohorts/show?id=unknown")).text;
  assert.match(unknown, /No calls in this time/);
  assert.doesNotMatch(unknown, /no call has named/, "is said once");
  const warningOf = async (span: string) =>
    /no call has named this cohort [^.]*/
      .exec((await owner.get(`/dashboard/cohorts/show?id=unknown&with=other&span=${span}`)).text)
      ?.[0];
  assert.equal(await warningOf("30"), "no call has named this cohort in this time");
  assert.equal(await warningOf("all"), "no call has named this cohort yet");
  const odd = await owner.get(`${path}&span=365`);
  assert.match(odd.text, /role="alert">“365” is not a range. The last 30 days are shown/);
  assert.doesNotMatch((await owner.get(`${path}&span=`)).text, /role="alert"/);
  const file = await owner.get("/dashboard/cohorts/show/csv?id=other&span=365&table=outcomes");
  assert.equal(file.location, "/dashboard/cohorts/show?id=other&span=365&table=outcomes");
  const wrong = `id=other&table=outcomes&with=${"x".repeat(300)}`;
  const alone = await owner.get(`/dashboard/cohorts/show?${wrong}`);
  assert.match(alone.text, /id="with-error"[^>]*>Expected a name of at most 256 characters/);
  assert.ok(alone.text.includes(`value="${"x".repeat(300)}"`), "what was typed is still there");
  const ofOne = await owner.get(`/dashboard/cohorts/show/csv?${wrong}`);
  assert.equal(ofOne.location, `/dashboard/cohorts/show?${wrong}`, "a file of one cohort");
  const none = await owner.get("/dashboard/cohorts/show");
  assert.deepEqual([none.status, none.location], [303, "/dashboard/cohorts"]);
  for (const wrong of ["?id=", `?id=${"x".repeat(300)}`, "?id=%00"]) {
    assert.equal((await owner.get(`/dashboard/cohorts/show${wrong}`)).status, 404, wrong);
  }
});

Deno.test("a cohort of two models has both, with what they differ by", async () => {
  const owner = await world().owner();
  const path = "/dashboard/cohorts/show?id=experiment";
  for (let n = 0; n < 3; n++) {
    await call(world(), { cohort: "experiment", session: `d-${n}`, model: "vendor-b/gpt-4.1" });
  }
  const alone = await owner.get(path);
  assert.match(alone.text, /All of these calls went to openai\/gpt-4\.1\. Name a virtual model/);
  for (let n = 3; n < 5; n++) {
    await call(world(), {
      ...{ cohort: "experiment", session: `d-${n}`, text: "[long:300]" },
      model: "vendor-c/claude-sonnet-4-6",
    });
  }
  const posted = await world().post("/api/v1/cohort/outcome", {
    cohort_id: "experiment",
    conversions: [
      { type: "orders", value: 1, session_id: "d-0" },
      { type: "orders", value: 1, session_id: "d-3" },
      { type: "orders", value: 1, session_id: "nobody" },
    ],
  });
  await posted.body?.cancel();
  const { text } = await owner.get(path);
  const table = /<div class="table" role="region" aria-label="Models"[^]*?<\/table>/.exec(text)
    ?.[0];
  const rows = (table ?? "").split("<tr>").slice(2);
  assert.equal(rows.length, 2);
  assert.match(rows[0]!, /<th scope="row"[^>]*>openai\/gpt-4\.1</);
  assert.match(rows[1]!, /<th scope="row"[^>]*>anthropic\/claude-sonnet-4-6</);
  // Five intervals a row, each on the scale of its column; cost per conversion is there too.
  for (const row of rows) assert.equal(row.match(/<svg class="plot"/g)?.length, 5);
  assert.match(rows[0]!, /0\.333/);
  assert.match(rows[1]!, /0\.5/);
  assert.match(rows[1]!, /0 points/, "a difference of two shares");
  assert.match(rows[1]!, /Higher/, "the longer answers of the dearer model cost more");
  assert.ok(
    !/Could be chance|Higher|Lower/.test(rows[0]!),
    "the first is what others are compared with",
  );
  assert.match(text, /1 outcome of the cohort counts for no model/);
  assert.match(text, /<bdi>anthropic\/claude-sonnet-4-6<\/bdi>: 2 interactions, fewer than 30/);
  const file = (await owner.get(path.replace("?", "/csv?table=models&"))).text;
  assert.match(file, /^vendor-c\/claude-sonnet-4-6,2,0\.\d{9},.*small_sample: 2 interactions/m);
  const beside = await owner.get(`${path}&with=other`);
  assert.ok(!beside.text.includes('aria-label="Models"'));
  const revenue = /<td class="name">Revenue per dollar<[^]*?<\/tr>/.exec(beside.text)?.[0];
  assert.match(revenue!, /data-label="Verdict"><span class="muted">–</, "nothing to compare");
  const both = (await owner.get(`${path.replace("?", "/csv?table=comparison&")}&with=other`)).text;
  for (const figure of ["cost_per_interaction_usd", "cost_usd"]) {
    assert.match(both, new RegExp(`^${figure},experiment,0\\.\\d{9},`, "m"));
  }
  const [line] = readCsv(both);
  assert.match(line!.warnings!, /^small_sample: 5 interactions, fewer than 30/);
  assert.match(line!.compared_warnings!, /no_outcomes: no outcome was posted/);
});

Deno.test("limits, credit and caps are there to read, and what is kept how long", async () => {
  await using other = await startDashboard({
    vendors: true,
    env: { RETENTION_PAYLOAD_DAYS: "30", RETENTION_USAGE_DAYS: "7" },
  });
  const owner = await other.owner();
  await other.createKey("--cap-day-usd", "2.50", "--name", "capped");
  await call(other, {});
  const limits = (await owner.get("/dashboard/settings/limits")).text;
  for (
    const text of ["Enterprise", "1,000,000", "$10.00", "starting credit", "$0.00 of $2.50 a day"]
  ) {
    assert.ok(limits.includes(text), text);
  }
  assert.match(limits, /DATA_DIR=\S+ deno task admin credits grant/);
  await other.admin("account", "create", "--name", "theirs");
  for (const [account, role] of [["1", "viewer"], ["1", "member"], ["theirs", "owner"]]) {
    const { json } = await other.admin("invite", "--account", account!, "--role", role!);
    const token = new URL((json as { link: string }).link).searchParams.get("token");
    other.provider.become(`${role}-${account}`, `${role}@${account}.example`);
    const person = other.browser();
    await signIn(person, `invitation=${token}`);
    const seen = (await person.get("/dashboard/settings/limits")).text;
    assert.match(seen, /granted by the operator\. A correction/, `${role} of ${account}`);
    assert.doesNotMatch(seen, /DATA_DIR|deno task/);
  }
  assert.match((await owner.get("/dashboard/keys")).text, /of \$2\.50 a day/);
  const retention = (await owner.get("/dashboard/settings/retention")).text;
  assert.equal(retention.match(/7 days/g)?.length, 2, "no payload outlives its row");
  assert.match(retention, /RETENTION_USAGE_DAYS/);
  assert.match(retention, /Payloads, all accounts/);
});

Deno.test("what a form refuses is said in the words of its page", async () => {
  const owner = await world().owner();
  const evaluation = { model: "openai/gpt-4.1", grader0_type: "contains" };
  const refused: [path: string, fields: Record<string, string>, message: RegExp][] = [
    [
      "exports",
      { from: "31 Feb 2026", to: "1 Mar 2026", tables: "interactions", format: "json" },
      day,
    ],
    ["evals", { ...evaluation, start_date: "soon", limit: "9" }, day],
    ["deletion", { start_date: "13/1/2026", tables: "interactions", reason: "x" }, day],
    ["exports", { from: "1 Feb 2026", to: "1 Mar 2026", format: "json" }, /Choose at least one\./],
    ["deletion", { tables: "interactions", reason: "x" }, /Fill in at least one of User, Sessions/],
    ["deletion", { user_id: "ann", reason: "x" }, /^Choose at least one\.$/],
    ["deletion", { tables: "interactions", user_id: "ann" }, /^Expected at least 1 character\.$/],
    [
      "evals",
      { ...evaluation, limit: "abc" },
      /^Expected a whole number from 1 to 10,000/,
    ],
    ["keys", { name: "x", access: "some" }, /^Choose at least one, or everything\.$/],
  ];
  for (const [section, fields, message] of refused) {
    const path = `/dashboard/${section}/new`;
    const { status, text } = await owner.submit(path, path, fields);
    assert.equal(status, 400, path);
    const errors = [...text.matchAll(/class="error"[^>]*>([^<]*)</g)].map(([, error]) => error);
    assert.match(errors.join("\n"), message, path);
    assert.doesNotMatch(errors.join("\n"), /RFC|[a-z]_[a-z]|item/, path);
    // The script moves the focus there, and screen readers read the message with the control.
    const [, control = ""] = /(<[^>]*aria-invalid="true"[^>]*>)/.exec(text) ?? [];
    const [, id] = /aria-describedby="([^" ]+)/.exec(control) ?? [];
    assert.match(text, new RegExp(`class="error" id="${id}"[^>]*>[^<]+<`), `${path} ${control}`);
  }
});

const day = /Expected a day such as 21 Nov 2026\./;
