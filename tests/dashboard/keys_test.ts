/** What is done with keys that are there, and the first call that a new one shows. */
import assert from "@std/assert";
import OpenAI from "openai";
import { shared } from "../support/service.ts";
import { hiddenFields, startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));
const list = "/dashboard/keys";

async function make(fields: Record<string, string | string[]>) {
  const owner = await world().owner();
  const made = await owner.submit(`${list}/new`, `${list}/new`, {
    ...{ name: "of a test", access: "all", expires: "never" },
    ...fields,
  });
  assert.equal(made.status, 303, made.text);
  const { text } = await owner.get(made.location!);
  const page = text.replaceAll("&#39;", "'").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  const key = /id="key-value">([^<]+)</.exec(page)?.[1] ?? "";
  return { id: made.location!.split("/").at(-2)!, key, page };
}

/** Runs the page's curl example as a request. */
async function runCurl(page: string): Promise<number> {
  const [, code = ""] = /aria-label="curl"><code>([\s\S]*?)<\/code>/.exec(page) ?? [];
  const [, address = ""] = /^curl (\S+)/.exec(code) ?? [];
  const headers = Object.fromEntries(
    [...code.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name, value]) => [name!, value!]),
  );
  const body = /-d '([\s\S]*)'/.exec(code)?.[1];
  const answer = await fetch(address, {
    headers,
    ...(body === undefined ? {} : { method: "POST", body }),
  });
  await answer.body?.cancel();
  return answer.status;
}

const kinds: {
  name: string;
  fields: Record<string, string | string[]>;
  model?: string;
  asks?: string;
}[] = [
  { name: "everything", fields: {}, model: "openai/" },
  {
    name: "a vendor's paths alone",
    fields: { access: "some", scope: ["vendor-b", "status"] },
    model: "gpt",
  },
  {
    name: "a vendor's paths and one of its models",
    fields: { access: "some", scope: ["vendor-b"], models: "vendor-b/gpt-4.1" },
    model: "gpt-4.1",
  },
  {
    name: "one model of another vendor",
    fields: { models: "vendor-c/claude-haiku-4-5" },
    model: "anthropic/claude-haiku-4-5",
  },
  {
    name: "exports alone",
    fields: { access: "some", scope: ["exports"] },
    asks: "/api/v1/exports",
  },
  {
    name: "a vendor without chat alone",
    fields: { access: "some", scope: ["vendor-c"] },
    asks: "/vendor-c/v1/models",
  },
];

for (const { name, fields, model, asks } of kinds) {
  Deno.test(`the examples of a new key work: ${name}`, async () => {
    const { key, page } = await make(fields);
    assert.equal(await runCurl(page), 200);
    const python = /aria-label="Python"><code>([\s\S]*?)<\/code>/.exec(page)?.[1] ?? "";
    assert.ok(python.includes(key));
    if (model === undefined) {
      assert.ok(python.includes(`${asks}"`));
      return;
    }
    // What the page's own client is given, the vendor's client library takes.
    const baseURL = /base_url="([^"]+)"/.exec(python)![1]!;
    const named = /model="([^"]+)"/.exec(python)![1]!;
    assert.ok(named.startsWith(model), named);
    const answer = await new OpenAI({ baseURL, apiKey: key }).chat.completions.create({
      model: named,
      messages: [{ role: "user", content: "Say hello." }],
    });
    assert.ok(answer.choices[0]!.message.content);
  });
}

Deno.test("a new key's page has the lines for coding agents where it may call every vendor", async () => {
  const { key, page } = await make({ models: "vendor-c/claude-haiku-4-5" });
  assert.ok(page.includes(`export ANTHROPIC_AUTH_TOKEN=${key}\n`));
  assert.ok(page.includes("ANTHROPIC_DEFAULT_SONNET_MODEL=anthropic/claude-haiku-4-5\n"));
  const ofOneVendor = await make({ access: "some", scope: ["vendor-b"] });
  assert.doesNotMatch(ofOneVendor.page, /For a coding agent/);
});

Deno.test("of a key with access to everything, the pages say that it can't administer", async () => {
  const owner = await world().owner();
  const { id } = await make({ name: "without scopes" });
  assert.match((await owner.get(`${list}/${id}`)).text, /<dt>Scopes<\/dt>\s*<dd>All but admin</);
  const row = (await owner.get(list)).text.split("<tr>").find((one) => one.includes(id))!;
  assert.match(row, />All but admin</);
});

async function callWith(key: string): Promise<{ status: number; code: string | undefined }> {
  const answer = await world().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "Hello" }],
  }, { authorization: `Bearer ${key}` });
  const body = await answer.json() as { error?: { code?: string } };
  return { status: answer.status, code: body.error?.code };
}

Deno.test("name and caps of a key are changed, the next call goes by it, the audit log has it", async () => {
  const owner = await world().owner();
  const { id, key } = await make({ name: "chekout", cap_day: "5" });
  const at = `${list}/${id}`;
  const { text: capped } = await owner.get(at);
  assert.match(capped, /name="cap_day"[^>]*value="5\.00"/);
  assert.doesNotMatch(capped, /charged before doesn't count/);
  // The key is in use, but not for calls.
  const status = await world().fetch("/api/v1/status", {
    headers: { authorization: `Bearer ${key}` },
  });
  await status.body?.cancel();
  assert.match((await owner.get(`${at}/revoke`)).text, /No call to a model with it is on record\./);
  assert.equal((await callWith(key)).status, 200);
  const wrong = await owner.submit(at, at, { name: "", cap_day: "much" });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /Expected an amount/);
  assert.match(wrong.text, /Enter a name/);
  const saved = await owner.submit(at, at, { name: "checkout", cap_day: "0.000000001" });
  assert.equal(saved.location, at);
  assert.match((await owner.get(list)).text, /of \$0\.000000001 a day/);
  assert.deepEqual(await callWith(key), { status: 402, code: "spend_cap_exceeded" });
  await owner.submit(at, at, { name: "checkout", cap_day: "" });
  assert.match(
    (await owner.get(at)).text,
    /charged before doesn(&#39;|')t count towards a new cap/,
  );
  assert.equal((await callWith(key)).status, 200);
  const { text } = await owner.get("/dashboard/settings/audit");
  assert.match(text, /api_key\.changed/);
  assert.match(text, /; cap a day: \$0\.000000001, was \$5\.00; name was: chekout</);
  assert.match(text, /; cap a day: none, was \$0\.000000001</);
  // This list waits until the calls are recorded.
  await owner.get("/dashboard/interactions");
  assert.match(
    (await owner.get(`${at}/revoke`)).text,
    /The last call to a model with it was <time/,
  );
  await owner.submit(`${at}/revoke`, `${at}/revoke`, {});
  assert.ok(!(await owner.get(at)).text.includes('name="cap_day"'));
  assert.equal((await owner.post(at, { csrf: "x", name: "late" })).status, 403);
});

Deno.test("a cap that is lowered while the form is open stays so when it gives a new name", async () => {
  const owner = await world().owner();
  const { id, key } = await make({ name: "reports", cap_day: "5" });
  const at = `${list}/${id}`;
  const { text } = await owner.get(at);
  const filled = [
    ...text.matchAll(/<input[^>]*? name="((?:shown_)?cap_\w+|shown_name|csrf)"[^>]*>/g),
  ]
    .map(([field, name]) => [name!, /value="([^"]*)"/.exec(field)?.[1] ?? ""]);
  await owner.submit(at, at, { name: "reports", cap_day: "0.000000001" });
  const renamed = await owner.post(at, { ...Object.fromEntries(filled), name: "billing" });
  assert.equal(renamed.location, at);
  assert.match((await owner.get(at)).text, /billing[^]*name="cap_day"[^>]*value="0\.000000001"/);
  // Nothing is spent of it yet.
  assert.equal((await callWith(key)).status, 402);
});

Deno.test("forms of a key that was revoked in another tab say so, and change nothing", async () => {
  const owner = await world().owner();
  const { id } = await world().createKey("--name", "shared");
  const at = `${list}/${id}`;
  const edit = hiddenFields((await owner.get(at)).text);
  const rotate = hiddenFields((await owner.get(`${at}/rotate`)).text);
  await owner.submit(`${at}/revoke`, `${at}/revoke`, {});
  for (const [path, form] of [[at, { ...edit, name: "mine" }], [`${at}/rotate`, rotate]] as const) {
    assert.equal((await owner.post(path, form)).location, at, path);
    const { text } = await owner.get(at);
    assert.match(text, /role="alert">Nothing was changed: the key has been revoked/);
    assert.match(text, /<h1>shared<\/h1>/);
  }
  // The browser's back button leads there.
  for (const page of ["revoke", "rotate"]) {
    assert.equal((await owner.get(`${at}/${page}`)).location, at, page);
  }
});

Deno.test("another account's key has no page", async () => {
  const owner = await world().owner();
  await world().admin("account", "create", "--name", "theirs");
  const theirs = await world().createKey("--account", "theirs");
  assert.equal((await owner.get(`${list}/${theirs.id}`)).status, 404);
});
