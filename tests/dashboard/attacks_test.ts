/** What must not work, tried over HTTP. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { csrfIn } from "../support/browser_client.ts";
import { beginSignIn, type DashboardWorld, signIn, startDashboard } from "./world.ts";

const world = shared(() => startDashboard());

/** The provider's way back, with its code and state, not yet taken. */
async function callbackOf(at: DashboardWorld, query = "") {
  const browser = at.browser();
  const start = await beginSignIn(browser, query);
  const back = await browser.get(start.location ?? "");
  return { browser, callback: new URL(back.location ?? "") };
}

Deno.test("a forged state is refused, and so is another browser's", async () => {
  await world().owner();
  const { browser, callback } = await callbackOf(world());
  const forged = new URL(callback);
  forged.searchParams.set("state", "A".repeat(43));
  assert.equal((await world().browser().get(callback.href)).status, 400);
  assert.equal((await browser.get(forged.href)).status, 400);
  // A link from elsewhere with any state must not end the sign-in that is under way.
  assert.equal((await browser.get(callback.href)).status, 303);
});

Deno.test("sign-ins that one browser began in several tabs all succeed, in any order", async () => {
  await world().owner();
  const browser = world().browser();
  const tabs = [];
  for (const page of ["/dashboard/keys", "/dashboard/settings/people"]) {
    const { location } = await beginSignIn(browser, `return_to=${page}`);
    tabs.push({ page, callback: (await browser.get(location ?? "")).location ?? "" });
  }
  for (const { page, callback } of tabs) {
    const done = await browser.get(callback);
    assert.deepEqual([done.status, done.location], [303, page]);
    assert.equal((await browser.get(callback)).status, 400, "once");
  }
  const left = [...browser.cookies.keys()].filter((name) => name.includes("sign_in"));
  assert.deepEqual(left, []);
});

Deno.test("the cookie of sign-ins under way has a limit: the oldest is over", async () => {
  await world().owner();
  const first = await callbackOf(world());
  const { browser } = first;
  for (let tab = 0; tab < 4; tab++) await beginSignIn(browser);
  const size = () => [...browser.cookies].join("").length;
  const before = size();
  await beginSignIn(browser);
  assert.equal(size(), before);
  assert.equal((await browser.get(first.callback.href)).status, 400);
});

Deno.test("a code is accepted once, whoever sends it", async () => {
  await world().owner();
  const { browser, callback } = await callbackOf(world());
  const secret = [...browser.cookies].find(([name]) => name.startsWith("gateway_sign_in"))!;
  assert.equal((await browser.get(callback.href)).status, 303);
  const thief = world().browser();
  thief.setCookie(...secret);
  assert.equal((await thief.get(callback.href)).status, 400);
  const other = await callbackOf(world());
  other.callback.searchParams.set("code", callback.searchParams.get("code")!);
  // The provider has already used the code.
  assert.equal((await other.browser.get(other.callback.href)).status, 502);
});

Deno.test("the claim link works for nobody after the owner", async () => {
  await world().owner();
  const token = new URL(world().claimLink).searchParams.get("token");
  const browser = world().browser();
  const { status, text } = await signIn(browser, `claim=${token}`);
  assert.equal(status, 403);
  assert.match(text, /claim link doesn(&#39;|')t work/);
  assert.deepEqual([...browser.cookies.keys()], []);
});

Deno.test("a form without its token, or with another session's, changes nothing", async () => {
  const owner = await world().owner();
  const other = world().browser();
  await signIn(other);
  const theirs = csrfIn((await other.get("/dashboard/keys")).text);
  assert.equal(theirs.length, 43);
  for (const fields of [{}, { csrf: "" }, { csrf: theirs }] as Record<string, string>[]) {
    const refused = await owner.post("/dashboard/keys/new", { name: "forged", ...fields });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /form has expired/);
  }
  assert.ok(!(await owner.get("/dashboard/keys")).text.includes("forged"));
  const asJson = await fetch(`${world().baseUrl}/dashboard/keys/new`, {
    method: "POST",
    headers: {
      "content-type": "text/plain",
      cookie: [...owner.cookies].map((pair) => pair.join("=")).join("; "),
    },
    body: `csrf=${csrfIn((await owner.get("/dashboard/keys")).text)}&name=forged`,
  });
  assert.equal(asJson.status, 403);
  await asJson.body?.cancel();
});

Deno.test("a form with a text that can't be stored is refused by its field's name", async () => {
  const owner = await world().owner();
  const settings = "/dashboard/settings";
  const forms: [string, string, Record<string, string>][] = [
    [`${settings}/webhooks/new`, "url", { url: "https://203.0.113.7/a\0" }],
    [`${settings}/budgets/new`, "name", { kind: "app", name: "a\0", per: "day", usd: "1" }],
    ["/dashboard/keys/new", "name", { name: "a\0" }],
    ["/dashboard/keys/new", "models", { name: "a", models: "gpt-4.1\0" }],
  ];
  for (const [path, field, fields] of forms) {
    const { status, text } = await owner.submit(path, path, fields);
    assert.equal(status, 400, path);
    assert.match(text, new RegExp(`Nothing was changed. ${field}: expected text without U\\+0000`));
  }
});

Deno.test("a session that was planted before sign-in is not the one after it", async () => {
  await world().owner();
  const browser = world().browser();
  const name = `gateway_session_${new URL(world().baseUrl).port}`;
  browser.setCookie(name, "planted".padEnd(43, "0"));
  await signIn(browser);
  const first = browser.cookies.get(name);
  assert.notEqual(first, "planted".padEnd(43, "0"));
  await signIn(browser);
  assert.notEqual(browser.cookies.get(name), first);
  const thief = world().browser();
  thief.setCookie(name, first!);
  assert.equal((await thief.get("/dashboard/keys")).status, 303, "the session before is over");
});

Deno.test("after sign-in nobody is sent elsewhere", async () => {
  await world().owner();
  const wanted = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/dashboard/../../evil",
    "/dashboard//evil.example",
    "/dashboard/@evil.example/..//x",
    "javascript:alert(1)",
    "/api/v1/status",
    "/dashboard/keys\r\nset-cookie: a=b",
  ];
  for (const one of wanted) {
    const { browser, callback } = await callbackOf(
      world(),
      new URLSearchParams({ return_to: one }).toString(),
    );
    assert.equal((await browser.get(callback.href)).location, "/dashboard/overview", one);
  }
  const { browser, callback } = await callbackOf(
    world(),
    "return_to=%2Fdashboard%2Fsettings%2Faudit%3Fbefore%3D9",
  );
  assert.equal((await browser.get(callback.href)).location, "/dashboard/settings/audit?before=9");
});

Deno.test("names are shown as text, wherever they come from", async () => {
  const owner = await world().owner();
  const name = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;
  const made = await owner.submit("/dashboard/keys/new", "/dashboard/keys/new", {
    name,
    access: "all",
    expires: "never",
  });
  assert.equal(made.status, 303);
  for (const path of [made.location!, "/dashboard/keys", "/dashboard/settings/audit"]) {
    const { text } = await owner.get(path);
    assert.ok(text.includes("&lt;script&gt;alert(1)"), path);
    assert.ok(!text.includes("<script>alert"), path);
    assert.ok(!text.includes("<img src=x"), path);
  }
  const wrong = await owner.submit("/dashboard/keys/new", "/dashboard/keys/new", {
    name,
    models: `</textarea>${name}`,
  });
  assert.equal(wrong.status, 400);
  assert.ok(!wrong.text.includes("</textarea><script"));
});

Deno.test("a name that turns the direction of text reads as no other one, and turns nothing behind it", async () => {
  const owner = await world().owner();
  const name = "\u202enigeb";
  const named = { name, access: "all", expires: "never" };
  await owner.submit("/dashboard/keys/new", "/dashboard/keys/new", named);
  const { text } = await owner.get("/dashboard/keys");
  assert.match(text, /<bdi class="control" data-code="U\+202E">\u202e<\/bdi>nigeb/);
});

Deno.test("a session can't be used as a key, nor a key as a session", async () => {
  const owner = await world().owner();
  const [[name, token] = ["", ""]] = [...owner.cookies].filter(([one]) => /session/.test(one));
  for (const headers of [{ authorization: `Bearer ${token}` }, { cookie: `${name}=${token}` }]) {
    const answer = await fetch(`${world().baseUrl}/api/v1/status`, { headers });
    assert.equal(answer.status, 401);
    await answer.body?.cancel();
  }
  const browser = world().browser();
  browser.setCookie(name, world().key);
  assert.equal((await browser.get("/dashboard/keys")).status, 303);
  const withKey = await world().fetch("/dashboard/keys");
  assert.equal(withKey.status, 303);
  await withKey.body?.cancel();
});

Deno.test("another account's ids are nothing here", async () => {
  const owner = await world().owner();
  await world().admin("account", "create", "--name", "theirs");
  const theirs = await world().createKey("--account", "theirs");
  const csrf = csrfIn((await owner.get("/dashboard/keys")).text);
  const gone = ["revoke", "rotate", "created"].map((one) => `/dashboard/keys/${theirs.id}/${one}`);
  for (const path of gone) assert.equal((await owner.get(path)).status, 404, path);
  const acts = [
    ...gone.slice(0, 2),
    "/dashboard/settings/people/somebody/role",
    "/dashboard/settings/people/somebody/remove",
    "/dashboard/settings/people/invitations/some/withdraw",
    "/dashboard/settings/vendor-keys/vendor-b/test",
    "/dashboard/settings/vendor-keys/vendor-z",
  ];
  for (const path of acts) {
    const answer = await owner.post(path, { csrf, role: "owner", key: "sk-of-a-test-0123456789" });
    assert.equal(answer.status, 404, path);
  }
  const status = await fetch(`${world().baseUrl}/api/v1/status`, {
    headers: { authorization: `Bearer ${theirs.key}` },
  });
  assert.equal(status.status, 200);
  await status.body?.cancel();
  await owner.post("/dashboard/account", { csrf, account: String(theirs.account_id) });
  assert.ok(!(await owner.get("/dashboard/keys")).text.includes(theirs.id));
});

Deno.test("a page left open before switching accounts changes nothing in the account shown since", async () => {
  await world().owner();
  world().provider.become("Eve", "eve@example.com");
  const browser = world().browser();
  for (const account of ["1", "second"]) {
    if (account !== "1") await world().admin("account", "create", "--name", account);
    const invite = ["--account", account, "--role", "owner", "--email", "eve@example.com"];
    const { json } = await world().admin("invite", ...invite);
    const { link } = json as { link: string };
    await signIn(browser, `invitation=${new URL(link).searchParams.get("token")}`);
  }
  world().provider.become("Ada Lovelace", "ada@example.com");
  const leftOpen = csrfIn((await browser.get("/dashboard/keys/new")).text);
  const switched = await browser.submit("/dashboard/keys", "/dashboard/account", { account: "1" });
  assert.equal(switched.location, "/dashboard");
  const named = { name: "of-the-second", access: "all", expires: "never", csrf: leftOpen };
  const refused = await browser.post("/dashboard/keys/new", named);
  assert.equal(refused.status, 403);
  assert.match(refused.text, /signed in or switched accounts/);
  assert.ok(!(await browser.get("/dashboard/keys")).text.includes(named.name));
  // Its account can be chosen again from there, and who leaves by it is signed out.
  await browser.post("/dashboard/account", { csrf: leftOpen, account: "1" });
  const sessions = () => [...browser.cookies].filter(([name]) => name.includes("session"));
  const [[name, token] = ["", ""]] = sessions();
  const out = await browser.post("/dashboard/sign-out", { csrf: leftOpen });
  assert.equal(out.location, "/dashboard/sign-in?signed_out=1");
  assert.deepEqual(sessions(), []);
  browser.setCookie(name, token);
  assert.equal((await browser.get("/dashboard/keys")).status, 303, "a copy of the cookie is void");
});

Deno.test("signing out everywhere ends every session of the person", async () => {
  const owner = await world().owner();
  const [one, other] = [world().browser(), world().browser()];
  await signIn(one);
  await signIn(other);
  const out = await one.submit("/dashboard/keys", "/dashboard/sign-out-everywhere");
  assert.equal(out.location, "/dashboard/sign-in?signed_out=1");
  for (const browser of [one, other, owner]) {
    assert.equal((await browser.get("/dashboard/keys")).status, 303);
  }
});

Deno.test("sending a form after the session ended says so, and leads back to its page", async () => {
  await world().owner();
  const browser = world().browser();
  await signIn(browser);
  const page = "/dashboard/evals/new?model=gpt-4.1";
  const csrf = csrfIn((await browser.get(page)).text);
  const elsewhere = world().browser();
  await signIn(elsewhere);
  await elsewhere.submit("/dashboard/keys", "/dashboard/sign-out-everywhere");
  browser.page = page;
  const { location = "" } = await browser.post("/dashboard/evals/new", { csrf, name: "lost" });
  const asked = await browser.get(location);
  assert.match(asked.text, /session had ended before you sent the form, so nothing was changed/);
  const query = new URL(location, world().baseUrl).searchParams;
  const arrived = await signIn(browser, new URLSearchParams(query).toString());
  assert.match(arrived.text, /<h1[^>]*>New evaluation/);
  const old = await browser.post("/dashboard/evals/new", { csrf, name: "lost" });
  assert.equal(old.status, 403);
  assert.match(
    old.text,
    /href="\/dashboard\/evals\/new\?model=gpt-4.1"[^>]*>\s*Open the page again/,
  );
  assert.ok(!(await browser.get("/dashboard/evals")).text.includes("lost"));
});

Deno.test("no token, key or code is in the log", async () => {
  await world().owner();
  const log = world().log.join("\n");
  assert.match(log, /route=\/dashboard/);
  const token = new URL(world().claimLink).searchParams.get("token")!;
  assert.ok(!log.includes(token));
  // A code of the identity provider, in an address; refusals say their own code.
  assert.ok(!/[?&]code=|dmt_[0-9A-Za-z]{20}/.test(log));
});
