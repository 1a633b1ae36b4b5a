/** The pages on interactions over HTTP: what they show, narrow, give and refuse. */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { makeSampleCalls, type SampleCalls } from "../browser/sample_calls.ts";
import { samplePng } from "../browser/sample_image.ts";
import type { BrowserClient } from "../support/browser_client.ts";
import { csrfIn } from "../support/browser_client.ts";
import { shared } from "../support/service.ts";
import { type DashboardWorld, signIn, startDashboard } from "./world.ts";

const list = "/dashboard/interactions";

interface World extends DashboardWorld {
  calls: SampleCalls;
}

const world = shared(startWorld);

async function startWorld(): Promise<World> {
  const dashboard = await startDashboard({ vendors: true });
  return { ...dashboard, calls: await makeSampleCalls(dashboard) };
}

/** Ids of a page's rows, in their order. */
function idsIn(text: string): string[] {
  return [...text.matchAll(/data-id="([^"]+)"/g)].map(([, id]) => id!);
}

async function call(
  content: unknown,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<string> {
  const answer = await world().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content }],
    ...more,
  }, headers);
  await answer.text();
  return answer.headers.get("x-transaction-id")!;
}

Deno.test("the page of a call without its content says that it was not recorded", async () => {
  const owner = await world().owner();
  const secret = crypto.randomUUID();
  const id = await call(secret, {}, { "x-record": "metadata" });
  const { text } = await owner.get(`${list}/${id}`);
  assert.match(text, /The content of this call was not recorded/);
  assert.ok(!text.includes(secret) && !text.includes("its retention time is over"), text);
  const recorded = await owner.get(`${list}/${await call(secret)}`);
  assert.ok(recorded.text.includes(secret));
  assert.doesNotMatch(recorded.text, /not recorded/);
});

Deno.test("a vendor's calls are added up under each of its names", async () => {
  const owner = await world().owner();
  const totalOf = async (vendor: string) => {
    const { text } = await owner.get(`${list}?vendor=${vendor}&from=2020-01-01T00:00`);
    return /<p class="list-total">.*?<\/p>/.exec(text)?.[0];
  };
  const total = await totalOf("vendor-d");
  assert.match(total!, /calls?<\/strong>, <strong>\$/);
  assert.equal(await totalOf("google"), total);
});

Deno.test("the page of a call that the vendor cut says so once, with its code", async () => {
  const { text } = await (await world().owner()).get(`${list}/${world().calls.cut}`);
  assert.match(text, /The vendor&#39;s stream ended before[^<]*<code>upstream_stream_truncated/);
  assert.doesNotMatch(text, /stream ended early/);
});

Deno.test("the vendor filter shows the names that people know", async () => {
  const { text } = await (await world().owner()).get(list);
  assert.match(text, /<option value="vendor-b" ?>openai \(vendor-b\)<\/option>/);
  assert.match(text, /<option value="vendor-g" ?>xai \(vendor-g\)<\/option>/);
});

Deno.test("filters and words narrow the list to what they say, and each can be taken off", async () => {
  const owner = await world().owner();
  const { calls } = world();
  const all = idsIn((await owner.get(list)).text);
  for (const id of Object.values(calls)) assert.ok(all.includes(id), id);
  const expected: [string, (keyof SampleCalls)[]][] = [
    ["status=failed", ["failed"]],
    ["status=truncated", ["cut"]],
    ["vendor=vendor-d", ["generate"]],
    ["model=gpt-5.4-mini", ["responses"]],
    ["model=gpt-5.4-mini&model=claude-sonnet-4-6", ["responses", "reasoning"]],
    ["app=back+office&flow=tagging", ["responses"]],
    ["user=customer-5", ["cut"]],
    ["session=visit-17&q=address", ["tools"]],
    ["q=lyon", ["reasoning"]],
    ["q=%22arrived+late%22", ["responses"]],
    ["q=%22late+arrived%22", []],
    ["range=1h&cost_min=900", []],
    ["latency_max=0&status=failed", []],
    ["from=2020-01-01T00:00&to=2020-01-02T00:00", []],
  ];
  for (const [query, names] of expected) {
    const { text, status } = await owner.get(`${list}?${query}`);
    assert.equal(status, 200);
    assert.deepEqual(
      idsIn(text).toSorted(),
      names.map((name) => calls[name]).toSorted(),
      query,
    );
  }
  const { text } = await owner.get(`${list}?app=back+office&flow=tagging`);
  assert.match(text, /href="\/dashboard\/interactions\?flow=tagging"[^>]*title="Remove"/);
  const { text: none } = await owner.get(`${list}?model=none`);
  assert.match(none, /No call matches all filters/);
});

Deno.test("the model filter takes models as pages name them", async () => {
  const owner = await world().owner();
  const [here, there] = [`m-${crypto.randomUUID()}`, "vendor-c/claude-sonnet-4-6"];
  const id = await call(here, { model: "vendor-b/gpt-5-mini" });
  await call(here, { model: there });
  const routed = await call(here, { model: "vendor-f/openai/gpt-5-mini" });
  const shown = async (query: string) => {
    const { text, location } = await owner.get(`${list}?q=${here}&${query}`);
    return idsIn(location === undefined ? text : (await owner.get(location)).text);
  };
  const only = [id];
  for (const vendor of ["", "&vendor=vendor-b", "&vendor=openai"]) {
    assert.deepEqual(await shown(`model=vendor-b/gpt-5-mini${vendor}`), only, vendor);
  }
  assert.deepEqual(await shown("model=openai/gpt-5-mini&vendor=vendor-c"), []);
  assert.deepEqual(await shown("model=openai/none"), []);
  // A router's own name of a model stays what it is.
  assert.deepEqual(await shown("model=openai/gpt-5-mini"), [routed]);
  assert.deepEqual(await shown("model=openrouter/openai/gpt-5-mini"), [routed]);
  assert.deepEqual(await shown("model=openai/gpt-5-mini&vendor=vendor-f"), [routed]);
  for (const vendor of ["vendor-b", "openai"]) {
    assert.deepEqual(await shown(`model=openai/gpt-5-mini&vendor=${vendor}`), only, vendor);
  }
});

Deno.test("calls of a user with a blank in front of the name aren't those of who is called so without", async () => {
  const owner = await world().owner();
  const spaced = await call("Mine", { user: " pat" });
  const plain = await call("Theirs", { user: "pat" });
  const rowsOf = async (query: string) => idsIn((await owner.get(`${list}?${query}`)).text);
  assert.deepEqual(await rowsOf("user=+pat"), [spaced]);
  assert.deepEqual(await rowsOf("user=pat"), [plain]);
  const csv = await owner.get(`${list}/csv?user=+pat`);
  assert.ok(csv.text.includes(spaced) && !csv.text.includes(plain), csv.text);
  const { text } = await owner.get("/dashboard/overview?by=user&range=24h");
  const links = [...text.matchAll(/interactions\?([^"]*user=\+?pat)"/g)];
  const found = links.map(([, query]) => rowsOf(query!.replaceAll("&amp;", "&")));
  assert.deepEqual(new Set((await Promise.all(found)).flat()), new Set([spaced, plain]));
  const listed = (await owner.get(`${list}?user=+pat`)).text;
  assert.match(listed, /chip"><span>.{0,60}“ pat”/);
  assert.match(listed, /<td title="“ pat”"><bdi>“ pat”</);
  const [, deletion] = listed.match(/href="([^"]*)"\s*>\s*Delete this user/)!;
  assert.equal(deletion, "/dashboard/deletion/new?user_id=+pat");
  assert.match((await owner.get(deletion!)).text, /id="user_id"[^>]* value=" pat"/);
  assert.doesNotMatch((await owner.get(`${list}?user=pat&user=+pat`)).text, /Delete this user/);
  assert.match(text, /user=\+pat"[^>]*>“ pat”</);
  assert.match((await owner.get(`${list}/${spaced}`)).text, />“ pat”<\/a>/);
});

Deno.test("a form's empty fields are left out of the URL, and wrong ones are reported", async () => {
  const owner = await world().owner();
  const sent = await owner.get(`${list}?q=&range=&status=failed&model=+`);
  assert.equal(sent.status, 303);
  assert.equal(sent.location, `${list}?status=failed`);
  const wrong = await owner.get(`${list}?cost_min=much&from=never`);
  assert.equal(wrong.status, 200);
  assert.match(wrong.text, /Cost from “much”/);
  assert.match(wrong.text, /From “never”/);
  // What is wrong or without effect stands in its field, to be corrected.
  const valuesIn = ({ text }: { text: string }) =>
    [...text.matchAll(/ name="(from|to|cost_min)"[^>]* value="([^"]+)"/g)].map(([, ...one]) => one);
  assert.deepEqual(valuesIn(wrong), [["from", "never"], ["cost_min", "much"]]);
  const ignored = await owner.get(`${list}?range=7d&from=1+Nov+2026`);
  assert.match(ignored.text, /“From” and “To” are ignored/);
  assert.deepEqual(valuesIn(ignored), [["from", "1 Nov 2026, 00:00"]]);
  for (const rubbish of ["before=x", "before=99999999999999.a", "after=%00.%27", "key=%00"]) {
    assert.equal((await owner.get(`${list}?${rubbish}`)).status, 200, rubbish);
  }
});

Deno.test("pages go back and forth without losing a row, and the newest say when nothing is new", async () => {
  const owner = await world().owner();
  const session = `pages-${crypto.randomUUID()}`;
  const made: string[] = [];
  for (let n = 0; n < 115; n++) made.push(await call("Hi", {}, { "x-session-id": session }));
  const linkTo = (text: string, name: string) =>
    new RegExp(`href="([^"]+)">${name}</a>`).exec(text)?.[1]?.replaceAll("&amp;", "&");
  const first = await owner.get(`${list}?session=${session}`);
  const second = await owner.get(linkTo(first.text, "Older")!);
  const third = await owner.get(linkTo(second.text, "Older")!);
  const shown = [first, second, third].flatMap(({ text }) => idsIn(text));
  assert.deepEqual(shown, made.toReversed());
  assert.equal(linkTo(third.text, "Older"), undefined);
  const back = await owner.get(linkTo(third.text, "Newer")!);
  assert.deepEqual(idsIn(back.text), idsIn(second.text));
  const start = await owner.get(linkTo(back.text, "Newer")!);
  assert.deepEqual(idsIn(start.text), idsIn(first.text));
  assert.match(first.text, /data-live="\/dashboard\/interactions\/newest\?session=/);
  assert.ok(!second.text.includes("data-live"));

  const newest = `${list}/newest?session=${session}`;
  const rows = await owner.get(newest);
  assert.deepEqual(idsIn(rows.text), idsIn(first.text));
  const again = () =>
    fetch(world().baseUrl + newest, {
      headers: {
        cookie: [...owner.cookies].map((pair) => pair.join("=")).join("; "),
        "if-none-match": rows.headers.get("etag")!,
      },
    });
  const same = await again();
  const later = await call("Hi again", {}, { "x-session-id": session });
  const changed = await again();
  // When a minute passes all are sent again.
  assert.ok([200, 304].includes(same.status));
  assert.equal(changed.status, 200);
  assert.equal(idsIn(await changed.text())[0], later);
  await same.body?.cancel();
});

Deno.test("a call's page shows the conversation of every dialect", async () => {
  const owner = await world().owner();
  const { calls } = world();
  const page = async (name: keyof SampleCalls) => {
    const { text, status } = await owner.get(`${list}/${calls[name]}`);
    assert.equal(status, 200, name);
    return text;
  };
  const tools = await page("tools");
  assert.match(tools, /Calls <code>find_order<\/code>/);
  assert.match(tools, /Result of <code>find_order<\/code>/);
  assert.match(tools, /&quot;carrier&quot;: &quot;La Poste&quot;/);
  assert.match(tools, /Thanks! And can I still change the address\?/);
  assert.match(tools, /Ended: stop/);
  assert.match(tools, /href="\/dashboard\/interactions\?session=visit-17"/);
  assert.match(tools, /href="\/dashboard\/interactions\?cohort=short\+answers"/);
  assert.match(tools, /input at \$2\.00 \/ 1M/);
  assert.match(tools, /Temperature/);
  assert.match(await page("reasoning"), /<summary>Reasoning<\/summary>/);
  assert.match(await page("responses"), /the fabric is lovely/);
  assert.match(await page("generate"), /Sum up the returns of last week/);
  const failed = await page("failed");
  assert.match(failed, /<code>invalid_request<\/code>/);
  assert.match(failed, /No answer was received/);
});

Deno.test("pictures come from our own address, small ones out of the payload", async () => {
  const owner = await world().owner();
  const { calls } = world();
  for (const name of ["picture", "inline"] as const) {
    const { text } = await owner.get(`${list}/${calls[name]}`);
    const address = /<img src="([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
    assert.ok(!text.includes('src="data:'));
    const shown = await fetch(world().baseUrl + address, {
      headers: { cookie: [...owner.cookies].map((pair) => pair.join("=")).join("; ") },
    });
    assert.equal(shown.status, 200);
    assert.equal(shown.headers.get("content-type"), "image/png");
    assert.equal(shown.headers.get("x-content-type-options"), "nosniff");
    const bytes = new Uint8Array(await shown.arrayBuffer());
    assert.deepEqual(bytes, samplePng(name === "picture" ? 180 : 60));
  }
  const hostile = Buffer.from("<script>alert(1)</script>").toString("base64");
  const id = await call([
    { type: "text", text: "look" },
    { type: "image_url", image_url: { url: `data:image/svg+xml;base64,${hostile}` } },
  ]);
  const media = await owner.get(`${list}/${id}/media/0`);
  if (media.status === 200) {
    assert.equal(media.headers.get("content-type"), "application/octet-stream");
    assert.equal(media.headers.get("content-disposition"), "attachment");
  }
  assert.equal((await owner.get(`${list}/${calls.inline}/media/1`)).status, 404);
  assert.equal((await owner.get(`${list}/${calls.inline}/media/x`)).status, 404);
});

Deno.test("what callers wrote is shown as text, wherever it stands", async () => {
  const owner = await world().owner();
  const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;
  const id = await call(`/// APP ${evil}\n/// FLOW ${evil}\n${evil} [say:${evil}]`, {
    user: evil,
  }, { "x-session-id": encodeURIComponent(evil) });
  const addresses = [
    list,
    `${list}?${new URLSearchParams({ app: evil, q: evil, model: evil, cost_min: evil })}`,
    `${list}?${new URLSearchParams({ app: evil })}`,
    `${list}/newest`,
    `${list}/${id}`,
    `${list}/${id}/delete`,
  ];
  for (const address of addresses) {
    const { text, headers } = await owner.get(address);
    assert.ok(!text.includes("<script>alert"), address);
    assert.ok(!text.includes("<img src=x"), address);
    assert.ok(!/\sstyle=|\son\w+="/.test(text), address);
    assert.equal(headers.get("content-security-policy"), "default-src 'self'");
  }
  const raw = await owner.get(`${list}/${id}/raw/request`);
  assert.equal(raw.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(raw.headers.get("x-content-type-options"), "nosniff");
  assert.ok(raw.text.includes("<script>alert"));
});

Deno.test("a huge request makes no huge page", async () => {
  const owner = await world().owner();
  const words = "The quick brown fox. ".repeat(200_000);
  const id = await call(`first words ${words} last words`);
  const { text } = await owner.get(`${list}/${id}`);
  assert.ok(text.length < 150_000, `${text.length} characters`);
  assert.match(text, /first words The quick/);
  assert.match(text, /Show all as text/);
  const raw = await owner.get(`${list}/${id}/raw/request`);
  assert.ok(raw.text.length > 1_000_000);
  const turns = Array.from({ length: 400 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `turn ${n} ${"word ".repeat(400)}`,
  }));
  const long = await call("", { messages: [...turns, { role: "user", content: "the end" }] });
  const page = await owner.get(`${list}/${long}`);
  assert.ok(page.text.length < 250_000, `${page.text.length} characters`);
  assert.match(page.text, /turns between are left out/);
  assert.match(page.text, /turn 0 word/);
  assert.match(page.text, /the end/);
});

Deno.test("a view is exported as it is shown", async () => {
  const owner = await world().owner();
  const { calls } = world();
  const json = await owner.get(`${list}/export?format=json&app=back+office`);
  assert.match(
    json.headers.get("content-disposition") ?? "",
    /attachment; filename="interactions-/,
  );
  const rows = JSON.parse(json.text) as { transaction_id: string }[];
  assert.deepEqual(
    rows.map((row) => row.transaction_id).toSorted(),
    [calls.responses, calls.generate].toSorted(),
  );
  const csv = await owner.get(`${list}/export?format=csv&q=lyon&latency_min=0`);
  assert.equal(csv.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  const lines = csv.text.trim().split("\r\n");
  assert.equal(lines.length, 2);
  assert.ok(lines[1]!.startsWith(calls.reasoning));
  const none = await owner.get(`${list}/export?q=nobodysaidthis`);
  assert.deepEqual(JSON.parse(none.text), []);
  assert.equal((await owner.get(`${list}/export?format=xml`)).status, 404);
  const audit = async () =>
    (await owner.get("/dashboard/settings/audit")).text.match(/interactions\.exported/g)?.length;
  assert.equal(await audit(), 3);
  // Without the filter that can't be read it would be a file of all calls.
  for (const file of ["csv", "export"]) {
    const { status, location } = await owner.get(`${list}/${file}?from=31+Feb+2026`);
    assert.deepEqual([status, location], [303, `${list}?from=31+Feb+2026`]);
  }
  assert.equal(await audit(), 3, "nothing was exported");
  // A span without calls is read as it stands: browsers would save the list under the file's name.
  const reversed = await owner.get(`${list}/csv?from=2026-11-20&to=2026-11-10`);
  assert.deepEqual([reversed.status, reversed.text.trim().split("\r\n").length], [200, 1]);
});

Deno.test("another account's calls are nothing here", async () => {
  const owner = await world().owner();
  const name = `others ${crypto.randomUUID()}`;
  await world().admin("account", "create", "--name", name);
  await world().admin("credits", "grant", "--usd", "1", "--account", name);
  const theirs = await world().createKey("--account", name);
  const id = await call("their secret word is xylophone", { user: "their user" }, {
    authorization: `Bearer ${theirs.key}`,
  });
  const addresses = [
    `${list}/${id}`,
    `${list}/${id}/raw/request`,
    `${list}/${id}/raw/response`,
    `${list}/${id}/media/0`,
    `${list}/${id}/delete`,
  ];
  for (const address of addresses) assert.equal((await owner.get(address)).status, 404, address);
  const csrf = csrfIn((await owner.get(list)).text);
  assert.equal((await owner.post(`${list}/${id}/delete`, { csrf })).status, 404);
  for (const query of ["", "?q=xylophone", "?user=their+user", `?key=${theirs.id}`]) {
    assert.ok(!idsIn((await owner.get(list + query)).text).includes(id), query);
    assert.ok(!(await owner.get(`${list}/export${query}`)).text.includes("xylophone"), query);
  }
  const [row] = await world().rows({ transaction_id: id }, theirs.key);
  assert.equal(row?.transaction_id, id);
  for (const rubbish of ["nothing", "%00", "..%2f..", "'--", "x".repeat(5000)]) {
    assert.equal((await owner.get(`${list}/${rubbish}`)).status, 404, rubbish);
  }
});

Deno.test("an owner deletes one call with all that is known of it; nobody else can", async () => {
  const owner = await world().owner();
  const kept = await call("canary stays: quetzalcoatlus");
  const id = await call("canary goes: archaeopteryx");
  const viewer = await member(owner, "viewer", "vera@example.com");
  assert.equal((await viewer.get(`${list}/${id}`)).status, 200);
  const page = (await viewer.get(list)).text;
  assert.ok(page.includes("CSV of the table") && !page.includes("with prompts"));
  assert.doesNotMatch((await viewer.get(`${list}?user=pat`)).text, /Delete this user/);
  const today = new Date().toISOString().slice(0, 10);
  const exported = await world().post("/api/v1/exports", { range: { start: today, end: today } });
  await exported.body?.cancel();
  for (const address of ["/dashboard/keys", "/dashboard/settings/people", "/dashboard/exports"]) {
    assert.match((await owner.get(address)).text, /class="actions"/, address);
    assert.doesNotMatch((await viewer.get(address)).text, /class="actions"/, address);
  }
  const csrf = csrfIn(page);
  for (const address of [`${list}/${id}/delete`, `${list}/export?format=json`]) {
    assert.equal((await viewer.get(address)).status, 403, address);
  }
  assert.equal((await viewer.post(`${list}/${id}/delete`, { csrf })).status, 403);
  assert.equal((await owner.post(`${list}/${id}/delete`, {})).status, 403, "without its token");

  assert.deepEqual(idsIn((await owner.get(`${list}?q=archaeopteryx`)).text), [id]);
  const done = await owner.submit(`${list}/${id}/delete`, `${list}/${id}/delete`);
  assert.equal(done.location, list);
  assert.match(
    (await owner.get(list)).text,
    /The interaction and everything derived from it were deleted/,
  );
  const gone = await owner.get(`${list}/${id}`);
  assert.equal(gone.status, 404);
  assert.match(
    gone.text,
    /may have been removed[^]*href="\/dashboard\/interactions"[^>]*>Go to Inter/,
  );
  assert.deepEqual(idsIn((await owner.get(`${list}?q=archaeopteryx`)).text), []);
  assert.deepEqual(idsIn((await owner.get(`${list}?q=quetzalcoatlus`)).text), [kept]);
  assert.equal((await owner.post(`${list}/${id}/delete`, { csrf })).status, 403);
  const audit = (await owner.get("/dashboard/settings/audit")).text;
  assert.match(audit, /interaction\.deleted/);
  assert.ok(audit.includes(id));
  assert.ok(!world().log.join("\n").includes("canary"));
});

/** Somebody whom the owner has invited. */
async function member(owner: BrowserClient, role: string, email: string): Promise<BrowserClient> {
  const people = "/dashboard/settings/people";
  await owner.submit(people, `${people}/invite`, { email, role });
  const token = /invitation\?token=([^<]+)</.exec((await owner.get(people)).text)?.[1];
  world().provider.become(email.split("@")[0]!, email);
  const browser = world().browser();
  await signIn(browser, `invitation=${token}`);
  return browser;
}

Deno.test("a message of parts that the service doesn't know says so", async () => {
  const owner = await world().owner();
  const { text } = await owner.get(`${list}/${await call([{ type: "input_text", text: "Hi" }])}`);
  assert.match(
    text,
    /User<\/p><div class="turn-parts"><p class="muted">No content that can be shown/,
  );
});

Deno.test("an answer that broke off has no reason to have ended, whatever its dialect", async () => {
  const owner = await world().owner();
  const words = "[cut] [long:20]";
  const messages = [{ role: "user", content: words }];
  const session = { "x-session-id": crypto.randomUUID() };
  const cut: [string, unknown][] = [
    ["/chat/v1/chat/completions", { model: "vendor-b/gpt-4.1", messages, stream: true }],
    ["/chat/v1/messages", {
      ...{ model: "vendor-c/claude-haiku-4-5", max_tokens: 90, messages, stream: true },
    }],
    ["/chat/v1/responses", { model: "vendor-b/gpt-4.1", input: words, stream: true }],
    ["/chat/v1/models/vendor-d%2Fgemini-2.5-flash:streamGenerateContent?alt=sse", {
      contents: [{ parts: [{ text: words }] }],
    }],
  ];
  for (const [path, body] of cut) {
    const answer = await world().post(path, body, session);
    await answer.text();
    const { text } = await owner.get(`${list}/${answer.headers.get("x-transaction-id")}`);
    assert.match(text, /Cut off/, path);
    assert.equal(/turn-end">([^<]*)/.exec(text)?.[1], "The answer was cut off.", path);
  }
  const run = await owner.get(`/dashboard/session?id=${session["x-session-id"]}`);
  assert.equal(run.text.match(/The answer was cut off\./g)?.length, 4);
  const whole = await owner.get(`${list}/${await call("Hello")}`);
  assert.match(whole.text, /Ended: stop/);
});
