/** The whole dashboard, found by its own links, so that a new page is looked at without being named. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { attribute, crawl, type CrawledPage, textOf } from "./crawl.ts";
import { type Ids, leaveTraces, script } from "./traces.ts";
import { type DashboardWorld, signIn, startDashboard } from "./world.ts";

interface Crawled extends DashboardWorld {
  pages: readonly CrawledPage[];
  ours: Ids;
  theirs: Ids;
}

const world = shared(startCrawled);

async function startCrawled(): Promise<Crawled> {
  const dashboard = await startDashboard({ vendors: true, embedded: true });
  try {
    await dashboard.admin("account", "create", "--name", "theirs");
    await dashboard.admin("credits", "grant", "--account", "theirs", "--usd", "10");
    const ours = await leaveTraces(dashboard, await dashboard.createKey("--name", script));
    const theirs = await leaveTraces(dashboard, await dashboard.createKey("--account", "theirs"));
    const pages = await crawl(await dashboard.owner(), "/dashboard");
    return { ...dashboard, pages, ours, theirs };
  } catch (thrown) {
    await dashboard.stop();
    throw thrown;
  }
}

Deno.test("every link of the dashboard leads to a page", () => {
  const { pages } = world();
  assert.ok(pages.length > 9, pages.map(({ address }) => address).join(" "));
  const broken = pages.filter(({ answer }) => ![200, 302, 303].includes(answer.status));
  assert.deepEqual(broken.map(({ address, answer }) => `${answer.status} ${address}`), []);
});

Deno.test("no page of a new account shows its members and viewers a link that they may not follow", async () => {
  const { admin, provider } = world();
  await admin("account", "create", "--name", "new");
  for (const role of ["member", "viewer"]) {
    const { json } = await admin("invite", "--account", "new", "--role", role);
    const token = new URL((json as { link: string }).link).searchParams.get("token");
    provider.become(role, `${role}@example.com`);
    const browser = world().browser();
    await signIn(browser, `invitation=${token}`);
    const pages = await crawl(browser, "/dashboard");
    assert.ok(pages.length > 9, role);
    const refused = pages.filter(({ answer }) => answer.status === 403);
    assert.deepEqual(refused.map(({ address }) => address), [], role);
  }
  provider.become("Ada Lovelace", "ada@example.com");
});

Deno.test("the pages of a section have titles of their own", () => {
  const titles = new Map<string, string>();
  for (const { address, answer } of world().pages) {
    const path = address.split("?")[0]!;
    const title = /<title>([^<]*)<\/title>/.exec(answer.text)?.[1];
    if (title === undefined || !/^\/dashboard\/(settings|interactions)(\/[a-z-]+)?$/.test(path)) {
      continue;
    }
    assert.equal(titles.get(title) ?? path, path, title);
    titles.set(title, path);
  }
  assert.ok(titles.size > 8, [...titles.values()].join(" "));
});

Deno.test("every page is HTML that a strict parser takes, with nothing inline", () => {
  for (const { address, answer, elements, mistakes } of world().pages) {
    assert.equal(answer.headers.get("content-security-policy"), "default-src 'self'", address);
    assert.equal(answer.headers.get("x-frame-options"), "DENY", address);
    assert.deepEqual(mistakes, [], address);
    const ids = elements.flatMap((one) => attribute(one, "id") ?? []);
    assert.deepEqual(ids.filter((id, at) => ids.indexOf(id) !== at), [], `${address}: ids twice`);
    for (const element of elements) {
      const names = element.attrs.map(({ name }) => name);
      const where = `${address}: <${element.tagName} ${names.join(" ")}>`;
      assert.ok(!names.some((name) => name === "style" || name.startsWith("on")), where);
      assert.notEqual(element.tagName, "style", where);
      if (element.tagName === "script") {
        assert.match(attribute(element, "src") ?? "", /^\/d/, where);
      }
      const source = ["img", "audio", "video", "iframe", "source"].includes(element.tagName);
      if (source) assert.match(attribute(element, "src") ?? "", /^\/(?!\/)/, where);
      for (const name of ["href", "action", "formaction"]) {
        assert.ok(!/^\s*(javascript|data|vbscript):/i.test(attribute(element, name) ?? ""), where);
      }
    }
  }
});

Deno.test("links that read the same lead to the same place, whatever list of them is read", () => {
  const found: string[] = [];
  for (const { address, elements } of world().pages) {
    const targets = new Map<string, string>();
    for (const link of elements) {
      // A list's rows are read with their other cells, and a menu's files after its button.
      const isApart = attribute(link, "class") === "row-link" || attribute(link, "download") === "";
      if (link.tagName !== "a" || isApart) continue;
      const href = attribute(link, "href") ?? "";
      const text = textOf(link).trim();
      // A caller gave its app and its user the same name.
      if (text.includes("canary")) continue;
      if ((targets.get(text) ?? href) !== href) found.push(`${address}: ${text} ${href}`);
      targets.set(text, href);
    }
  }
  assert.deepEqual(found, []);
});

Deno.test("buttons and fields that read the same are of the same form", () => {
  const found: string[] = [];
  for (const { address, forms } of world().pages) {
    const actions = new Map<string, string>();
    for (const { action, controls } of forms) {
      for (const one of controls) {
        if ((actions.get(one) ?? action) !== action) found.push(`${address}: ${one} ${action}`);
        actions.set(one, action);
      }
    }
  }
  assert.deepEqual(found, []);
});

Deno.test("what callers named their things is text on every page", () => {
  const { pages } = world();
  const shown = pages.filter(({ answer }) => answer.text.includes("canary()"));
  assert.ok(shown.length > 0, "no page shows the name");
  for (const { address, elements } of pages) {
    assert.ok(!elements.some((one) => attribute(one, "id") === "canary"), address);
  }
  for (const { address, answer } of shown) assert.ok(!answer.text.includes(script), address);
});

Deno.test("every vendor has the name that people know, with its label only where records need it", () => {
  const shown = { names: 0, labels: 0 };
  for (const { address, elements } of world().pages) {
    for (const { tagName, childNodes, attrs } of elements) {
      // Payloads, paths and keys' scopes, and links to them.
      if (tagName === "pre" || tagName === "textarea" || tagName === "script") continue;
      const texts = childNodes.flatMap((node) => "value" in node ? [node.value] : []);
      const titles = attrs.flatMap(({ name, value }) => name === "title" ? [value] : []);
      for (const text of [...texts, ...titles]) {
        if (text.startsWith("/")) continue;
        const labels = text.match(/(?<![(\w])vendor-[a-g]\b/g) ?? [];
        assert.deepEqual(labels, [], `${address}: <${tagName}> ${text}`);
        if (/\bopenai\b/.test(text)) shown.names++;
        if (text.includes("openai (vendor-b)")) shown.labels++;
      }
    }
  }
  assert.ok(shown.names > 10 && shown.labels > 3, JSON.stringify(shown));
});

Deno.test("every form is refused without its token, and from another session", async () => {
  const { pages } = world();
  const owner = await world().owner();
  const other = world().browser();
  await signIn(other);
  const foreign = /name="csrf" value="([^"]+)"/.exec((await other.get("/dashboard/keys")).text)
    ?.[1];
  const forms = new Map(pages.flatMap((page) => page.forms).map((form) => [form.action, form]));
  assert.ok(forms.size > 3, [...forms.keys()].join(" "));
  for (const { action, fields, page } of forms.values()) {
    assert.equal(fields.csrf?.length, 43, `${page}: the form to ${action} has no token`);
    for (const csrf of ["", foreign ?? ""]) {
      const { status } = await owner.post(action, { ...fields, csrf });
      assert.equal(status, 403, `${action} of ${page}`);
    }
  }
});

Deno.test("without a sign-in nothing is shown", async () => {
  for (const { address, answer } of world().pages) {
    if (answer.status !== 200 || address.startsWith("/dashboard/assets/")) continue;
    const stranger = await world().browser().get(address);
    assert.equal(stranger.status, 303, address);
    assert.match(stranger.location ?? "", /^\/dashboard\/sign-in/, address);
  }
});

Deno.test("another account's ids lead nowhere, at any address that takes one", async () => {
  const { pages, ours, theirs } = world();
  const owner = await world().owner();
  const addresses = new Set(
    pages.flatMap(({ address, forms }) => [address, ...forms.map(({ action }) => action)]),
  );
  let tried = 0;
  for (const address of addresses) {
    const { pathname } = new URL(address, world().baseUrl);
    for (const [name, id] of Object.entries(ours)) {
      if (!pathname.includes(encodeURIComponent(id))) continue;
      const foreign = pathname.replace(encodeURIComponent(id), encodeURIComponent(theirs[name]!));
      const { status, text } = await owner.get(foreign);
      assert.equal(status, 404, foreign);
      assert.ok(!text.includes("of theirs"), foreign);
      tried++;
    }
  }
  assert.ok(tried > 0, "no address has an id");
  const all = pages.map(({ answer }) => answer.text).join("\n");
  for (const [name, id] of Object.entries(theirs)) {
    if (id !== ours[name]) assert.ok(!all.includes(id), `a page shows another account's ${name}`);
  }
});
