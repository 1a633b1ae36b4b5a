/** The page that reads an agent's run. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));
const rules = Array.from({ length: 260 }, (_, at) => `Rule ${at}: be kind, exact and brief.`)
  .join("\n");

const tools = [{
  type: "function",
  function: {
    name: "read_file",
    parameters: { type: "object", properties: { path: { type: "string" } } },
  },
}];

/** Calls of a run: a question, then rounds of a tool's call and its result. */
async function run(session: string, calls: number): Promise<void> {
  const messages: Record<string, unknown>[] = [
    { role: "system", content: rules },
    { role: "user", content: "What is in <main.ts>? [say:first answer]" },
  ];
  for (let at = 0; at < calls; at++) {
    const answer = await world().post("/chat/v1/chat/completions", {
      model: "vendor-c/claude-sonnet-4-6",
      max_completion_tokens: 300,
      // No cache key at this vendor: a loss.
      prompt_cache_key: "run",
      messages,
      tools,
    }, { "x-session-id": session });
    assert.equal(answer.status, 200, await answer.text());
    const call = { name: "read_file", arguments: JSON.stringify({ path: `part-${at}.ts` }) };
    messages.push(
      { role: "assistant", tool_calls: [{ id: `call_${at}`, type: "function", function: call }] },
      { role: "tool", tool_call_id: `call_${at}`, content: `result-${at}- [say:answer ${at}]` },
    );
  }
}

const address = (id: string, more: Record<string, string> = {}) =>
  `/dashboard/session?${new URLSearchParams({ id, ...more })}`;

Deno.test("a run is read from call to call: what came in, tools' results, cached tokens, cost so far, losses", async () => {
  const owner = await world().owner();
  const session = `run/${crypto.randomUUID()} & more`;
  await run(session, 13);
  const first = (await owner.get(address(session))).text;
  const ids = (page: string) => [...page.matchAll(/data-id="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(ids(first).length, 10);
  assert.match(first, /What is in &lt;main.ts&gt;\?/);
  assert.ok(!first.includes("Rule 259"), "what is sent with each call is not repeated");
  for (let at = 0; at < 9; at++) {
    assert.equal(first.split(`result-${at}-`).length - 1, 1, `result ${at} stands there once`);
  }
  const [, title = ""] = /<title>(.*?)<\/title>/.exec(first) ?? [];
  assert.equal(title, `${session.replace("&", "&amp;")} · Session · Demeter`, "tabs differ");
  assert.match(first, /<dt>Models<\/dt><dd>anthropic\/claude-sonnet-4-6<\/dd>/);
  assert.match(first, /Saved by caching/);
  assert.match(first, /\d+ cached \(9\d %\)/);
  assert.match(first, /so far/);
  assert.match(first, /prompt_cache_key<\/code>\s*<span class="muted">13 calls/);
  const second = (await owner.get(address(session, { from: "11" }))).text;
  assert.equal(ids(second).length, 3);
  assert.ok(!second.includes("What is in"));
  assert.match(second, /result-11-/);
  assert.match(second, /Call 13/);
  assert.equal(new Set([...ids(first), ...ids(second)]).size, 13);
  // Any number is a page.
  for (const from of ["0", "-1", "999999", "x"]) {
    assert.equal((await owner.get(address(session, { from }))).status, 200, from);
  }
  const detail = (await owner.get(`/dashboard/interactions/${ids(first)[0]}`)).text;
  assert.ok(detail.includes("/dashboard/session?id=run%2F"), "a call leads to its run");
  assert.match(detail, /<p class="lead">anthropic\/claude-sonnet-4-6, /);
});

Deno.test("an unknown session, another account's, and none are not found", async () => {
  const owner = await world().owner();
  const made = await world().admin("account", "create", "--name", crypto.randomUUID());
  const account = String((made.json as { id: number }).id);
  await world().admin("credits", "grant", "--usd", "5", "--account", account);
  const { key } = await world().createKey("--account", account);
  const session = crypto.randomUUID();
  const answer = await world().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "Secret of another account" }],
  }, { authorization: `Bearer ${key}`, "x-session-id": session });
  assert.equal(answer.status, 200, await answer.text());
  for (const path of [address(session), address("none"), "/dashboard/session"]) {
    const page = await owner.get(path);
    assert.equal(page.status, 404, path);
    assert.match(page.text, /No calls in this session/, path);
    assert.match(page.text, /href="\/dashboard\/interactions"[^>]*>Go to Interactions/);
    assert.ok(!page.text.includes("Secret"));
  }
});
