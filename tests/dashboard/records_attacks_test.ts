/** What must not work on the pages of records, tried over HTTP. */
import assert from "@std/assert";
import { type BrowserClient, csrfIn } from "../support/browser_client.ts";
import { shared } from "../support/service.ts";
import { type DashboardWorld, signIn, startDashboard } from "./world.ts";

const world = shared(() => startDashboard({ vendors: true }));

/** Somebody of the other account, in the role asked for. */
async function signInAs(at: DashboardWorld, account: string, role: string): Promise<BrowserClient> {
  const { json } = await at.admin("invite", "--account", account, "--role", role);
  const token = new URL((json as { link: string }).link).searchParams.get("token");
  at.provider.become(`${role} of ${account}`, `${role}@${account}.example`);
  const browser = at.browser();
  assert.equal((await signIn(browser, `invitation=${token}`)).status, 200);
  return browser;
}

const today = new Date().toISOString().slice(0, 10);

/** A deletion, an export and an evaluation of the first account: the addresses of all they have. */
async function makeThings(owner: BrowserClient, key: string) {
  const deletion = await owner.submit("/dashboard/deletion/new", "/dashboard/deletion", {
    ...{ user_id: "nobody", tables: "interactions", reason: "r", expected: "0", confirm: "0" },
  });
  await owner.submit("/dashboard/exports/new", "/dashboard/exports/new", {
    ...{ tables: "interactions", format: "json", from: today, to: today },
  });
  const list = (await owner.get("/dashboard/exports")).text;
  const exported = /exports\/([0-9a-f-]{36})\/delete/.exec(list)?.[1];
  const run = await owner.submit("/dashboard/evals/new", "/dashboard/evals/new", {
    ...{ model: "vendor-b/gpt-6-luna", key, limit: "1", sample: "newest" },
    ...{ grader0_type: "contains", grader0_text: "x", filter_user_id: "nobody" },
  });
  assert.match(run.location ?? "", /evals\/[0-9a-f-]{36}$/);
  return {
    pages: [
      deletion.location!,
      `${deletion.location}/receipt.json`,
      `/dashboard/exports/${exported}/file`,
      `/dashboard/exports/${exported}/delete`,
      run.location!,
    ],
    acts: [`/dashboard/exports/${exported}/delete`, `${run.location}/cancel`],
  };
}

Deno.test("no form is taken without its token, and nothing of another account is reached", async () => {
  const owner = await world().owner();
  const key = await world().createKey();
  const { pages, acts } = await makeThings(owner, key.id);
  const forms = [
    "/dashboard/deletion/new",
    "/dashboard/deletion",
    "/dashboard/exports/new",
    "/dashboard/evals/new",
    ...acts,
  ];
  for (const path of forms) {
    for (const fields of [{}, { csrf: "x".repeat(43) }] as Record<string, string>[]) {
      const refused = await owner.post(path, { ...fields, confirm: "0", expected: "0" });
      assert.equal(refused.status, 403, path);
      assert.match(refused.text, /form has expired/, path);
    }
  }

  await world().admin("account", "create", "--name", "theirs");
  const other = await signInAs(world(), "theirs", "owner");
  const csrf = csrfIn((await other.get("/dashboard/keys")).text);
  for (const path of pages) assert.equal((await other.get(path)).status, 404, path);
  for (const path of acts) assert.equal((await other.post(path, { csrf })).status, 404, path);
  for (const path of pages.slice(0, 2)) {
    // Whether or not it is written by now, it is there for its own account.
    assert.ok([200, 404].includes((await owner.get(path)).status), path);
  }
  assert.equal((await owner.get(pages[0]!)).status, 200);
  assert.equal((await owner.get(pages[4]!)).status, 200);
  for (const list of ["deletion", "exports", "evals", "cohorts"]) {
    assert.match((await other.get(`/dashboard/${list}`)).text, /class="empty"/, list);
  }
  // A key of the first account runs nothing for the other one.
  const theirs = await world().createKey("--account", "theirs");
  const run = await other.post("/dashboard/evals/new", {
    ...{ csrf, model: "vendor-b/gpt-6-luna", key: key.id, limit: "1", sample: "newest" },
    ...{ grader0_type: "contains" },
  });
  assert.equal(run.status, 400);
  assert.match(run.text, /id="key-error"/);
  assert.ok(!run.text.includes(key.id), "not even in the list");
  assert.ok(run.text.includes(theirs.id));
  const months = (await other.get("/dashboard/settings/retention")).text;
  assert.ok(!months.includes(", all accounts"), "sizes are the operator's");
});

Deno.test("viewers look, members make exports and evaluations, owners delete", async () => {
  await world().owner();
  await world().admin("account", "create", "--name", "roles");
  const viewer = await signInAs(world(), "roles", "viewer");
  const member = await signInAs(world(), "roles", "member");
  const statuses = async (browser: BrowserClient, paths: readonly string[]) => {
    const csrf = csrfIn((await browser.get("/dashboard/keys")).text);
    const answers = [];
    for (const path of paths) {
      answers.push((await browser.get(path)).status, (await browser.post(path, { csrf })).status);
    }
    return answers;
  };
  const membersOnly = ["/dashboard/exports/new", "/dashboard/evals/new"];
  assert.deepEqual(await statuses(viewer, membersOnly), [403, 403, 403, 403]);
  assert.deepEqual(await statuses(member, membersOnly), [200, 400, 200, 400]);
  assert.deepEqual(await statuses(member, ["/dashboard/deletion/new"]), [403, 403]);
  const refused = await member.get("/dashboard/deletion/new");
  assert.match(refused.text, /takes the role owner, and you are member of roles/);
  for (const path of ["deletion", "exports", "evals", "cohorts"]) {
    const page = await viewer.get(`/dashboard/${path}`);
    assert.equal(page.status, 200);
    assert.ok(!/New export|New evaluation|Delete data/.test(page.text), path);
  }
  for (const tab of ["limits", "retention", "audit"]) {
    assert.equal((await viewer.get(`/dashboard/settings/${tab}`)).status, 200);
  }
});

Deno.test("what an address says wrongly is an ordinary answer", async () => {
  const owner = await world().owner();
  const fine = [
    "/dashboard/deletion?after=nonsense",
    "/dashboard/evals?after=%00",
    "/dashboard/cohorts?from=%F0%9F%92%A9",
    "/dashboard/cohorts?from=%00",
    "/dashboard/cohorts/show?id=x&span=9999999",
    "/dashboard/exports/new?from=%22%3E%3Cscript%3E",
  ];
  for (const path of fine) {
    const page = await owner.get(path);
    assert.equal(page.status, 200, path);
    assert.ok(!page.text.includes("<script>"), path);
  }
  const gone = ["evals/%00", "evals/x", "exports/..%2f..%2f/file", "deletion/%00", "deletion/x"];
  for (const path of gone) {
    assert.equal((await owner.get(`/dashboard/${path}`)).status, 404, path);
  }
});

Deno.test("an ID token that the provider's published keys don't vouch for lets nobody in", async () => {
  await using other = await startDashboard();
  other.provider.forge();
  const browser = other.browser();
  const token = new URL(other.claimLink).searchParams.get("token");
  const { status } = await signIn(browser, `claim=${token}`);
  assert.equal(status, 502);
  assert.equal((await browser.get("/dashboard/keys")).status, 303);
  assert.ok([...browser.cookies.keys()].every((name) => !name.includes("session")));
});

Deno.test("an operator's link makes another account's first owner, once", async () => {
  await using other = await startDashboard();
  await other.admin("account", "create", "--name", "customer");
  const { json, exitCode } = await other.admin(
    "invite",
    "--account",
    "customer",
    "--role",
    "owner",
  );
  assert.equal(exitCode, 0);
  const { link } = json as { link: string };
  assert.ok(link.startsWith(`${other.baseUrl}/dashboard/invitation?token=`));
  const start = `invitation=${new URL(link).searchParams.get("token")}`;
  other.provider.become("Kim", "kim@customer.example");
  const kim = other.browser();
  await signIn(kim, start);
  const people = (await kim.get("/dashboard/settings/people")).text;
  assert.match(people, /kim@customer\.example/);
  assert.match(people, /customer <span class="muted">owner/);
  assert.match((await kim.get("/dashboard/settings/audit")).text, /person\.invited/);
  other.provider.become("Eve", "eve@example.org");
  assert.match((await signIn(other.browser(), start)).text, /invitation doesn/);
});
