/** The overview's figures, from the call to the page. */
import assert from "@std/assert";
import { nanosToUsd, parseUsd } from "../../src/base/money.ts";
import { shared } from "../support/service.ts";
import { startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));
const page = "/dashboard/overview";

async function call(text: string, model = "vendor-b/gpt-4.1", key = world().key): Promise<number> {
  const answer = await world().post("/chat/v1/chat/completions", {
    model,
    messages: [{ role: "user", content: text }],
  }, { authorization: `Bearer ${key}` });
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("the dashboard opens with the overview, which shows the next step while there are no calls", async () => {
  const owner = await world().owner();
  assert.equal((await owner.get("/dashboard")).location, page);
  const { status, text } = await owner.get(page);
  assert.equal(status, 200);
  assert.match(text, /No calls in this time/);
  assert.match(text, /\$10\.00/);
  assert.match(text, /aria-current="page"[^>]*>(<svg.*?<\/svg>)?Overview/);
});

Deno.test("a call that was answered is on the next page, at the cost that its record says", async () => {
  const owner = await world().owner();
  assert.equal(await call("/// APP shop\nHello"), 200);
  assert.equal(await call("/// APP shop\nHello again"), 200);
  assert.equal(await call("Hello", "vendor-c/claude-haiku-4-5"), 200);
  const rows = await world().rows();
  const spent = rows.reduce((sum, row) => sum + parseUsd(String(row.cost_usd), 9), 0n);
  assert.ok(rows.length === 3 && spent > 0n);
  const start = new Date(Date.now() - 200 * 86_400_000).toISOString().slice(0, 10);
  for (const query of ["range=24h", "range=7d", "range=30d", "range=90d", `from=${start}`]) {
    const { text } = await owner.get(`${page}?${query}`);
    assert.match(text, /<span class="muted">Requests<\/span><span class="headline">3</, query);
    assert.ok(text.includes(`title="${nanosToUsd(spent)} USD"`), query);
    assert.match(text, /anthropic\/claude-haiku-4-5/);
    assert.equal(text.includes("Week from"), query.startsWith("from"));
    // The step with the calls says the same as the whole.
    assert.ok(text.match(/<td>3<\/td>/g)?.length === 1, query);
  }
  const byApp = (await owner.get(`${page}?by=app`)).text;
  assert.match(byApp, /href="\/dashboard\/interactions\?[^"]*app=shop"[^>]*>shop</);
  assert.match(byApp, /No app tag/);
  const byKey = (await owner.get(`${page}?by=key`)).text;
  assert.match(byKey, /href="\/dashboard\/interactions\?[^"]*key=[^"]+"/);
  const balance = 10_000_000_000n - spent;
  assert.ok((await owner.get(page)).text.includes(`title="${nanosToUsd(balance)} USD"`));
  // What the balance loses in a day doesn't depend on the time that is shown.
  for (const range of ["24h", "7d", "30d", "month", "last-month"]) {
    const { text } = await owner.get(`${page}?range=${range}`);
    assert.match(text, /Lasts (about|more)[^<]* a day, as in the last 7 days/, range);
  }
});

Deno.test("one of a thing is singular", async () => {
  const owner = await world().owner();
  // With the calls without a flow these are eleven values, of which ten are shown.
  assert.equal(await call("Hello"), 200);
  for (let n = 0; n < 10; n++) assert.equal(await call(`/// FLOW flow-${n}\nHello`), 200);
  const { text } = await owner.get(`${page}?by=flow`);
  assert.match(text, /\b1 more flow</);
});

Deno.test("names out of prompts are text", async () => {
  const owner = await world().owner();
  const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(1)>`;
  assert.equal(await call(`/// APP ${hostile}\nHello`), 200);
  const { text } = await owner.get(`${page}?by=app`);
  assert.ok(!text.includes("<script>alert") && !text.includes("<img"));
  assert.ok(text.includes("&lt;script&gt;alert(1)&lt;/script&gt;"));
});

Deno.test("an invalid range is reported, and the default one is shown", async () => {
  const owner = await world().owner();
  const queries = [
    "from=2026-02-31&to=2026-03-01",
    "from=%00&to=%22%3E%3Cscript%3E",
    "to=x",
  ];
  for (const query of queries) {
    const { status, text } = await owner.get(`${page}?${query}`);
    assert.equal(status, 200, query);
    assert.match(text, /role="alert">[^<]*dates/, query);
    assert.ok(!text.includes("><script>"), query);
    for (const file of ["csv", "csv/steps"]) {
      const { status, location } = await owner.get(`${page}/${file}?${query}`);
      assert.equal(status, 303, "a file would be of other days than those asked for");
      assert.match(location ?? "", /^\/dashboard\/overview\?/);
    }
  }
  const typed = await owner.get(`${page}?from=20+Nov+2026&to=31+Feb+2026`);
  assert.match(typed.text, /name="from"[^>]* value="20 Nov 2026"/);
  assert.match(typed.text, /name="to"[^>]* value="31 Feb 2026"/);
  const ancient = await owner.get(`${page}?from=0001-01-01&to=0001-01-02`);
  assert.match(ancient.text, /role="alert">[^<]*before 1970/);
  const odd = await owner.get(`${page}?range=__proto__&by=constructor`);
  assert.equal(odd.status, 200);
  assert.match(odd.text, /role="alert">“__proto__” is not a range. The last 30 days are shown/);
  assert.match(odd.text, /role="alert">“constructor” is not a breakdown. Models are shown/);
  for (const query of ["range=1y&by=key", "range=7d&by=team"]) {
    assert.equal((await owner.get(`${page}/csv?${query}`)).location, `${page}?${query}`);
  }
  assert.doesNotMatch((await owner.get(`${page}?range=&by=`)).text, /role="alert"/);
});

Deno.test("another account's calls, keys and balance are in no figure", async () => {
  const owner = await world().owner();
  await world().admin("account", "create", "--name", "theirs");
  await world().admin("credits", "grant", "--usd", "77", "--account", "theirs");
  const theirs = await world().createKey("--account", "theirs", "--cap-day-usd", "5");
  const before = (await owner.get(page)).text;
  assert.equal(await call("/// APP theirs alone\nHello", "vendor-b/gpt-4.1", theirs.key), 200);
  for (const by of ["model", "key", "app"]) {
    const { text } = await owner.get(`${page}?by=${by}`);
    assert.ok(!text.includes("theirs alone") && !text.includes(theirs.id), by);
  }
  const figures = (text: string) =>
    [...text.matchAll(/class="headline"[^>]*>([^<]+)</g)].map(([, one]) => one);
  assert.deepEqual(figures((await owner.get(page)).text), figures(before));
});

Deno.test("a key's cap is shown with what is spent of it", async () => {
  const owner = await world().owner();
  const made = await world().createKey("--cap-day-usd", "0.0001");
  for (let n = 0; n < 3; n++) await call("Hello", "vendor-b/gpt-4.1", made.key);
  const { text } = await owner.get(page);
  assert.match(text, /of \$0\.0001 a day/);
  assert.ok(text.includes(`<a href="/dashboard/keys/${made.id}" class="cap-name"`));
});

/** The lines of a breakdown's download: value → charged nano-dollars. */
async function chargesBy(by: string): Promise<Map<string, bigint>> {
  const owner = await world().owner();
  const { text } = await owner.get(`${page}/csv?range=30d&by=${by}`);
  const [head = "", ...lines] = text.trimEnd().split("\r\n");
  assert.match(head, new RegExp(`^${by},(name,)?requests,.*,cost_usd,charged_usd(,line)?$`));
  const at = head.split(",").indexOf("charged_usd");
  return new Map(lines.map((line) => {
    const cells = line.split(",");
    return [cells[at + 1] === "erased" ? "erased" : cells[0]!, parseUsd(cells[at]!, 9)];
  }));
}

// Of 30 days, since a month may end amid the test.
Deno.test("who spent how much is a file that equals the ledger, after an erasure too", async () => {
  const owner = await world().owner();
  for (const user of ["=ann", "ben", "ben", "(erased)"]) {
    const answer = await world().post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: "/// APP desk\n/// FLOW triage\nHello" }],
      user,
    });
    await answer.body?.cancel();
  }
  const sumOf = (lines: Map<string, bigint>) => [...lines.values()].reduce((a, b) => a + b, 0n);
  const balance = async () => {
    const { text } = await owner.get("/dashboard/settings/limits");
    return parseUsd(/Balance<\/h3><p class="tile-value" title="([\d.]+) USD"/.exec(text)![1]!, 9);
  };
  // The file waits until the calls are recorded and charged, the balance's page doesn't.
  const before = await chargesBy("user");
  const charged = 10_000_000_000n - await balance();
  assert.equal(sumOf(before), charged);
  assert.equal(before.get("ben"), 2n * before.get("'=ann")!);
  for (const by of ["app", "flow", "cohort", "model", "vendor"]) {
    assert.equal(sumOf(await chargesBy(by)), charged, by);
  }
  const shown = (await owner.get(`${page}?range=30d&by=user`)).text;
  assert.match(shown, />ben<\/a>/);
  assert.ok(!shown.includes("Erased calls"));
  const erased = await world().fetch("/api/v1/data", {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": crypto.randomUUID() },
    body: JSON.stringify({ user_id: "ben", reason: "asked for" }),
  });
  assert.ok(erased.ok, await erased.text());
  const until = Date.now() + 60_000;
  let after = before;
  while (Date.now() < until && after.has("ben")) after = await chargesBy("user");
  assert.equal(after.get("erased"), before.get("ben"));
  assert.equal(after.get("(erased)"), before.get("(erased)"), "a user of this name");
  assert.equal(sumOf(after), charged);
  assert.equal(sumOf(await chargesBy("app")), charged);
  const tokens = await tokensBy("model");
  assert.ok(tokens > 0);
  for (const by of ["user", "app"]) assert.equal(await tokensBy(by), tokens, `${by}: tokens`);
  const left = (await owner.get(`${page}?range=30d&by=user`)).text;
  assert.match(left, /Erased calls/);
  assert.ok(!left.includes(">ben<"));
});

/** The input tokens of all lines of a breakdown's download. */
async function tokensBy(by: string): Promise<number> {
  const owner = await world().owner();
  const { text } = await owner.get(`${page}/csv?range=30d&by=${by}`);
  const [head = "", ...lines] = text.trimEnd().split("\r\n");
  const at = head.split(",").indexOf("input_tokens");
  return lines.reduce((sum, line) => sum + Number(line.split(",")[at]), 0);
}
