/** Payloads are for those who may see them; the reason of a failed call is for all. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import type { BrowserClient } from "../support/browser_client.ts";
import { signIn, startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));
const people = "/dashboard/settings/people";
const list = "/dashboard/interactions";
const secret = "quicksilver";

async function call(text: string): Promise<string> {
  const answer = await world().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: text }],
  }, { "x-session-id": "one-run" });
  await answer.body?.cancel();
  return answer.headers.get("x-transaction-id") ?? "";
}

async function viewer(): Promise<BrowserClient> {
  const owner = await world().owner();
  const email = "finn@example.com";
  await owner.submit(people, `${people}/invite`, { email, role: "viewer" });
  const token = /invitation\?token=([^<]+)</.exec((await owner.get(people)).text)?.[1];
  world().provider.become("Finn", email);
  const browser = world().browser();
  await signIn(browser, `invitation=${token}`);
  world().provider.become("Ada Lovelace", "ada@example.com");
  return browser;
}

Deno.test("a viewer sees figures and rows, and prompts only once an owner lets them", async () => {
  const owner = await world().owner();
  const id = await call(`Tell me about ${secret}.`);
  const failed = await call(`${secret} [error:500]`);
  const finn = await viewer();
  const pages = [
    ...[list, `${list}/newest`, `${list}?q=${secret}`, `${list}/${id}`, `${list}/${failed}`],
    ...[`${list}/${id}/raw/request`, `${list}/${id}/raw/response`, `${list}/${id}/media/0`],
    ...["/dashboard/overview", "/dashboard/evals", "/dashboard/cohorts", `${list}/refused`],
    "/dashboard/session?id=one-run",
  ];
  for (const path of pages) {
    const { text } = await finn.get(path);
    assert.ok(!text.replaceAll(`q=${secret}`, "").includes(secret), path);
  }
  assert.ok((await owner.get("/dashboard/session?id=one-run")).text.includes(secret));
  const page = (await finn.get(`${list}/${id}`)).text;
  assert.match(page, /Prompts and answers are visible to members and owners/);
  assert.match(page, /HTTP 200/);
  assert.equal((await finn.get(`${list}/${id}/raw/request`)).status, 403);
  assert.ok(!(await finn.get(list)).text.includes('name="q"'));
  // By its id they find a call, as everybody does.
  const found = (await finn.get(`${list}?id=${id}`)).text;
  assert.match(found, /1 call with this id/);
  assert.match((await finn.get(`${list}?id=nobodys`)).text, /Neither a call nor a refused request/);
  // A search that finds nothing would say that nobody asked it.
  assert.ok((await finn.get(`${list}?q=nothing`)).text.includes(id));
  assert.ok(!(await finn.get(list)).text.includes('href="/dashboard/playground"'));
  assert.ok((await owner.get(`${list}/${id}`)).text.includes(secret));

  const personId = /people\/([^/"]+)\/role"[\s\S]{0,600}?Role of Finn/.exec(
    (await owner.get(people)).text,
  )?.[1];
  const role = `${people}/${personId}/role`;
  assert.equal((await owner.submit(people, role, { role: "viewer+payloads" })).status, 303);
  assert.match((await owner.get(people)).text, /viewer who sees prompts from now on/);
  assert.ok((await finn.get(`${list}/${id}`)).text.includes(secret));
  assert.equal((await finn.get(`${list}/${id}/raw/request`)).status, 200);
  assert.equal((await finn.get("/dashboard/keys/new")).status, 403);
  assert.equal((await owner.submit(people, role, { role: "viewer" })).status, 303);
  assert.ok(!(await finn.get(`${list}/${id}`)).text.includes(secret));
  assert.equal((await owner.submit(people, role, { role: "member" })).status, 303);
  assert.ok((await finn.get(`${list}/${id}`)).text.includes(secret));
  assert.match((await owner.get("/dashboard/settings/audit")).text, /viewer who sees prompts/);
});

Deno.test("the audit log says by what an exported view was narrowed, never by which words or whose", async () => {
  const owner = await world().owner();
  const view = "q=quicksilver&user=patient-4711&range=24h";
  assert.equal((await owner.get(`${list}/export?format=csv&${view}`)).status, 200);
  const { text } = await owner.get("/dashboard/settings/audit");
  assert.match(text, /interactions\.exported[\s\S]{0,100}by q, range 24h, user</);
  assert.ok(!text.includes(secret) && !text.includes("patient-4711"));
});

Deno.test("a failed call's page has the vendor's status and words, and how often it was asked", async () => {
  const owner = await world().owner();
  const { text } = await owner.get(`${list}/${await call("Hello [error:500]")}`);
  assert.match(text, /openai answered HTTP 500: <q class="vendor-words">[^<]{5,}</);
  assert.match(text, /It was asked \d+ times in/);
  assert.ok(!text.includes("at the vendor or here"));
  const limited = (await owner.get(`${list}/${await call("Hello [error:429]")}`)).text;
  assert.match(limited, /openai answered HTTP 429/);
  const good = await call("/// APP shop\n/// FLOW answer\nA good call");
  assert.match((await owner.get(`${list}/${good}`)).text, /<h1>A good call</);
});

Deno.test("an evaluation says its likely cost first, and then question and both answers side by side", async () => {
  const owner = await world().owner();
  const form = "/dashboard/evals/new";
  const asked = "Which metal is liquid?";
  await call(asked);
  const key = await world().createKey();
  const wanted = {
    ...{ model: "vendor-b/gpt-4.1", key: key.id, limit: "1", sample: "newest" },
    ...{ grader0_type: "contains", grader0_text: "" },
  };
  const estimated = await owner.submit(form, form, { ...wanted, step: "estimate" });
  assert.equal(estimated.status, 200);
  assert.match(estimated.text, /role="status">1 call, about \$0\.\d+, by the average/);
  assert.match(estimated.text, /name="limit"[^>]*value="1"/);
  const wrong = await owner.submit(form, form, { ...wanted, limit: "0", step: "estimate" });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /id="limit-error"/);
  const none = { ...wanted, filter_user_id: "nobody", step: "estimate" };
  assert.match((await owner.submit(form, form, none)).text, /No stored call matches/);
  assert.ok(!(await owner.get("/dashboard/evals")).text.includes("vendor-b/gpt-4.1</a>"));
  const made = await owner.submit(form, form, wanted);
  assert.equal(made.status, 303, made.text);
  let text = "";
  const until = Date.now() + 60_000;
  while (Date.now() < until && !text.includes("judged-text")) {
    text = (await owner.get(made.location!)).text;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const [, question, ...answers] = text.split('class="judged-text">').map((part) =>
    part.slice(0, part.indexOf("</div>"))
  );
  assert.equal(question, asked);
  assert.equal(answers.length, 2);
  for (const answer of answers) assert.ok(answer!.length > 3, text);
  assert.match(text, /contains the stored answer/);
});
