/** The dashboard without an identity provider: links that the operator prints. */
import assert from "@std/assert";
import { BrowserClient } from "../support/browser_client.ts";
import { runAdminHere } from "../support/admin.ts";
import { shared, startTestService } from "../support/service.ts";
import { anyDatabase } from "../support/any_database.ts";
import { hiddenFields } from "./world.ts";

const service = shared(() => startTestService());
const browser = () => new BrowserClient(service().baseUrl);

async function newLink(...argv: string[]): Promise<string> {
  const { exitCode, json, lines } = await service().admin("sign-in", ...argv);
  assert.equal(exitCode, 0, lines.join("\n"));
  return (json as { link: string }).link;
}

/** Opens the link and presses its button. */
async function open(link: string, client = browser()) {
  const page = await client.get(link);
  if (page.status !== 200) return page;
  return await client.post("/dashboard/sign-in/link", hiddenFields(page.text));
}

Deno.test("a browser at the service's address finds the dashboard, a program what it found before", async () => {
  const ask = (accept: string) =>
    fetch(service().baseUrl, { redirect: "manual", headers: { accept } });
  const page = await ask("text/html,application/xhtml+xml,*/*;q=0.8");
  await page.body?.cancel();
  assert.deepEqual([page.status, page.headers.get("location")], [302, "/dashboard"]);
  const program = await ask("*/*");
  assert.equal(program.status, 401);
  assert.equal((await program.json()).error.code, "missing_api_key");
});

Deno.test("the first start prints a link that opens the dashboard, once, by a button", async () => {
  const text = service().greeting.join("\n");
  const link = /http:\S+\/dashboard\/sign-in\/link\?token=\w{43}$/m.exec(text)?.[0] ?? "";
  assert.notEqual(link, "", text);
  const asks = await browser().get("/dashboard/overview");
  assert.match(asks.location ?? "", /^\/dashboard\/sign-in/);
  const how = await browser().get("/dashboard/sign-in");
  assert.match(how.text, /deno task admin sign-in/);
  const client = browser();
  const page = await client.get(link);
  assert.match(page.text, /sign in as\s+<strong>Owner<\/strong>/);
  assert.equal(page.headers.get("cache-control"), "no-store");
  assert.equal((await client.get("/dashboard/overview")).status, 303, "to look signs nobody in");
  const entered = await open(link, client);
  assert.deepEqual([entered.status, entered.location], [303, "/dashboard/overview"]);
  const overview = await client.get("/dashboard/overview");
  assert.equal(overview.status, 200);
  assert.match(overview.text, /Owner/);
  const again = await open(link);
  assert.equal(again.status, 403);
  assert.match(again.text, /sign-in link doesn.*work/);
  const audit = await client.get("/dashboard/settings/audit");
  assert.match(audit.text, /by a sign-in link/);
});

Deno.test("a link leads back to the page that its browser came from, and to no other place", async () => {
  const cases: [asked: string, then: string][] = [
    [
      "/dashboard/interactions?q=refund&status=error",
      "/dashboard/interactions?q=refund&status=error",
    ],
    ["/dashboard/sign-in", "/dashboard/overview"],
    ["/dashboard/sign-in?return_to=//evil.example/dashboard", "/dashboard/overview"],
    [`/dashboard/interactions?q=${"long".repeat(1000)}`, "/dashboard/overview"],
  ];
  // One browser: its earlier request isn't where the present one leads back to.
  const client = browser();
  for (const [asked, then] of cases) {
    const page = await client.get(asked);
    if (page.status === 303) await client.get(page.location!);
    const entered = await open(await newLink(), client);
    assert.deepEqual([entered.status, entered.location], [303, then], asked.slice(0, 80));
    const overview = (await client.get("/dashboard/overview")).text;
    await client.post("/dashboard/sign-out", hiddenFields(overview));
  }
});

Deno.test("two browsers with one link: one is signed in", async () => {
  const link = await newLink();
  const answers = await Promise.all([open(link), open(link), open(link)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 403, 403]);
});

Deno.test("another site's form signs nobody in, with the link's token or without", async () => {
  const link = await newLink();
  const client = browser();
  const fields = hiddenFields((await client.get(link)).text);
  const post = (sent: Record<string, string>, by = client) =>
    by.post("/dashboard/sign-in/link", sent).then(({ status }) => status);
  const { token = "" } = fields;
  assert.equal(await post({ token }), 403, "no form of ours");
  assert.equal(await post({ token, csrf: "A".repeat(43) }), 403);
  assert.equal(await post(fields, browser()), 403, "another browser's form");
  client.site = "cross-site";
  assert.equal(await post(fields), 403);
  client.site = "same-origin";
  assert.equal(await post(fields), 303, "the link was not used up by any of them");
});

Deno.test("links are for people who are here; the command says who and until when", async () => {
  await open(await newLink());
  const unknown = await service().admin("sign-in", "--person", "eve@example.com");
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.lines[0]!, /^Nobody has the address eve@example\.com/);
  const wrong = await service().admin("sign-in", "--person", "eve");
  assert.deepEqual([wrong.exitCode, wrong.lines[0]], [
    ...[2, "--person eve: expected an address such as ann@example.com"],
  ]);
  const { json } = await service().admin("sign-in");
  assert.deepEqual(Object.keys(json as object), ["link", "person", "expires_at"]);
});

Deno.test("the command says that a link makes its person the first owner, while there is none", async () => {
  await using own = await startTestService();
  const offer = async () => await own.admin("sign-in", "--person", "ann@example.com");
  const first = await offer();
  const warning = /^ann@example\.com becomes the account's owner by it: there is none yet\.$/m;
  assert.match(first.lines.join("\n"), warning);
  const { link } = first.json as { link: string };
  assert.equal((await open(link, new BrowserClient(own.baseUrl))).status, 303);
  const second = await offer();
  assert.equal(second.exitCode, 0);
  assert.doesNotMatch(second.lines.join("\n"), /owner/);
});

Deno.test("guessed links are limited per address", async () => {
  await using own = await startTestService();
  const client = new BrowserClient(own.baseUrl);
  const statuses = new Set<number>();
  for (let i = 0; i < 130; i++) {
    statuses.add((await client.get(`/dashboard/sign-in/link?token=${i}`)).status);
  }
  assert.deepEqual([...statuses], [403, 429]);
});

Deno.test("no link is made where it would lead nowhere, or where people sign in elsewhere", async () => {
  const oauth = {
    ...{ OAUTH_ISSUER: "https://id.example", OAUTH_CLIENT_ID: "x", OAUTH_CLIENT_SECRET: "y" },
  };
  const cases: [Record<string, string>, RegExp][] = [
    [oauth, /Sign-in is through the identity provider: set LOCAL_SIGN_IN=true/],
    [{ LOCAL_SIGN_IN: "false" }, /Sign-in by links is off \(LOCAL_SIGN_IN=false\)/],
    [{ HOST: "0.0.0.0", ALLOW_PLAIN_HTTP: "true" }, /HOST=0\.0\.0\.0 is beyond .* set BASE_URL/],
  ];
  for (const [env, message] of cases) {
    await using own = await startTestService({ env });
    assert.doesNotMatch(own.greeting.join("\n"), /sign-in\/link/);
    const { exitCode, lines } = await own.admin("sign-in");
    assert.equal(exitCode, 1);
    assert.match(lines[0]!, message);
  }
  await using proxied = await startTestService({ env: { BASE_URL: "https://llm.example.com" } });
  assert.doesNotMatch(proxied.greeting.join("\n"), /sign-in\/link/, "not into a log");
  const page = (await new BrowserClient(proxied.baseUrl).get("/dashboard/sign-in")).text;
  assert.match(page, /<code>deno task admin sign-in<\/code>/, "no path for strangers");
  const { json } = await proxied.admin("sign-in");
  assert.match(
    (json as { link: string }).link,
    /^https:\/\/llm\.example\.com\/dashboard\/sign-in\/link\?/,
  );
});

Deno.test("in the container of compose.yaml, which listens beyond the machine, links are made", async () => {
  const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);
  const compose = await Deno.readTextFile(`${root}compose.yaml`);
  const [, BASE_URL = ""] = /^ +BASE_URL: \$\{BASE_URL:-(\S+)\}$/m.exec(compose) ?? [];
  const env = { HOST: "0.0.0.0", ALLOW_PLAIN_HTTP: "true", BASE_URL };
  await using contained = await startTestService({ env });
  assert.doesNotMatch(contained.greeting.join("\n"), /sign-in\/link/, "not into a container's log");
  const { json, lines } = await contained.admin("sign-in");
  const { link = "" } = json as { link?: string };
  assert.match(link, /^http:\/\/127\.0\.0\.1:8787\/dashboard\/sign-in\/link\?/, lines.join());
  const { pathname, search } = new URL(link);
  assert.equal((await open(pathname + search, new BrowserClient(contained.baseUrl))).status, 303);
});

Deno.test("the command makes a link without a server, and the next start takes it", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "link-" });
  try {
    await using database = await anyDatabase();
    const env = { ...database.env, DATA_DIR: dataDir, PORT: "0" };
    await (await startTestService({ env })).stop();
    const { code, stdout } = await runAdminHere({ args: ["sign-in", "--json"], env });
    assert.equal(code, 0);
    const { search, pathname } = new URL(JSON.parse(stdout).link);
    await using started = await startTestService({ env });
    const client = new BrowserClient(started.baseUrl);
    assert.equal((await open(pathname + search, client)).status, 303);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
