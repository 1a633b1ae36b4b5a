/** What another site must not bring about in the browser of somebody who is signed in here. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import type { Answer, BrowserClient } from "../support/browser_client.ts";
import { beginSignIn, hiddenFields, signIn, startDashboard } from "./world.ts";

const world = shared(() => startDashboard());
const people = "/dashboard/settings/people";

/** A token of an invitation to the second account, which `mallory` owns. */
async function invitationToken(email = "ada@example.com"): Promise<string> {
  const { json } = await world().admin(
    ...["invite", "--email", email, "--account", "mallory", "--role", "member", "--json"],
  );
  return new URL(String((json as { link: string }).link)).searchParams.get("token")!;
}

async function prepared(): Promise<BrowserClient> {
  const owner = await world().owner();
  await world().admin("account", "create", "--name", "mallory").catch(() => {});
  return owner;
}

async function accountShown(browser: BrowserClient): Promise<string> {
  return /account-name">\s*([^<]*?)\s*</.exec((await browser.get("/dashboard/keys")).text)?.[1] ??
    "";
}

Deno.test("a link of another site makes nobody join, and changes no account that is shown", async () => {
  const owner = await prepared();
  const before = await accountShown(owner);
  const token = await invitationToken();
  for (
    const path of [
      `/dashboard/sign-in/start?invitation=${token}`,
      `/dashboard/invitation?token=${token}`,
      `/dashboard/sign-in`,
      `/dashboard/sign-in/start`,
    ]
  ) {
    await owner.follow(path);
    assert.equal(await accountShown(owner), before, path);
    assert.ok(!(await owner.get(people)).text.includes("Switch to mallory"), path);
  }
});

Deno.test("a form of another site begins no sign-in, with a token or without", async () => {
  await prepared();
  const invitation = await invitationToken();
  for (const site of ["cross-site", "same-origin", undefined] as const) {
    const browser = world().browser();
    const page = await browser.get(`/dashboard/invitation?token=${invitation}`);
    assert.match(page.text, /mallory<\/strong> as\s+member/, "the account is named");
    const fields = hiddenFields(page.text);
    browser.site = site;
    const begin = (sent: Record<string, string>) =>
      browser.post("/dashboard/sign-in/start", sent).then(({ status }) => status);
    assert.equal(await begin({ invitation }), 403);
    assert.equal(await begin({ invitation, csrf: "A".repeat(43) }), 403);
    assert.equal(await begin(fields), site === "cross-site" ? 403 : 303);
  }
  // The token of one browser is worth nothing in another.
  const [one, other] = [world().browser(), world().browser()];
  const fields = hiddenFields((await one.get(`/dashboard/invitation?token=${invitation}`)).text);
  await other.get("/dashboard/sign-in");
  assert.equal((await other.post("/dashboard/sign-in/start", fields)).status, 403);
});

Deno.test("after sign-in a page of ours asks, and only its own form is an answer", async () => {
  const owner = await prepared();
  const before = await accountShown(owner);
  const invitation = await invitationToken();
  const ask = async () => {
    const begun = await beginSignIn(owner, `invitation=${invitation}`);
    return await owner.follow(begun.location!);
  };
  const asked = await ask();
  assert.match(asked.text, /Join <strong>mallory<\/strong> as <strong>member<\/strong>/);
  assert.match(asked.text, /ada@example.com/);
  const fields = hiddenFields(asked.text);
  for (const sent of [{}, { csrf: "A".repeat(43) }] as Record<string, string>[]) {
    assert.equal((await owner.post("/dashboard/join", { ...sent, answer: "yes" })).status, 403);
  }
  owner.site = "cross-site";
  const forged = await owner.post("/dashboard/join", { ...fields, answer: "yes" });
  owner.site = undefined;
  assert.equal(forged.status, 403);
  const stranger = world().browser();
  assert.equal((await stranger.post("/dashboard/join", { ...fields, answer: "yes" })).status, 403);
  assert.equal((await stranger.get("/dashboard/join")).status, 400);
  assert.equal(await accountShown(owner), before);

  const declined = await owner.post("/dashboard/join", { ...fields, answer: "no" });
  assert.equal(declined.location, "/dashboard");
  assert.equal(await accountShown(owner), before);
  assert.ok(!(await owner.get(people)).text.includes("Switch to mallory"));
  assert.equal((await owner.post("/dashboard/join", { ...fields, answer: "yes" })).status, 403);

  const again = hiddenFields((await ask()).text);
  assert.equal((await owner.post("/dashboard/join", { ...again, answer: "yes" })).status, 303);
  assert.equal(await accountShown(owner), "mallory");
  // Accounts are switched by our own form alone.
  await owner.get("/dashboard/account?account=1");
  assert.equal(await accountShown(owner), "mallory");
  await owner.submit("/dashboard/keys", "/dashboard/account", { account: "1" });
  assert.equal(await accountShown(owner), before);
  // After another sign-in the same account is shown.
  await signIn(owner);
  assert.equal(await accountShown(owner), before);
});

Deno.test("the claim link owns nothing until its person says so", async () => {
  await using fresh = await startDashboard();
  const browser = fresh.browser();
  const begun = await beginSignIn(
    browser,
    new URL(fresh.claimLink).search.replace("?token", "claim"),
  );
  const asked = await browser.follow(begun.location!);
  assert.match(asked.text, /as <strong>owner<\/strong>/);
  assert.match(
    (await fresh.browser().get("/dashboard/sign-in")).text,
    /This gateway has no owner yet/,
  );
  assert.equal((await browser.get("/dashboard/keys")).status, 303, "no session yet");
  const fields = hiddenFields(asked.text);
  await browser.post("/dashboard/join", { ...fields, answer: "yes" });
  assert.equal((await browser.get("/dashboard/keys")).status, 200);
});

Deno.test("a stranger who is invited by address is asked too", async () => {
  await prepared();
  await invitationToken("eve@example.com");
  world().provider.become("Eve", "eve@example.com");
  const eve = world().browser();
  const begun = await beginSignIn(eve);
  const asked = await eve.follow(begun.location!);
  world().provider.become("Ada Lovelace", "ada@example.com");
  assert.match(asked.text, /Join <strong>mallory<\/strong>/);
  assert.equal((await eve.get("/dashboard/keys")).status, 303);
});

Deno.test("a link of another site takes no notice away and downloads nothing", async () => {
  const owner = await prepared();
  const made = await owner.submit("/dashboard/keys/new", "/dashboard/keys/new", {
    name: "kept",
    access: "all",
    expires: "never",
  });
  owner.site = "cross-site";
  assert.ok(!(await owner.get(made.location!)).text.includes("key-value"));
  const download = await owner.get("/dashboard/interactions/export?format=csv");
  owner.site = "same-origin";
  assert.equal(download.status, 303);
  assert.match((await owner.get(made.location!)).text, /key-value/);
  assert.equal((await owner.get("/dashboard/interactions/export?format=csv")).status, 200);
  owner.site = undefined;
});

Deno.test("an address that begins too many sign-ins, or guesses links, must wait", async () => {
  await using fresh = await startDashboard({ env: { TRUST_PROXY: "true" } });
  const browser = fresh.browser();
  const page = await browser.get(`/dashboard/claim${new URL(fresh.claimLink).search}`);
  const fields = hiddenFields(page.text);
  /** Ten at once, since one more may be made each second, however slow the machine is. */
  const statusesUntilLimited = async (most: number, act: () => Promise<Answer>) => {
    const seen = new Set<number>();
    for (let acts = 0; acts < most && !seen.has(429); acts += 10) {
      for (const { status, headers } of await Promise.all(Array.from({ length: 10 }, act))) {
        seen.add(status);
        if (status === 429) assert.match(headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      }
    }
    return [...seen].sort();
  };
  const start = () => browser.post("/dashboard/sign-in/start", fields);
  assert.deepEqual(await statusesUntilLimited(300, start), [303, 429]);
  // Fewer than an address may make that began no sign-in.
  const guess = () => browser.get("/dashboard/invitation?token=guess");
  assert.ok((await statusesUntilLimited(50, guess)).includes(429));
  assert.equal((await browser.get("/dashboard/sign-in")).status, 200);
});
