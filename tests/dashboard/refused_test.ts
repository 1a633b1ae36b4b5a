/** Why was this refused: from an `X-Request-ID` to code, field and key, in log and dashboard. */
import assert from "@std/assert";
import { errors } from "../../contracts/kernel/errors.ts";
import { shared } from "../support/service.ts";
import { startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));
const list = "/dashboard/interactions/refused";

interface RefusedCall {
  id: string;
  path?: string;
  body: unknown;
  key?: string;
  /** What the log line has beside the id. */
  says: string[];
}

/** Sends it and gives the log line of its id. */
async function refused(
  { id, path = "/chat/v1/chat/completions", body, key }: RefusedCall,
): Promise<string> {
  const answer = await world().post(path, body, {
    "x-request-id": id,
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  });
  assert.ok(answer.status >= 400, `${id} ${answer.status}`);
  await answer.body?.cancel();
  const lines = world().log.filter((line) => line.includes(` id=${id} `));
  const line = lines.find((one) => one.includes(" info request "));
  assert.ok(line, lines.join("\n"));
  return line!;
}

const secretWords = "the prompt of alice";
const messages = [{ role: "user", content: secretWords }];

Deno.test("a refused call says code, field, account, key and model in the log, and on one search", async () => {
  const owner = await world().owner();
  const narrow = await world().createKey("--scope", "images");
  const prefix = narrow.key.slice(0, 8);
  const calls: RefusedCall[] = [
    {
      id: "find-me-field",
      body: { model: "vendor-c/claude-haiku-4-5", messages, n: 3 },
      says: ["status=400", "param=n", "model=vendor-c/claude-haiku-4-5", "account=1", "key=dmt_"],
    },
    {
      id: "find-me-schema",
      body: { model: "vendor-b/gpt-4.1", messages: "none" },
      says: ["param=messages", "model=vendor-b/gpt-4.1"],
    },
    {
      id: "find-me-scope",
      body: { model: "vendor-b/gpt-4.1", messages },
      key: narrow.key,
      says: ["status=403", "code=permission_denied", `key=${prefix}`],
    },
    {
      id: "find-me-model",
      body: { model: "no such model", messages },
      says: ['model="no such model"', "param=model"],
    },
    {
      id: "find-me-path",
      path: "/chat/v1/chat/completion",
      body: {},
      says: ["code=endpoint_not_found", "account=1"],
    },
    {
      id: "find-me-generate",
      path: "/vendor-d/v1beta/models/gemini-2.5-flash:generateContent",
      body: { contents: 5 },
      says: ["param=contents", "model=gemini-2.5-flash"],
    },
  ];
  for (const call of calls) {
    const line = await refused(call);
    for (const text of call.says) assert.ok(line.includes(text), `${text} in ${line}`);
    assert.match(line, / code=\w+/);
    assert.ok(!line.includes(secretWords));
    const { text } = await owner.get(`${list}?request=${call.id}`);
    const code = / code=(\w+)/.exec(line)![1]!;
    assert.ok(text.includes(`<code>${code}</code>`), `${call.id}: ${code}`);
    assert.ok(text.includes(`<code>${call.id}</code>`));
    const meaning = errors[code as keyof typeof errors].message.replaceAll("'", "&#39;");
    assert.ok(text.includes(`<code>${code}</code> ${meaning}</p>`), meaning);
    const param = / param=(\S+)/.exec(line)?.[1];
    if (param !== undefined) assert.ok(text.includes(`<code>${param}</code>`), param);
    assert.ok(!text.includes(secretWords));
  }
  assert.ok((await owner.get(`${list}?request=find-me-scope`)).text.includes(">of a test</td>"));
  const { text } = await owner.get(list);
  // The page shows seven days unless others are chosen, so its lead names no other span.
  assert.match(text, /class="lead">[^<]*vendor was called\. Kept for 30 days\.</);
  assert.match(text, /<strong>6 refused requests<\/strong>/);
  assert.ok(text.includes("vendor-c/claude-haiku-4-5"));
  const byCode = (await owner.get(`${list}?code=permission_denied`)).text;
  assert.match(byCode, /<strong>1 refused request<\/strong>/);
  assert.ok(byCode.includes("find-me-scope") && !byCode.includes("find-me-field"));
  const byKey = (await owner.get(`${list}?key=${narrow.id}`)).text;
  assert.ok(byKey.includes("find-me-scope") && !byKey.includes("find-me-model"));
  const none = (await owner.get(`${list}?request=nobody-sent-it`)).text;
  assert.match(none, /No refused request has this id/);
});

Deno.test("refused calls are in the error rate, requests about data are not, and no other account sees them", async () => {
  const owner = await world().owner();
  const read = async () => {
    const { text } = await owner.get("/dashboard/overview?range=24h");
    return /Error rate<\/span><span class="headline">([^<]+)</.exec(text)?.[1];
  };
  await refused({ id: "ours", body: { model: "nothing", messages }, says: [] });
  const answer = await world().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages,
  });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
  const day = (await owner.get("/dashboard/overview?range=24h")).text;
  const [, refusedBefore = ""] = /(\d+) refused/.exec(day)!;
  // The figure leads to requests of the same time, or as far back as they are listed.
  assert.ok(day.includes(`href="${list}?range=24h"`));
  const quarter = (await owner.get("/dashboard/overview?range=90d")).text;
  assert.ok(quarter.includes(`href="${list}?range=30d"`));
  const expected = 100 * Number(refusedBefore) / (Number(refusedBefore) + 1);
  assert.equal(await read(), `${expected.toFixed(0)} %`);
  const data = await world().post("/api/v1/exports", { format: "nothing" }, {
    "x-request-id": "data-one",
  });
  assert.equal(data.status, 400);
  await data.body?.cancel();
  assert.ok((await owner.get(`${list}?request=data-one`)).text.includes("<code>data-one</code>"));
  assert.equal(await read(), `${expected.toFixed(0)} %`);
  await world().admin("account", "create", "--name", "theirs");
  const theirs = await world().createKey("--account", "theirs");
  await refused({
    id: "theirs-alone",
    body: { model: "nothing", messages },
    key: theirs.key,
    says: [],
  });
  const { text } = await owner.get(`${list}?request=theirs-alone`);
  assert.match(text, /No refused request has this id/);
});

Deno.test("what stands in a refused request is text on the page", async () => {
  const owner = await world().owner();
  await refused({
    id: "id-bold",
    body: { model: `<script>alert(1)</script>"'`, messages },
    says: [],
  });
  const { text } = await owner.get(list);
  assert.ok(!text.includes("<script>alert") && text.includes("&lt;script&gt;alert(1)"));
  const odd = await owner.get(`${list}?code=%00&model=%00&after=x&range=__proto__`);
  assert.equal(odd.status, 200);
  assert.match(odd.text, /role="alert">“__proto__” is not a range. The last 7 days are shown/);
  // A file of other days would pass for the one that was asked for.
  const file = await owner.get(`${list}/csv?range=1y&code=x`);
  assert.equal(file.location, `${list}?range=1y&code=x`);
  const unknown = await owner.get(`${list}/csv?range=7d&counts=endpoint`);
  assert.equal(unknown.location, `${list}?range=7d&counts=endpoint`, "a list is not a count");
  const page = await owner.get(unknown.location ?? "");
  assert.match(page.text, /role="alert">“endpoint” is not a breakdown/);
  // Requests are counted without their ids.
  const counts = await owner.get(`${list}/csv?counts=code&request=id-bold`);
  assert.equal(counts.location, `${list}?counts=code&request=id-bold`);
});

Deno.test("requests that were refused for a blank in the model's name are found by it", async () => {
  const owner = await world().owner();
  await refused({ id: "id-blank", body: { model: "no-such-model ", messages }, says: [] });
  const { text } = await owner.get(list);
  const [, query = ""] = /href="[^"?]*\?([^"]*model=no-such-model\+)"/.exec(text) ?? [];
  const narrowed = await owner.get(`${list}?${query.replaceAll("&amp;", "&")}`);
  assert.match(narrowed.text, /<strong>1 refused request<\/strong>/);
  assert.match(narrowed.text, /id-blank/);
});

Deno.test("a filtered list says how many calls it is and what they cost", async () => {
  const owner = await world().owner();
  const before = "/dashboard/interactions";
  assert.ok(!(await owner.get(before)).text.includes("list-total"));
  for (const content of ["One", "Two"]) {
    const answer = await world().post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content }],
      user: "of the total",
    });
    await answer.body?.cancel();
  }
  const rows = await world().rows({ user_id: "of the total" });
  const { text } = await owner.get(`${before}?user=of+the+total`);
  const [, calls, cost] = /list-total"><strong>(\d+) calls<\/strong>, <strong>\$([\d.]+)</.exec(
    text,
  )!;
  assert.equal(calls, "2");
  const sum = rows.reduce((all, row) => all + Number(row.cost_usd), 0);
  assert.ok(Math.abs(Number(cost) - sum) < 0.0000005, `${cost} for ${sum}`);
});

Deno.test("a place that no page ended at is the list's beginning", async () => {
  const owner = await world().owner();
  const moment = "2026-11-21T09:00:00.000Z";
  for (
    const path of [
      ...[`${list}?after=${moment}_abc`, `${list}?after=${moment}_${"9".repeat(30)}`],
      ...[list, "/dashboard/evals", "/dashboard/deletion"].map((one) =>
        `${one}?after=0000-01-01T00:00:00.000Z_1`
      ),
    ]
  ) assert.equal((await owner.get(path)).status, 200, path);
});

Deno.test("a call that a budget refused isn't said to have reached its key's cap", async () => {
  const owner = await world().owner();
  await world().admin("budget", "set", "--on", "app:tiny", "--per", "day", "--usd", "0.000001");
  await refused({
    id: "find-me-budget",
    body: { model: "vendor-b/gpt-4.1", messages: [{ role: "user", content: "/// APP tiny\nHi" }] },
    says: [],
  });
  const { text } = await owner.get("/dashboard/interactions?q=find-me-budget");
  assert.match(text, /<code>spend_cap_exceeded<\/code> [^<]*\bbudget\b/);
});
