import assert from "@std/assert";
import { csrfIn } from "../support/browser_client.ts";
import { readCsv } from "../support/csv.ts";
import { shared } from "../support/service.ts";
import { startDashboard } from "./world.ts";

const budgets = "/dashboard/settings/budgets";
const webhooks = "/dashboard/settings/webhooks";

const world = shared(() => startDashboard({ vendors: true }));

const list = async (what: string) =>
  (await world().admin(what, "list")).json as Record<string, unknown>[];

const idOf = async (what: string) => String((await list(what))[0]!.id);

Deno.test("a refused form names all invalid fields at once", async () => {
  const owner = await world().owner();
  const budget = { kind: "app", name: "", usd: "x", per: "day" };
  const webhook = { url: "x", events: "y", credit_low_usd: "z" };
  const forms: [string, Record<string, string>, string[]][] = [
    ["/dashboard/settings/budgets/new", budget, ["name", "usd"]],
    ["/dashboard/settings/webhooks/new", webhook, ["url", "events", "credit_low_usd"]],
    ["/dashboard/settings/models/new", { name: "a b", targets: "none" }, ["name", "targets"]],
    ["/dashboard/exports/new", { format: "xml", from: "x", to: "y" }, ["format", "from", "to"]],
    ["/dashboard/evals/new", { model: "", limit: "0" }, ["model", "limit"]],
    ["/dashboard/deletion/new", { start_date: "x", end_date: "y" }, ["start_date", "end_date"]],
  ];
  for (const [path, fields, invalid] of forms) {
    const { status, text } = await owner.submit(path, path, fields);
    assert.equal(status, 400, path);
    for (const name of invalid) assert.ok(text.includes(`id="${name}-error"`), `${path}: ${name}`);
  }
});

Deno.test("an owner sets a budget, calls are refused by it at once, and removes it", async () => {
  const owner = await world().owner();
  assert.match((await owner.get(budgets)).text, /No budgets yet/);
  const wrong = await owner.submit(`${budgets}/new`, `${budgets}/new`, {
    ...{ kind: "app", name: "", per: "day", usd: "1" },
  });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /Enter the app&#39;s or the end user&#39;s name/);
  const ofAll = { kind: "account", name: "shop", per: "day", usd: "0" };
  const named = await owner.submit(`${budgets}/new`, `${budgets}/new`, ofAll);
  assert.equal(named.status, 400, "a name beside 'all calls' must not limit all calls");
  assert.match(
    named.text,
    /Choose .Calls of an app. or .Calls of an end user., or leave this empty/,
  );
  assert.deepEqual(await list("budget"), []);
  const form = { kind: "user", name: " <b>ann", per: "day" };
  const amount = await owner.submit(`${budgets}/new`, `${budgets}/new`, { ...form, usd: "x" });
  assert.match(amount.text, /Expected an amount in US dollars/);
  const made = await owner.submit(`${budgets}/new`, `${budgets}/new`, { ...form, usd: "0" });
  assert.equal(made.location, budgets);
  const { text: listed } = await owner.get(budgets);
  assert.match(listed, /<code>user: &lt;b&gt;ann<\/code>/);
  assert.match(listed, /are refused beyond \$0\S* a day\./);
  const call = async () => {
    const answer = await world().post("/chat/v1/chat/completions", {
      ...{ model: "gpt-4.1", user: " <b>ann", messages: [{ role: "user", content: "rivers" }] },
    });
    const text = await answer.text();
    return [answer.status, /budget on user: <b>ann per day/.test(text)];
  };
  assert.deepEqual(await call(), [402, true]);
  const reached = /class="badge badge-bad">Reached<\/span> \$0\.00</;
  assert.match(listed, reached, "a budget that refuses all calls says so");
  const id = await idOf("budget");
  for (const none of ["other", "", "%00", "x".repeat(4000)]) {
    assert.equal((await owner.get(`${budgets}/remove?id=${none}`)).status, 404, none);
  }
  const remove = `${budgets}/remove?id=${id}`;
  assert.equal((await owner.submit(remove, remove, {})).location, budgets);
  assert.deepEqual(await list("budget"), []);
  assert.equal((await call())[0], 200);
  const { text } = await owner.get("/dashboard/settings/audit");
  assert.ok(!text.includes("ann"), "the log names no end user");
  for (const act of ["budget.set", "budget.removed"]) assert.ok(text.includes(act), act);
  // The log's own texts are exact; the page has amounts as all pages have them.
  assert.match(text, /user per day: \$0\.00</);
  assert.match((await owner.get("/dashboard/settings/audit/csv")).text, /per day: 0\.0{9} USD/);
});

Deno.test("until when a limit is raised reads as other times do", async () => {
  const raised = ["--usd", "5", "--raise-until", "2999-01-01T00:00:00Z", "--usd", "9"];
  await world().admin("budget", "set", "--on", "app:shop", "--per", "day", ...raised);
  const owner = await world().owner();
  const { text } = await owner.get(budgets);
  assert.match(text, /\$9\.00<span class="muted"> until 1 Jan 2999, 00:00 UTC</);
  assert.ok(!text.includes("Reached"), "nothing is spent of it");
  // A limit that is set again is no longer raised, which the form says before.
  const form = { kind: "app", name: "shop", per: "day", usd: "7" };
  assert.match((await owner.get(`${budgets}/new`)).text, /if its limit is raised for a time/);
  await owner.submit(`${budgets}/new`, `${budgets}/new`, form);
  assert.match((await owner.get(budgets)).text, /\$7\.00<\/td>/);
  await world().admin("budget", "remove", await idOf("budget"));
});

Deno.test("an owner adds a webhook, whose secret is shown once, tests and removes it", async () => {
  const owner = await world().owner();
  const form = {
    url: "http://10.0.0.1/",
    events: "export.ready\r\nbudget.reached",
    credit_low_usd: "",
  };
  const wrong = await owner.submit(`${webhooks}/new`, `${webhooks}/new`, form);
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /Expected a public https URL[^<]*, or a host that the operator allows/);
  const unknown = await owner.submit(`${webhooks}/new`, `${webhooks}/new`, {
    ...{ ...form, url: "https://hooks.invalid/x", events: "all" },
  });
  assert.match(unknown.text, /is not an event type; expected one of/);
  const added = await owner.submit(`${webhooks}/new`, `${webhooks}/new`, {
    ...{ ...form, url: "https://hooks.invalid/x", credit_low_usd: "2.5" },
  });
  assert.equal(added.location, webhooks, "a reload of the next page must not add another webhook");
  const [secret] = /whsec_[A-Za-z0-9+/]{43}=/.exec((await owner.get(webhooks)).text)!;
  const { text } = await owner.get(webhooks);
  // A failure is over if an event was sent since.
  for (const time of ["Last sent", "Last failure"]) {
    assert.ok(text.includes(`<td data-label="${time}"><span class="muted">Never</span>`), time);
  }
  assert.match(text, /<code>https:\/\/hooks\.invalid\/x<\/code>/);
  assert.ok(!text.includes(secret));
  const [hook] = await list("webhook");
  assert.deepEqual([hook!.events, hook!.credit_low_usd], [
    ["export.ready", "budget.reached"],
    "2.500000000",
  ]);
  const id = await idOf("webhook");
  assert.equal((await owner.submit(webhooks, `${webhooks}/test?id=${id}`)).location, webhooks);
  const failed = /data-label="Last failure"><div><time [^>]*>just now<\/time><div>/;
  let shown = "";
  for (let look = 0; look < 1_200 && !failed.test(shown); look++) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    shown = (await owner.get(webhooks)).text;
  }
  assert.match(shown, failed);
  const [line] = readCsv((await owner.get(`${webhooks}/csv`)).text);
  const [tested] = await list("webhook");
  for (const name of ["url", "last_failed_at", "last_error"]) {
    assert.equal(line![name], tested![name], "the file's columns are named as the API's fields");
  }
  assert.equal((await owner.get(`${webhooks}/remove?id=%00`)).status, 404);
  const remove = `${webhooks}/remove?id=${id}`;
  assert.equal((await owner.submit(remove, remove, {})).location, webhooks);
  assert.deepEqual(await list("webhook"), []);
});

Deno.test("another account's budgets and webhooks are nothing here", async () => {
  const owner = await world().owner();
  await world().admin("account", "create", "--name", "theirs");
  const account = ["--account", "theirs"];
  const set = ["set", ...account, "--on", "app:of-theirs", "--per", "day", "--usd", "1"];
  assert.equal((await world().admin("budget", ...set)).exitCode, 0);
  const url = ["--url", "https://hooks.invalid/of-theirs"];
  assert.equal((await world().admin("webhook", "add", ...account, ...url)).exitCode, 0);
  const csrf = csrfIn((await owner.get("/dashboard/keys")).text);
  for (const [what, address] of [["budget", budgets], ["webhook", webhooks]] as const) {
    const theirs = async () =>
      (await list(what)).filter((one) => JSON.stringify(one).includes("of-theirs"));
    const [one] = await theirs();
    const id = String(one!.id);
    for (const page of [address, `${address}/csv`]) {
      const { status, text } = await owner.get(page);
      assert.deepEqual([status, /of-theirs/.test(text), text.includes(id)], [200, false, false]);
    }
    assert.equal((await owner.get(`${address}/remove?id=${id}`)).status, 404);
    for (const act of [`remove?id=${id}`, ...(what === "webhook" ? [`test?id=${id}`] : [])]) {
      assert.equal((await owner.post(`${address}/${act}`, { csrf, id })).status, 404, act);
    }
    assert.equal((await theirs()).length, 1);
    await world().admin(what, "remove", id);
  }
});

Deno.test("the largest amount is the same on the command line, by API and at the dashboard", async () => {
  const owner = await world().owner();
  const made = await world().admin("key", "create", "--name", "amounts", "--scope", "admin");
  const { key } = made.json as { key: string };
  const doors: Record<string, (usd: string) => Promise<[boolean, string]>> = {
    "command line": async (usd) => {
      const set = ["budget", "set", "--on", "app:edge", "--per", "day", "--usd", usd];
      const { exitCode, lines } = await world().admin(...set);
      return [exitCode === 0, lines.join("\n")];
    },
    API: async (usd) => {
      const answer = await world().post("/api/v1/admin/budgets", {
        on: "app:edge",
        per: "day",
        usd,
      }, {
        authorization: `Bearer ${key}`,
      });
      return [answer.status === 200, await answer.text()];
    },
    dashboard: async (usd) => {
      const form = { kind: "app", name: "edge", per: "day", usd };
      const { status, text } = await owner.submit(`${budgets}/new`, `${budgets}/new`, form);
      return [status === 303, text];
    },
  };
  for (const [door, set] of Object.entries(doors)) {
    assert.equal((await set("1000000000"))[0], true, door);
    for (const usd of ["1000000000.000000001", "10000000000"]) {
      const [isSet, text] = await set(usd);
      assert.equal(isSet, false, `${door} ${usd}`);
      assert.match(text, /xpected an amount in US dollars .*, at most \D*1000000000/, door);
    }
  }
});

Deno.test("budgets are listed in pages, each once, and their file has all", async () => {
  const owner = await world().owner();
  const made = await world().admin("key", "create", "--name", "budgets", "--scope", "admin");
  const { key } = made.json as { key: string };
  for (let n = 0; n < 51; n++) {
    const body = { on: `user:customer ${n}`, per: "day", usd: "1" };
    const headers = { authorization: `Bearer ${key}` };
    const answer = await world().post("/api/v1/admin/budgets", body, headers);
    assert.equal(answer.status, 200, await answer.text());
  }
  const rows = (text: string) => text.match(/data-label="Spent"/g)?.length;
  const { text: first } = await owner.get(budgets);
  assert.equal(rows(first), 50);
  const [, next] = /href="([^"]*\?after=[^"]*)">More budgets</.exec(first) ?? [];
  const { text: second } = await owner.get(next!);
  assert.ok(!second.includes("More budgets"));
  const search = async (q: string) =>
    (await owner.get(`${budgets}?q=${encodeURIComponent(q)}`)).text;
  const found = await search("USER:Customer 31");
  assert.equal(rows(found), 1, "in any case");
  assert.match(found, /value="USER:Customer 31"[^]*<code>user:customer 31</);
  const { text: foundFile } = await owner.get(/href="([^"]*csv\?q=[^"]*)"/.exec(found)![1]!);
  assert.match(foundFile, /^[^\n]+\n[^\n]*user:customer 31,[^\n]+\n$/);
  assert.match(await search("nobody"), /No budget found[^]*>All budgets</);
  const [, nextFound = ""] = /href="([^"]*)">More budgets</.exec(await search("customer")) ?? [];
  const { text: lastFound } = await owner.get(nextFound.replace("&amp;", "&"));
  assert.equal(rows(lastFound), 1);
  assert.match(lastFound, /value="customer"/, "the next page has the same search");
  const { text: file } = await owner.get(`${budgets}/csv`);
  assert.equal(file.trimEnd().split("\r\n").length - 1, 50 + rows(second)!);
  const named = (text: string) => [...text.matchAll(/<code>(user:customer \d+)</g)];
  const names = new Set([...named(first), ...named(second)].map(([, name]) => name));
  assert.equal(names.size, 51);
});
