/** Every table of every page is to be had as a file that says the same. */
import assert from "@std/assert";
import { readCsv } from "../support/csv.ts";
import { shared } from "../support/service.ts";
import { attribute, crawl, type CrawledPage, visit } from "./crawl.ts";
import { type Ids, leaveTraces } from "./traces.ts";
import { type DashboardWorld, signIn, startDashboard } from "./world.ts";

const formula = '=HYPERLINK("http://x.example","a")';

const world = shared(async () => {
  const dashboard = await startDashboard({ vendors: true });
  const key = await dashboard.createKey("--name", formula, "--cap-day-usd", "5");
  const { cohort = "", ...traces } = await leaveTraces(dashboard, key);
  await callCohorts(dashboard, key.key);
  await dashboard.admin("credits", "grant", "--usd", "2", "--note", "@thanks");
  const owner = await dashboard.owner();
  await owner.submit("/dashboard/settings/people", "/dashboard/settings/people/invite", {
    ...{ email: "grace@example.com", role: "viewer" },
  });
  await dashboard.admin("budget", "set", "--on", "app:=shop", "--per", "day", "--usd", "3");
  await owner.submit("/dashboard/settings/webhooks/new", "/dashboard/settings/webhooks/new", {
    url: "https://hooks.example.com/=a",
  });
  await owner.submit("/dashboard/settings/models/new", "/dashboard/settings/models/new", {
    ...{ name: "cheap", targets: "vendor-b/gpt-4.1" },
  });
  await allIsDone(dashboard, key.key, traces);
  const pages = await crawl(owner, "/dashboard");
  for (const query of ["id=one", "id=one&with=two", `id=${encodeURIComponent(cohort)}`]) {
    pages.push(await visit(owner, `/dashboard/cohorts/show?${query}`));
  }
  return { ...dashboard, pages };
});

/** What is under way would change between a page and its file. */
async function allIsDone(service: DashboardWorld, key: string, ids: Ids): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const stateAt = async (path: string) => {
    const { state, data } = await (await service.fetch(`/api/v1/${path}`, { headers })).json();
    return state ?? data[0].state;
  };
  const paths = [`evals/${ids.eval}`, "exports", `data/requests/${ids.deletion}`];
  for (const until = Date.now() + 60_000; paths.length > 0;) {
    const state = await stateAt(paths[0]!);
    if (["done", "ready"].includes(state)) paths.shift();
    else if (Date.now() > until) throw new Error(`${paths[0]} is ${state}`);
    else await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Two cohorts, one of two models, and a request that is refused. */
async function callCohorts(service: DashboardWorld, key: string): Promise<void> {
  const call = async (content: string, model: string, more = {}) => {
    const answer = await service.post("/chat/v1/chat/completions", {
      ...{ model, messages: [{ role: "user", content }], user: "+ann", ...more },
    }, { authorization: `Bearer ${key}` });
    await answer.body?.cancel();
  };
  for (const model of ["vendor-b/gpt-4.1", "vendor-c/claude-haiku-4-5"]) {
    await call("/// COHORT one\n/// APP -shop\nHello", model);
  }
  await call("/// COHORT two\nHello", "vendor-b/gpt-4.1");
  await call("Hello", "vendor-c/claude-haiku-4-5", { n: 3 });
}

type Element = CrawledPage["elements"][number];

function textOf(node: Element): string {
  return node.childNodes.map((child) =>
    "value" in child ? child.value : "tagName" in child ? textOf(child) : ""
  ).join("");
}

function within(element: Element): Element[] {
  return element.childNodes.flatMap((child) => "tagName" in child ? [child, ...within(child)] : []);
}

const hasClass = (element: Element, name: string) =>
  attribute(element, "class")?.split(" ").includes(name) ?? false;

/** Tables that are to be had from the page's own menu of files. */
const ofMenus = /^(Interactions|Usage by .*)$/;

interface ShownTable {
  address: string;
  label: string;
  href: string;
  /** Of each row what a file must have too: moments, names, codes. */
  rows: string[][];
}

function tablesOf({ address, elements }: CrawledPage): ShownTable[] {
  const links = elements.filter((one) =>
    one.tagName === "a" && attribute(one, "download") !== undefined
  );
  return elements.filter((one) => hasClass(one, "table")).map((table) => {
    const label = attribute(table, "aria-label") ?? "";
    const link = links.find((one) => textOf(one) === `Download CSV of ${label}`);
    const rows = within(table).filter(({ tagName }) => tagName === "tr").slice(1);
    return {
      address,
      label,
      href: link ? attribute(link, "href") ?? "" : "",
      rows: rows.map(marksOf),
    };
  });
}

/** Names are shown whole and without a guard; ids and prefixes may be cut, which ends with an ellipsis. */
function marksOf(row: Element): string[] {
  const parts = within(row);
  const times = parts.flatMap((one) => attribute(one, "datetime") ?? []);
  const codes = parts.filter(({ tagName }) => tagName === "code").map(textOf);
  const [name] = parts.filter((one) => hasClass(one, "name"));
  const link = name && within(name).find(({ tagName }) => tagName === "a");
  const names = link ? [textOf(link)] : [];
  return [...times, ...codes, ...names].map((mark) => mark.replaceAll("…", "").trim());
}

Deno.test("each table of each page has a file, with a record for each row that is shown", async () => {
  const owner = await world().owner();
  const tables = world().pages.flatMap((page) => {
    const isPage = page.answer.headers.get("content-type")?.startsWith("text/html");
    return isPage ? tablesOf(page) : [];
  }).filter(({ label }) => !ofMenus.test(label));
  const without = tables.filter(({ href }) => href === "");
  assert.deepEqual(without.map(({ address, label }) => `${label} at ${address}`), []);
  const labels = new Set(tables.map(({ label }) => label));
  const expected = [
    ...["API keys", "People", "Invitations", "Audit log", "Grants and corrections", "Spend caps"],
    ...["Exports", "Deletions", "Stored months", "Evaluations", "Results", "Cohorts", "Outcomes"],
    ...["Models", "Comparison", "Sums", "Refused requests", "By code", "By API key", "By model"],
    ...["Budgets", "Webhooks", "Virtual models"],
    ...["Figures of Requests", "Figures of Latency", "Figures of Tokens"],
  ];
  assert.deepEqual(expected.filter((label) => !labels.has(label)), []);
  for (const { address, label, href, rows } of tables) {
    const { status, headers, text } = await owner.get(href);
    const where = `${label} at ${address}`;
    assert.equal(status, 200, where);
    assert.match(headers.get("content-type") ?? "", /^text\/csv/, where);
    assert.match(headers.get("content-disposition") ?? "", /^attachment; filename="[\w-]+\.csv"$/);
    const records = readCsv(text).map((record) => Object.values(record));
    assert.ok(records.length >= rows.length, `${where}: ${records.length} of ${rows.length}`);
    for (const marks of rows) {
      const found = records.some((cells) =>
        marks.every((mark) => cells.some((cell) => cell.includes(mark)))
      );
      assert.ok(found, `${where}: no record has ${JSON.stringify(marks)}`);
    }
    for (const cell of records.flat()) {
      assert.ok(!/^[=+@\t]|^-(?!\d)/.test(cell), `${where}: ${JSON.stringify(cell)} is a formula`);
    }
  }
});

Deno.test("every calls' file of a view has its rows, without what was said, for viewers too", async () => {
  const owner = await world().owner();
  const csv = await owner.get("/dashboard/interactions/csv?user=%2Bann&model=gpt-4.1");
  const records = readCsv(csv.text);
  assert.equal(records.length, 2);
  const rows = await world().rows({ user_id: "+ann", model: "gpt-4.1" });
  const sorted = (ids: unknown[]) => ids.map(String).sort();
  assert.deepEqual(
    sorted(records.map(({ transaction_id }) => transaction_id)),
    sorted(rows.map(({ transaction_id }) => transaction_id)),
  );
  const [first] = records;
  assert.ok(!("request" in first!) && !("response" in first!), Object.keys(first!).join());
  assert.equal(first!.user_id, "'+ann");
  assert.ok(
    records.every((one) =>
      rows.some((row) => row.transaction_id === one.transaction_id && row.cost_usd === one.cost_usd)
    ),
  );
  const { json } = await world().admin("invite", "--account", "1", "--role", "viewer");
  const token = new URL((json as { link: string }).link).searchParams.get("token");
  world().provider.become("vera", "vera@example.com");
  const viewer = world().browser();
  await signIn(viewer, `invitation=${token}`);
  const seen = await viewer.get("/dashboard/interactions/csv?user=%2Bann&model=gpt-4.1");
  assert.equal(seen.text, csv.text);
  // Words of prompts find nothing for who may not see them: the filter is not there.
  const searched = await viewer.get(
    "/dashboard/interactions/csv?user=%2Bann&model=gpt-4.1&q=nothing",
  );
  assert.equal(searched.text, csv.text);
  const results = world().pages.find(({ address }) => /evals\/[0-9a-f-]{36}\/csv$/.test(address));
  assert.match(results!.answer.text.split("\r\n")[0]!, /question,stored_answer,new_answer/);
  assert.ok(!(await viewer.get(results!.address)).text.includes("stored_answer"));
  const judged = results!.address.replace("/csv", "");
  for (const [browser, isShown] of [[await world().owner(), true], [viewer, false]] as const) {
    const { text } = await browser.get(judged);
    assert.ok(text.includes('class="judged"'));
    assert.equal(text.includes('class="judged-text"'), isShown);
    assert.equal(text.includes('class="muted breaks"'), isShown);
  }
});

Deno.test("a list of several pages is a whole file", async () => {
  const owner = await world().owner();
  for (let n = 0; n < 55; n++) await world().createKey("--name", `many ${n}`);
  const page = (await owner.get("/dashboard/settings/audit")).text;
  assert.equal(page.match(/<tr>/g)?.length, 51, "a page has fifty rows");
  const records = readCsv((await owner.get("/dashboard/settings/audit/csv")).text);
  const made = records.filter(({ action }) => action === "api_key.created");
  assert.ok(made.length >= 56, `${made.length}`);
  assert.equal(
    new Set(made.map(({ detail, subject }) => `${subject} ${detail}`)).size,
    made.length,
  );
  const keys = readCsv((await owner.get("/dashboard/keys/csv")).text);
  const idsIn = (text: string) => [...text.matchAll(/"name"><a href="[^"]*\/([0-9a-f-]{36})"/g)];
  const shown: string[] = [];
  for (let next: string | undefined = "/dashboard/keys"; next !== undefined;) {
    const { text } = await owner.get(next);
    const ids = idsIn(text).map(([, id]) => id!);
    assert.ok(ids.length > 0 && ids.length <= 50, `${next}: ${ids.length}`);
    shown.push(...ids);
    next = /href="(\/dashboard\/keys\?after=[^"]*)">Older</.exec(text)?.[1];
  }
  assert.deepEqual(shown, keys.map(({ api_key_id }) => api_key_id));
  assert.ok(shown.length > 55);
  const { text: found } = await owner.get("/dashboard/keys?q=MANY+7");
  assert.deepEqual(idsIn(found).length, 1);
  const [, file] = /href="(\/dashboard\/keys\/csv[^"]*)"/.exec(found) ?? [];
  assert.deepEqual(readCsv((await owner.get(file!)).text).map(({ name }) => name), ["many 7"]);
  assert.match((await owner.get("/dashboard/keys?q=none%25")).text, /No key found/);
  // The search is cut within the last character.
  const long = await owner.get(`/dashboard/keys?q=${"a".repeat(199)}${encodeURIComponent("😀")}`);
  assert.match(long.text, /No key found/);
  const [capped] = keys.filter(({ name }) => name === `'${formula}`);
  assert.equal(capped?.cap_day_usd, "5.000000000");
  assert.match(capped?.spent_day_usd ?? "", /^\d\.\d{9}$/);
  const credit = readCsv((await owner.get("/dashboard/settings/limits/credit/csv")).text);
  assert.deepEqual(credit.map(({ kind, amount_usd, note }) => [kind, amount_usd, note]), [
    ["grant", "2.000000000", "'@thanks"],
    ["grant", "10.000000000", credit[1]!.note],
  ]);
  assert.equal(credit[0]?.transaction_id, "", "corrections name their call");
});
