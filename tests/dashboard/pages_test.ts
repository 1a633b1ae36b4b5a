import assert from "@std/assert";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createMigrated } from "../support/databases.ts";
import { isPostgresPreferred, startTestService } from "../support/service.ts";
import { BrowserClient, csrfIn } from "../support/browser_client.ts";
import { beginSignIn, signIn, startDashboard } from "./world.ts";

const people = "/dashboard/settings/people";
const audit = "/dashboard/settings/audit";

Deno.test("without sign-in the dashboard says how to turn it on", async () => {
  await using service = await startTestService({ env: { LOCAL_SIGN_IN: "false" } });
  assert.ok(!service.greeting.join("\n").includes("claim"));
  const browser = new BrowserClient(service.baseUrl);
  for (const path of ["/dashboard", "/dashboard/keys", "/dashboard/claim?token=x"]) {
    const { status, text, headers } = await browser.get(path);
    assert.equal(status, 200);
    assert.match(text, /OAUTH_ISSUER/);
    assert.equal(headers.get("content-security-policy"), "default-src 'self'");
  }
  assert.equal((await browser.post("/dashboard/keys/new", { name: "x" })).status, 404);
});

Deno.test("pages carry the security headers, and nothing that the policy forbids", async () => {
  await using world = await startDashboard();
  const owner = await world.owner();
  const settings = ["vendor-keys", "people", "audit"].map((one) => `/dashboard/settings/${one}`);
  const overview = ["/dashboard/overview", "/dashboard/overview?range=24h&by=app"];
  const keys = ["/dashboard/keys", "/dashboard/keys/new"];
  for (const path of [...overview, ...keys, ...settings, "/dashboard/none"]) {
    const { headers, text } = await owner.get(path);
    assert.equal(headers.get("content-security-policy"), "default-src 'self'", path);
    assert.equal(headers.get("cache-control"), "no-store", path);
    const policy = path.endsWith("/none")
      ? "base-uri 'none'"
      : "base-uri 'none'; form-action 'self'";
    const inPage = /<meta http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(text)?.[1];
    assert.equal(inPage?.replaceAll("&#39;", "'"), policy, path);
    assert.ok(!/\sstyle=|\son\w+=|<style|src="data:|<script>/.test(text), path);
    for (const [, address] of text.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)) {
      const asset = await owner.get(address!);
      assert.equal(asset.status, 200);
      assert.match(asset.headers.get("cache-control") ?? "", /immutable/);
    }
  }
});

Deno.test("an invitation is shown once, is for its address, and ends when it is withdrawn", async () => {
  await using world = await startDashboard();
  const owner = await world.owner();
  assert.match((await owner.get(people)).text, /Ada Lovelace/);
  const id = /people\/([^/"]+)\/role/.exec((await owner.get(people)).text)?.[1];
  const last = await owner.submit(people, `${people}/${id}/role`, { role: "viewer" });
  assert.equal(last.location, people);
  assert.match((await owner.get(people)).text, /needs an owner/);
  const wrong = await owner.submit(people, `${people}/invite`, { email: "nobody", role: "viewer" });
  assert.equal(wrong.status, 400);
  const [form = ""] = /<form[^>]*\/invite".*?<\/form>/.exec(wrong.text) ?? [];
  assert.match(form, /<option value="viewer" selected>/, "the role stays as it was chosen");
  await owner.submit(people, `${people}/invite`, { email: "ben@example.com", role: "viewer" });
  const shown = (await owner.get(people)).text;
  const link = /id="invitation-link">([^<]+)</.exec(shown)?.[1] ?? "";
  assert.ok(link.startsWith(`${world.baseUrl}/dashboard/invitation?token=`));
  assert.ok(!(await owner.get(people)).text.includes(link), "the link is shown once");
  // The simulated person is Ada, whose address is another.
  const start = `invitation=${new URL(link).searchParams.get("token")}`;
  assert.match((await signIn(world.browser(), start)).text, /for someone else/);
  const invitation = /invitations\/([^/"]+)\/withdraw/.exec(shown)?.[1];
  await owner.submit(people, `${people}/invitations/${invitation}/withdraw`);
  assert.match((await signIn(world.browser(), start)).text, /invitation doesn/);
  assert.match((await owner.get(audit)).text, /invitation\.withdrawn/);
});

Deno.test("invitations are listed in pages, each once, and their file has all", async () => {
  await using world = await startDashboard();
  const owner = await world.owner();
  for (let n = 0; n < 52; n++) {
    await owner.submit(people, `${people}/invite`, { email: `p${n}@example.com`, role: "viewer" });
  }
  const listed = (text: string) => text.match(/invitations\/[^/"]+\/withdraw/g)?.length;
  const { text: first } = await owner.get(people);
  assert.equal(listed(first), 50);
  const [, next] = /href="([^"]*invited_after=[^"]*)">\s*More invitations/.exec(first) ?? [];
  const { text: second } = await owner.get(next!);
  assert.equal(listed(second), 2);
  assert.ok(!second.includes("More invitations"));
  const { text: file } = await owner.get(`${people}/invitations/csv`);
  const emails = new Set(file.match(/p\d+@example\.com/g));
  assert.equal(emails.size, 52);
});

Deno.test("a viewer sees and changes nothing, and is out once removed", async () => {
  await using world = await startDashboard();
  const owner = await world.owner();
  await owner.submit(people, `${people}/invite`, { email: "ben@example.com", role: "viewer" });
  const token = /invitation\?token=([^<]+)</.exec((await owner.get(people)).text)?.[1];
  world.provider.become("Ben", "ben@example.com");
  const ben = world.browser();
  const arrived = await signIn(ben, `invitation=${token}`);
  assert.equal(arrived.status, 200);
  assert.ok(!arrived.text.includes("Create API Key"));
  const csrf = csrfIn(arrived.text);
  const key = /keys\/([^/"]+)\/revoke/.exec((await owner.get("/dashboard/keys")).text)?.[1];
  const id = /people\/([^/"]+)\/role/.exec((await owner.get(people)).text)?.[1];
  for (const path of ["/dashboard/keys/new", `/dashboard/keys/${key}/revoke`]) {
    assert.equal((await ben.get(path)).status, 403, path);
  }
  const acts = [
    "/dashboard/keys/new",
    `/dashboard/keys/${key}/revoke`,
    `/dashboard/keys/${key}/rotate`,
    "/dashboard/settings/vendor-keys/vendor-b",
    "/dashboard/settings/vendor-keys/vendor-b/remove",
    `${people}/invite`,
    `${people}/${id}/role`,
    `${people}/${id}/remove`,
  ];
  for (const path of acts) {
    const { status } = await ben.post(path, { csrf, name: "x", role: "owner", email: "e@e.org" });
    assert.equal(status, 403, path);
  }
  const ids = [...(await owner.get(people)).text.matchAll(/people\/([^/"]+)\/remove/g)];
  const bens = ids.map(([, one]) => one!).find((one) => one !== id);
  // Ben becomes a member, who makes keys and leaves people alone.
  await owner.submit(people, `${people}/${bens}/role`, { role: "member" });
  assert.equal((await ben.get("/dashboard/keys/new")).status, 200);
  assert.equal((await ben.post(`${people}/${id}/remove`, { csrf })).status, 403);
  await owner.submit(`${people}/${bens}/remove`, `${people}/${bens}/remove`);
  assert.equal((await ben.get("/dashboard/keys")).status, 303);
  assert.match((await signIn(ben)).text, /You have no access/);
  assert.match((await owner.get(audit)).text, /person\.removed[^]*person\.role_changed/);
});

Deno.test("a key is made with what the form says, and rotated with an overlap", async () => {
  await using world = await startDashboard();
  const owner = await world.owner();
  const made = await owner.submit("/dashboard/keys/new", "/dashboard/keys/new", {
    name: "narrow",
    environment: "staging",
    access: "some",
    scope: ["status"],
    expires: "30",
    cap_day: "1.50",
    on_disconnect: "drain",
  });
  const valueOf = (text: string) => /id="key-value">([^<]+)</.exec(text)?.[1] ?? "";
  const value = valueOf((await owner.get(made.location!)).text);
  const ask = (key: string, path: string) =>
    world.fetch(path, { headers: { authorization: `Bearer ${key}` } }).then(async (answer) => {
      await answer.body?.cancel();
      return answer.status;
    });
  assert.equal(await ask(value, "/api/v1/status"), 200);
  assert.equal(await ask(value, "/chat/v1/models"), 403);
  const { json } = await world.admin("key", "list", "--json");
  const key = (json as Record<string, unknown>[]).find(({ name }) => name === "narrow")!;
  assert.deepEqual([key.scopes, key.on_disconnect], [["status"], "drain"]);
  const rotate = `/dashboard/keys/${key.id}/rotate`;
  const next = await owner.submit(rotate, rotate, { overlap: "hour" });
  const replaced = valueOf((await owner.get(next.location!)).text);
  assert.notEqual(replaced, value);
  for (const one of [value, replaced]) assert.equal(await ask(one, "/api/v1/status"), 200);
  const { location } = await owner.get(rotate);
  assert.equal(location, `/dashboard/keys/${key.id}`, "a key is replaced once");
  const again = `/dashboard/keys/${next.location!.split("/").at(-2)}/rotate`;
  await owner.submit(again, again, { overlap: "none" });
  assert.equal(await ask(replaced, "/api/v1/status"), 401);
  assert.match((await owner.get("/dashboard/keys")).text, /staging/);
  assert.match((await owner.get(audit)).text, /api_key\.rotated/);
});

Deno.test("a provider without OpenID signs people in by its three addresses", async () => {
  await using world = await startDashboard({
    addresses: true,
    env: { OAUTH_EMAIL_DOMAINS: "example.com" },
  });
  const owner = await world.owner();
  assert.match((await owner.get(people)).text, /ada@example.com/);
  world.provider.become("Ben", "ben@example.com");
  const ben = world.browser();
  assert.equal((await signIn(ben)).status, 200, "an allowed domain");
  assert.match((await ben.get("/dashboard/keys")).text, /Create API Key/);
  world.provider.become("Eve", "eve@example.org");
  assert.match((await signIn(world.browser())).text, /You have no access/);
});

Deno.test("over https the session's cookie is bound to the host", async () => {
  const base = "https://gateway.example.com";
  await using world = await startDashboard({ env: { BASE_URL: base } });
  const token = new URL(world.claimLink).searchParams.get("token");
  const begun = await beginSignIn(world.browser(), `claim=${token}`);
  const line = begun.headers.get("set-cookie") ?? "";
  assert.match(line, /^__Host-gateway_sign_in=[0-9A-Za-z]{43};/);
  for (const part of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"]) {
    assert.ok(line.includes(part), part);
  }
  assert.ok(!/domain=/i.test(line));
  const asked = new URL(begun.location ?? "").searchParams;
  assert.equal(asked.get("redirect_uri"), `${base}/dashboard/callback`);
  assert.deepEqual([asked.get("code_challenge_method"), asked.get("nonce")?.length], ["S256", 43]);
});

Deno.test("who opens too many pages at once reads that, and it is no error of the service", async () => {
  await using world = await startDashboard();
  const owner = await world.owner();
  const pages = Array.from({ length: 60 }, () => owner.get("/dashboard/overview"));
  const answers = await Promise.all(pages);
  const refused = answers.filter(({ status }) => status !== 200);
  assert.ok(refused.length > 0, "the reads of 60 pages are more than an account may have waiting");
  for (const { status, text, headers } of refused) {
    assert.equal(status, 429);
    assert.match(text, /This account has 100 reads waiting/);
    assert.equal(headers.get("retry-after"), "5");
  }
  assert.doesNotMatch(world.log.join("\n"), /a page failed/);
});

Deno.test({
  name: "a page that fails offers the same page again",
  ignore: !isPostgresPreferred(),
  async fn() {
    const { url, drop } = await createMigrated();
    const database = await openPostgres(url);
    await using dashboard = await startDashboard({ env: { DATABASE_URL: url } });
    const owner = await dashboard.owner();
    const cohorts = "/dashboard/cohorts/show?id=a&with=b";
    await database.query("alter table interactions rename to elsewhere");
    const { status, text } = await owner.get(cohorts);
    await database.query("alter table elsewhere rename to interactions");
    assert.equal(status, 503);
    const again = /href="([^"]+)"[^>]*>Try again/.exec(text)?.[1]?.replaceAll("&amp;", "&");
    assert.equal(again, cohorts);
    assert.equal((await owner.get(cohorts)).status, 200);
    await dashboard.stop();
    await database.close();
    await drop();
  },
});
