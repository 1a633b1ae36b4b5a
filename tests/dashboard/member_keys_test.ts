/** Erasing is for owners: by hand, and by the keys that others make. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import type { BrowserClient } from "../support/browser_client.ts";
import { signIn, startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));
const people = "/dashboard/settings/people";
const newKey = "/dashboard/keys/new";

let joined = 0;

/** Somebody who has just joined the first account. */
async function join(role: "member" | "owner"): Promise<{ browser: BrowserClient; name: string }> {
  const owner = await world().owner();
  const name = `person-${++joined}`;
  const email = `${name}@example.com`;
  await owner.submit(people, `${people}/invite`, { email, role });
  const token = /invitation\?token=([^<]+)</.exec((await owner.get(people)).text)?.[1];
  world().provider.become(name, email);
  const browser = world().browser();
  await signIn(browser, `invitation=${token}`);
  world().provider.become("Ada Lovelace", "ada@example.com");
  return { browser, name };
}

async function makeKey(browser: BrowserClient, fields: Record<string, string | string[]>) {
  const made = await browser.submit(newKey, newKey, { name: "of a test", ...fields });
  if (made.location === undefined) return { status: made.status, text: made.text, key: "", id: "" };
  const { text } = await browser.get(made.location);
  const key = /id="key-value">([^<]+)</.exec(text)?.[1] ?? "";
  return { status: made.status, text, key, id: made.location.split("/").at(-2)! };
}

async function ask(key: string, method: string, path: string, body?: unknown) {
  const answer = await fetch(world().baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

const erase = (key: string, more = {}) =>
  ask(key, "DELETE", "/api/v1/data", {
    start_date: "2026-01-01T00:00:00Z",
    confirm: true,
    ...more,
  });
const call = (key: string) =>
  ask(key, "POST", "/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "Hello" }],
  });

Deno.test("a key of a member calls, and erases nothing", async () => {
  const { browser } = await join("member");
  const { key } = await makeKey(browser, { access: "all", expires: "never" });
  assert.equal((await call(key)).status, 200);
  assert.equal((await erase(key)).status, 403);
  const queued = await ask(key, "POST", "/api/v1/data", { user_id: "u", reason: "test" });
  assert.equal(queued.status, 403);
});

Deno.test("only an owner can grant the right to erase, by hand either", async () => {
  const { browser } = await join("member");
  const form = (await browser.get(newKey)).text;
  assert.ok(!form.includes("data:delete"));
  const wanted = { access: "some", expires: "never" };
  const forged = await makeKey(browser, { ...wanted, scope: ["chat", "data:delete"] });
  assert.equal(forged.status, 400);
  assert.match(forged.text, /Only an owner can give the scope data:delete/);
  const { key, id } = await makeKey(browser, { ...wanted, scope: ["chat"] });
  assert.equal((await call(key)).status, 200);
  const { json } = await world().admin("key", "list", "--json");
  const stored = json as { id: string; scopes: string[] }[];
  assert.deepEqual(stored.find((one) => one.id === id)?.scopes, ["chat"]);
  assert.ok(stored.filter(({ scopes }) => scopes.length === 0).length > 0, "of the operator");
});

Deno.test("endpoints that are checked beside “Everything” make no key for everything", async () => {
  const owner = await world().owner();
  const form = (await owner.get(newKey)).text;
  assert.match(form, /value="all" checked[^>]*> Everything but <code>admin<\/code>/);
  const { status, text } = await makeKey(owner, { access: "all", scope: ["chat"] });
  assert.equal(status, 400);
  assert.match(text, /id="scopes-error">Choose “Only these endpoints”/);
  assert.match(text, /value="chat" checked/);
});

Deno.test("rotating an owner's key gives a member no key that erases", async () => {
  const owner = await world().owner();
  const { browser } = await join("member");
  for (const fields of [{ access: "all" }, { access: "some", scope: ["chat", "data:delete"] }]) {
    const { id } = await makeKey(owner, { ...fields, expires: "never" });
    const path = `/dashboard/keys/${id}/rotate`;
    assert.equal((await browser.get(path)).status, 403);
    const rotated = await browser.submit("/dashboard/keys", path, { overlap: "none" });
    assert.equal(rotated.status, 403);
    assert.ok(!(await browser.get("/dashboard/keys")).text.includes(path), "no link either");
    assert.equal((await owner.submit(path, path, { overlap: "none" })).status, 303);
  }
  const own = await makeKey(browser, { access: "all", expires: "never" });
  const path = `/dashboard/keys/${own.id}/rotate`;
  const next = await browser.submit(path, path, { overlap: "hour" });
  const { text } = await browser.get(next.location!);
  assert.equal((await erase(/id="key-value">([^<]+)</.exec(text)![1]!)).status, 403);
});

Deno.test("a member revokes an owner's key that calls, but none that administers", async () => {
  const owner = await world().owner();
  const { browser } = await join("member");
  const keys = "/dashboard/keys";
  const admin = await makeKey(owner, { access: "some", scope: "admin", expires: "never" });
  const page = `${keys}/${admin.id}`;
  assert.ok(!(await browser.get(keys)).text.includes(`${page}/revoke`), "no link");
  assert.equal((await browser.get(`${page}/revoke`)).location, page);
  assert.ok(!(await browser.get(page)).text.includes("cap_day"), "no form");
  for (
    const [path, fields] of [[page, { name: "x", cap_day: "0" }], [`${page}/revoke`, {}]] as const
  ) {
    const refused = await browser.submit(keys, path, fields);
    assert.equal(refused.status, 403, path);
    assert.match(refused.text, /ask an owner/);
  }
  const list = () => ask(admin.key, "GET", "/api/v1/admin/keys");
  assert.equal((await list()).status, 200);
  const calling = await makeKey(owner, { access: "all", expires: "never" });
  await browser.submit(`${keys}/${calling.id}/revoke`, `${keys}/${calling.id}/revoke`, {});
  assert.equal((await call(calling.key)).status, 401);
  await owner.submit(`${page}/revoke`, `${page}/revoke`, {});
  assert.equal((await list()).status, 401);
});

Deno.test("an owner's key erases, and each erasure by API stands in the audit log", async () => {
  const owner = await world().owner();
  const { key, id } = await makeKey(owner, { access: "all", expires: "never" });
  assert.equal((await call(key)).status, 200);
  const audit = async () => (await owner.get("/dashboard/settings/audit")).text;
  const dry = await erase(key, { confirm: undefined, dry_run: true });
  assert.equal(dry.status, 200);
  assert.ok(!(await audit()).includes("data.deleted"), "a dry run changes nothing");
  const done = await erase(key);
  assert.equal(done.status, 200);
  const queued = await ask(key, "POST", "/api/v1/data", { user_id: "secret user", reason: "test" });
  assert.equal(queued.status, 200);
  const shown = await audit();
  assert.ok(!shown.includes("secret user"));
  for (const receipt of [done.body.deletion_id, queued.body.request_id]) {
    assert.ok(shown.includes(receipt), receipt);
  }
  assert.ok(shown.includes(`with key ${id}`));
  // Under the name of its other acts.
  assert.match(shown, new RegExp(`API key &#39;[^<]+&#39; \\(${key.slice(0, 12)}…\\)`));
  assert.match(
    shown,
    new RegExp(`data.deletion_done[\\s\\S]*interactions: ${done.body.deleted_count}`),
  );
});

Deno.test("removing a person offers to revoke their keys, and does so", async () => {
  const owner = await world().owner();
  for (const revokes of [true, false]) {
    const { browser, name } = await join("member");
    const { key } = await makeKey(browser, { name: `of ${name}`, access: "all", expires: "never" });
    assert.match((await owner.get("/dashboard/keys")).text, new RegExp(`by ${name}@example.com`));
    const row = (await owner.get(people)).text.split("<tr").find((one) => one.includes(name))!;
    const path = /href="([^"]+\/remove)"/.exec(row)![1]!;
    const offer = (await owner.get(path)).text;
    assert.match(offer, new RegExp(`Revoke the 1 key they made: of ${name}`));
    const removed = await owner.submit(path, path, revokes ? { revoke_keys: "yes" } : {});
    assert.equal(removed.status, 303);
    assert.equal((await ask(key, "GET", "/api/v1/status")).status, revokes ? 401 : 200);
    const audit = (await owner.get("/dashboard/settings/audit")).text;
    assert.equal(audit.includes(`of ${name}</div>`), true);
    assert.equal(/api_key\.revoked/.test(audit), true);
  }
  assert.match((await owner.get("/dashboard/keys")).text, /by a removed person/);
});

Deno.test("who takes a role from a person reads which of their keys can still do more", async () => {
  const owner = await world().owner();
  const { browser, name } = await join("owner");
  const erasing = await makeKey(browser, { name: `all of ${name}`, access: "all" });
  await makeKey(browser, { name: `calls of ${name}`, access: "some", scope: "chat" });
  const path = new RegExp(`action="(${people}/[^/"]+/role)"[\\s\\S]{0,600}?Role of ${name}`);
  const change = async (role: string) => {
    const at = path.exec((await owner.get(people)).text)![1]!;
    assert.equal((await owner.submit(people, at, { role })).status, 303);
    return (await owner.get(people)).text;
  };
  const asMember = await change("member");
  assert.match(asMember, new RegExp(`A key of theirs can do more: all of ${name}\\.`));
  assert.equal((await erase(erasing.key, { confirm: undefined, dry_run: true })).status, 200);
  // A viewer could make none of these.
  const asViewer = await change("viewer");
  assert.match(
    asViewer,
    new RegExp(`2 keys of theirs can do more: (all|calls) of ${name}, (all|calls) of ${name}\\.`),
  );
  assert.doesNotMatch(await change("owner"), /can do more/);
  for (let at = 0; at < 5; at++) await makeKey(browser, { name: "名".repeat(200), access: "all" });
  assert.match(await change("member"), /6 keys of theirs can do more: .*名…, and 1 other\./);
});
