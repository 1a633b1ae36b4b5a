/** Calls that people make in the dashboard. */
import assert from "@std/assert";
import { nanosToUsd, parseUsd } from "../../src/base/money.ts";
import { type BrowserClient, csrfIn } from "../support/browser_client.ts";
import { shared } from "../support/service.ts";
import { signIn, startDashboard } from "./world.ts";

const world = shared(() =>
  startDashboard({ vendors: true, env: { OAUTH_EMAIL_DOMAINS: "example.com" } })
);
const page = "/dashboard/playground";
const model = "vendor-b/gpt-4.1";

async function playgroundRows() {
  return (await world().rows()).filter((row) => row.app === "playground");
}

interface LineEvent {
  kind: string;
  text?: string;
  message?: string;
  id?: string | null;
  summary?: string;
}

/** What a script gets. */
async function stream(browser: BrowserClient, fields: Record<string, string>) {
  const csrf = csrfIn((await browser.get(page)).text);
  const { status, text, headers } = await browser.post(`${page}/stream`, {
    csrf,
    model,
    ...fields,
  });
  assert.equal(headers.get("content-type"), "application/x-ndjson");
  const events = text.trim().split("\n").map((line) => JSON.parse(line) as LineEvent);
  const said = (kind: string) =>
    events.filter((one) => one.kind === kind).map((one) => one.text ?? one.message ?? "").join("");
  return { status, events, text: said("text"), error: said("error"), end: events.at(-1)! };
}

Deno.test("without script the whole answer comes, recorded and charged as any call", async () => {
  const owner = await world().owner();
  const { status, text } = await owner.submit(page, page, {
    ...{ model, system: "Be brief.", prompt: "[say:Good <b>morning</b>]", temperature: "0.5" },
    token_limit: "50",
  });
  assert.equal(status, 200);
  assert.match(text, /Good &lt;b&gt;morning&lt;\/b&gt;/);
  assert.match(text, /tokens in · \d+ out · \$0\.\d+/);
  const [row, ...others] = await playgroundRows();
  assert.equal(others.length, 0);
  assert.ok(text.includes(`href="/dashboard/interactions/${row!.transaction_id}"`));
  assert.deepEqual(
    [row!.status, row!.mode, row!.api_key_id, row!.endpoint, row!.stream],
    ["completed", "managed", "playground", page, true],
  );
  const people = (await owner.get("/dashboard/settings/people")).text;
  assert.ok(people.includes(`/people/${row!.user_id}/`), "the user is the person");
  assert.equal(row!.charged_usd, row!.cost_usd);
  const sent = row!.request as Record<string, unknown>;
  assert.equal(sent.temperature, 0.5);
  const { json } = await world().admin("credits", "show", "--json");
  const charged = parseUsd(String(row!.charged_usd), 9);
  assert.ok(charged > 0n);
  assert.equal(
    (json as { balance_usd: string }).balance_usd,
    nanosToUsd(10_000_000_000n - charged),
  );
});

Deno.test("an answer is streamed with its figures, to every vendor", async () => {
  const owner = await world().owner();
  const shown = (await owner.get(page)).text;
  const groups = [...shown.matchAll(/<optgroup label="([^"]+)">.*?value="([^"]+)"/g)];
  assert.equal(groups.length, 7);
  for (const [, , id] of groups) {
    const { text, error, end } = await stream(owner, { model: id!, prompt: "[say:Hello there]" });
    assert.deepEqual([text, error, end.kind], ["Hello there", "", "end"], id);
    const row = await world().row(end.id!);
    assert.equal(row.requested_model, id);
  }
});

Deno.test("a conversation continues with its earlier messages", async () => {
  const owner = await world().owner();
  const { text } = await owner.submit(page, page, { model, prompt: "[say:One]" });
  const hidden = (name: string) =>
    [...text.matchAll(new RegExp(`name="${name}" value="([^"]*)"`, "g"))].map(([, one]) => one!);
  assert.deepEqual([hidden("role"), hidden("content")], [
    ["user", "assistant", "assistant"],
    ["[say:One]", "One", ""],
  ], "and the template of a turn");
  const next = await owner.submit(page, page, {
    ...{ model, prompt: "[say:Two]", role: ["user", "assistant"], content: ["[say:One]", "One"] },
  });
  assert.equal(next.status, 200);
  const rows = await playgroundRows();
  const last = rows.find(({ request }) => JSON.stringify(request).includes("Two"))!;
  const { messages } = last.request as { messages: { role: string; content: unknown }[] };
  assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant", "user"]);
});

Deno.test("errors are shown as sentences", async () => {
  const owner = await world().owner();
  const unknown = await stream(owner, { model: "vendor-b/nothing-9", prompt: "Hello" });
  assert.match(unknown.error, /nothing-9/);
  const nowhere = await stream(owner, { model: "<script>", prompt: "Hello" });
  assert.match(nowhere.error, /unknown model/);
  const refused = await stream(owner, { prompt: "[error:400]" });
  assert.match(refused.error, /\w+ \w+/);
  const cut = await stream(owner, { prompt: "[cut]" });
  assert.match(cut.error, /\w+ \w+/);
  assert.equal((await world().row(cut.end.id!)).status, "truncated");
  const empty = await stream(owner, { prompt: "  ", temperature: "9" });
  assert.match(empty.error, /from 0 to 2/);
  const form = await owner.submit(page, page, { model, prompt: "  Hello", token_limit: "many" });
  assert.equal(form.status, 400);
  assert.match(form.text, /Expected a whole number as the token limit/);
  assert.match(form.text, /<textarea[^>]*name="prompt"[^>]*> {2}Hello</);
  assert.doesNotMatch(form.text, /name="content" value=" *Hello"/);
  const failed = await owner.submit(page, page, { model, prompt: "[error:400] keep me" });
  assert.match(failed.text, /role="alert"/);
  assert.match(failed.text, /<textarea[^>]*name="prompt"[^>]*>\[error:400\] keep me/);
});

Deno.test("text of people and models is text, and code is code", async () => {
  const owner = await world().owner();
  const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`;
  const { text } = await owner.submit(page, page, {
    ...{ model, system: hostile, prompt: `${hostile}\n\`\`\`js\nconst a = "<i>";\n\`\`\`` },
    temperature: hostile,
  });
  assert.ok(!text.includes("<script>alert") && !text.includes("<img"));
  const answer = await owner.submit(page, page, {
    model,
    prompt: `Look:\n\`\`\`js\nconst a = "<i>";\n\`\`\`\nDone.`,
  });
  assert.match(answer.text, /<code>const a = (&quot;|")&lt;i>?&gt;?/);
});

Deno.test("the code of a conversation makes the same call with an API key", async () => {
  const owner = await world().owner();
  const { text } = await owner.submit(page, `${page}/code`, {
    ...{ model, system: "Be brief.", prompt: "[say:By curl]", temperature: "0.2" },
  });
  const [curl] = [...text.matchAll(/data-copy="([^"]+)"/g)].map(([, one]) => unescape(one!));
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `curl() { while [ "$1" != -d ]; do shift; done; printf %s "$2"; }\n${curl}`],
  }).output();
  const body = new TextDecoder().decode(stdout);
  assert.ok(!body.includes("///"), "the playground's tag is its own");
  const answer = await world().post("/chat/v1/chat/completions", body);
  assert.match(await answer.text(), /By curl/);
});

Deno.test("only members call, only from our own pages, and neither with an API key", async () => {
  const owner = await world().owner();
  const before = (await playgroundRows()).length;
  const fields = { model, prompt: "Hello" };
  const signInPage = /^\/dashboard\/sign-in\?/;
  for (const path of [page, `${page}/stream`, `${page}/code`]) {
    assert.equal((await owner.post(path, { ...fields, csrf: "forged" })).status, 403, path);
    const stranger = world().browser();
    assert.match((await stranger.post(path, fields)).location ?? "", signInPage, path);
    const withKey = await world().fetch(path, {
      method: "POST",
      body: new URLSearchParams(fields),
    });
    assert.match(withKey.headers.get("location") ?? "", signInPage, path);
    await withKey.body?.cancel();
  }
  world().provider.become("Ben", "ben@example.com");
  const ben = world().browser();
  await signIn(ben);
  assert.equal((await ben.get(page)).status, 200, "a member");
  const people = (await owner.get("/dashboard/settings/people")).text;
  const ids = [...people.matchAll(/people\/([^/"]+)\/role/g)].map(([, one]) => one!);
  const csrf = csrfIn((await ben.get(page)).text);
  for (const id of new Set(ids)) {
    await owner.submit("/dashboard/settings/people", `/dashboard/settings/people/${id}/role`, {
      role: "viewer",
    });
  }
  assert.equal((await ben.get(page)).status, 403, "a viewer");
  assert.equal((await ben.post(`${page}/stream`, { ...fields, csrf })).status, 403);
  assert.equal((await playgroundRows()).length, before);
});

Deno.test("calls from here count against the account's rate", async () => {
  const owner = await world().owner();
  const slow = ["--rpm", "1", "--burst", "1"];
  await world().admin("account", "tier", "1", "enterprise", ...slow);
  const answers: string[] = [];
  for (let n = 0; n < 3; n++) answers.push((await stream(owner, { prompt: "Hello" })).error);
  assert.ok(answers.some((one) => /rate|requests/i.test(one)), answers.join("|"));
});

function unescape(text: string): string {
  const names: Record<string, string> = { quot: '"', lt: "<", gt: ">", amp: "&", "#39": "'" };
  return text.replace(/&(quot|lt|gt|amp|#39);/g, (_, name: string) => names[name]!);
}
