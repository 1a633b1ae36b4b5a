/** The dashboard in a real browser, with people of a real OpenID provider. */
import assert from "@std/assert";
import type { Page, Route } from "playwright-core";
import { shared } from "../support/service.ts";
import { desktop, openPage, schemesFor } from "./chromium.ts";
import {
  browser,
  claimAs,
  looksFine,
  signInAs,
  startAsOwner,
  startUnclaimed,
  useBrowser,
} from "./world.ts";

useBrowser();

/** A gateway that ada owns, with the cookies of her session. */
const claimed = shared(async () => {
  const world = await startUnclaimed();
  const { page, context } = await openPage(browser());
  await claimAs(page, world.claimLink, "ada");
  const cookies = await context.cookies();
  await context.close();
  return { ...world, cookies };
});

Deno.test("a person claims the gateway, makes a key, calls with it and takes it back", async () => {
  await using world = await startUnclaimed();
  const { service } = world;
  const { page, complaints } = await openPage(browser(), { origin: service.baseUrl });
  const address = (path: string) => service.baseUrl + path;
  await claimAs(page, world.claimLink, "ada");

  await page.click(".sidebar >> text=API Keys");
  await page.click("text=Create API Key");
  await page.fill("#name", "of the browser");
  await page.click("main form button[type=submit]");
  await page.waitForURL("**/created");
  const key = await page.textContent("#key-value") ?? "";
  assert.match(key, /^dmt_[0-9A-Za-z]{49}$/);
  await page.reload();
  assert.ok(!(await page.content()).includes(key), "the value is shown once");

  const authorization = { authorization: `Bearer ${key}` };
  const call = () =>
    service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: "Hello" }],
    }, authorization);
  const answered = await call();
  assert.equal(answered.status, 200);
  await answered.body?.cancel();

  await page.goto(address("/dashboard/settings/vendor-keys"));
  await page.fill("#key-vendor-b", "sk-of-nobody-0123456789");
  await page.click("li:has(#key-vendor-b) button:has-text('Test and save')");
  assert.match(await page.textContent("#key-vendor-b-e") ?? "", /refused this key/);
  await page.fill("#key-vendor-b", service.simulators.vendors["vendor-b"].apiKey);
  await page.click("li:has(#key-vendor-b) button:has-text('Test and save')");
  await page.waitForSelector("text=is stored, and calls use it from now on");
  const own = await call();
  await own.body?.cancel();
  const { mode } = await service.row(own.headers.get("x-transaction-id"));
  assert.equal(mode, "stored_key");

  await page.goto(address("/dashboard/keys"));
  await page.click("tr:has-text('of the browser') a:has-text('Revoke')");
  await page.click("main button:has-text('Revoke')");
  await page.waitForSelector("text=is revoked");
  const refused = await call();
  assert.equal(refused.status, 401);
  await refused.body?.cancel();

  await page.goto(address("/dashboard/settings/audit"));
  for (const act of ["person.joined", "api_key.created", "vendor_key.set", "api_key.revoked"]) {
    assert.ok(await page.isVisible(`text=${act}`), act);
  }
  await page.click(".sidebar >> text=Sign out");
  await page.waitForSelector("text=You are signed out");
  await page.goto(address("/dashboard/keys"));
  assert.match(page.url(), /\/dashboard\/sign-in\?/);
  // A form that was refused (400) is a line of the browser's, not a fault of the page.
  assert.deepEqual(complaints.filter((one) => !/status of 400/.test(one)), []);
});

Deno.test("a stranger with an account at the same provider gets nothing", async () => {
  const { service } = claimed();
  const other = await openPage(browser());
  await other.page.goto(`${service.baseUrl}/dashboard/sign-in`);
  await other.page.click("button:has-text('Sign in')");
  await signInAs(other.page, "eve");
  await other.page.waitForSelector("text=You have no access");
  await other.page.goto(`${service.baseUrl}/dashboard/keys`);
  assert.match(other.page.url(), /\/dashboard\/sign-in\?/);
});

for (const scheme of schemesFor("axe, any page")) {
  Deno.test(`axe finds no violation on any page, ${scheme}`, async () => {
    await using world = await startUnclaimed();
    const { service } = world;
    const { page, complaints } = await openPage(browser(), { scheme, origin: service.baseUrl });
    await page.goto(world.claimLink);
    await looksFine(page, "claim");
    await page.click("text=Sign in and claim");
    await signInAs(page, "ada");
    await page.waitForURL("**/dashboard/join");
    await looksFine(page, "consent");
    await page.click("button[value=yes]");
    await page.waitForURL("**/dashboard/overview");
    await looksFine(page, "overview without calls");
    await page.goto(`${service.baseUrl}/dashboard/keys`);
    const rotate = await page.getAttribute("a[href$=rotate]", "href");
    const revoke = await page.getAttribute("a[href$=revoke]", "href");
    const settings = ["vendor-keys", "people", "audit"].map((one) => `/dashboard/settings/${one}`);
    const paths = ["/dashboard/keys", "/dashboard/keys/new", rotate!, revoke!, ...settings];
    for (const path of [...paths, "/dashboard/nothing"]) {
      await page.goto(service.baseUrl + path);
      await looksFine(page, path);
    }
    await page.goto(`${service.baseUrl}/dashboard/settings/people`);
    await page.fill("#email", "grace@example.com");
    await page.click("text=Create invitation");
    await page.waitForSelector("#invitation-link");
    await looksFine(page, "invitation");
    await page.goto(`${service.baseUrl}/dashboard/keys/new`);
    await page.fill("#name", "of axe");
    await page.fill("#cap_day", "much");
    await page.click("main form button[type=submit]");
    await page.waitForSelector("#cap_day-error");
    await looksFine(page, "form with an error");
    await page.fill("#cap_day", "2.50");
    await page.click("main form button[type=submit]");
    await page.waitForURL("**/created");
    await looksFine(page, "created");
    await page.goto(`${service.baseUrl}/dashboard/sign-in`);
    await looksFine(page, "sign-in");
    assert.deepEqual(complaints.filter((one) => !/status of 40[04]/.test(one)), []);
  });
}

Deno.test("every page works without script, by keyboard", async () => {
  const { service, cookies } = claimed();
  const { page: quiet } = await openPage(browser(), { cookies, scripts: false });
  await quiet.goto(`${service.baseUrl}/dashboard/keys/new`);
  await quiet.focus("#name");
  await quiet.keyboard.type("by hand");
  await quiet.keyboard.press("Enter");
  await quiet.waitForURL("**/created");
  assert.match(await quiet.textContent("#key-value") ?? "", /^dmt_/);
  assert.equal(await quiet.isVisible("button[data-copy]"), false);
});

Deno.test("what was typed when the session ended is there again after sign-in, and only once", async () => {
  const { service, cookies } = claimed();
  const { page, context } = await openPage(browser(), { cookies });
  const form = `${service.baseUrl}/dashboard/keys/new`;
  await page.goto(form);
  await page.fill("#name", "typed before");
  await page.fill("#models", "openai/gpt-5-mini\nopenai/gpt-4.1");
  await page.selectOption("#record", "metadata");
  await page.check("input[value=some]");
  await page.check("input[value=evals]");
  await context.clearCookies();
  await page.click("main form button[type=submit]");
  await page.waitForURL("**/sign-in?*unsent=1");
  await context.addCookies([...cookies]);
  await page.goto(form);
  assert.equal(await page.inputValue("#name"), "typed before");
  assert.equal(await page.inputValue("#models"), "openai/gpt-5-mini\nopenai/gpt-4.1");
  assert.equal(await page.inputValue("#record"), "metadata");
  for (const value of ["some", "evals"]) assert.ok(await page.isChecked(`input[value=${value}]`));
  assert.equal(await page.isChecked("input[value=chat]"), false);
  await page.reload();
  assert.equal(await page.inputValue("#name"), "");
  // What was typed in a part that opens isn't sent again unseen.
  await page.goto(`${service.baseUrl}/dashboard/exports/new`);
  await page.click("main summary");
  await page.fill("#filter_app", "shop");
  await context.clearCookies();
  await page.click("main form button[type=submit]");
  await page.waitForURL("**/sign-in?*unsent=1");
  await context.addCookies([...cookies]);
  await page.goto(`${service.baseUrl}/dashboard/exports/new`);
  assert.equal(await page.inputValue("#filter_app"), "shop");
  assert.ok(await page.isVisible("#filter_app"));
  // A form that was sent isn't filled in again, also where its page is the next one.
  await page.goto(`${service.baseUrl}/dashboard/settings/people`);
  await page.fill("#email", "new@example.com");
  await page.click("text=Create invitation");
  await page.waitForSelector("#invitation-link");
  assert.equal(await page.inputValue("#email"), "");
});

const longName = "mallory".repeat(9);

Deno.test("neither a link nor a form of another site makes a signed-in person join", async () => {
  const { service, cookies } = claimed();
  const { page } = await openPage(browser(), { cookies });
  await service.admin("account", "create", "--name", longName);
  const { json } = await service.admin(
    ...["invite", "--email", "ada@example.com", "--account", longName, "--role", "member"],
    "--json",
  );
  const { link } = json as { link: string };
  const token = new URL(link).searchParams.get("token")!;
  const startAddress = `${service.baseUrl}/dashboard/sign-in/start`;
  // Another site: its forms and links, opened in the very browser of the person.
  const evil = Deno.serve({ hostname: "127.0.0.2", port: 0, onListen() {} }, () =>
    new Response(
      `<!doctype html><title>evil</title>
      <form method="post" action="${startAddress}"><input name="invitation" value="${token}">
        <button id="start">x</button></form>
      <form method="post" action="${service.baseUrl}/dashboard/join">
        <input name="answer" value="yes"><button id="join">x</button></form>
      <form method="post" action="${service.baseUrl}/dashboard/account">
        <input name="account" value="2"><button id="account">x</button></form>
      <a id="link" href="${startAddress}?invitation=${token}">x</a>`,
      { headers: { "content-type": "text/html" } },
    ));
  const shown = async () => {
    await page.goto(`${service.baseUrl}/dashboard/keys`);
    return (await page.textContent(".sidebar .account-name") ?? "").trim();
  };
  const before = await shown();
  for (const id of ["link", "start", "join", "account"]) {
    await page.goto(`http://127.0.0.2:${evil.addr.port}/`);
    await Promise.all([page.waitForURL(`${service.baseUrl}/**`), page.click(`#${id}`)]);
    assert.ok(!page.url().includes("/callback"));
    assert.equal(await shown(), before, id);
    assert.equal(await page.isVisible(`text=Switch to ${longName}`), false, id);
  }
  // Our own page leads in.
  await page.goto(link);
  await page.click("text=Sign in and accept");
  await page.waitForSelector("text=as member");
  await page.click("button[value=yes]");
  await page.waitForURL("**/dashboard/overview");
  assert.match(await shown(), /^mallorymallory/);
  const button = page.locator(".sidebar >> text=Switch to");
  const isCut = () => page.$eval(".sidebar", (one) => one.scrollWidth > one.clientWidth);
  assert.equal(await isCut(), false, "a long name wraps");
  const [signOut, others] = await Promise.all(
    [page.locator(".sidebar >> text=Sign out"), button].map((one) => one.boundingBox()),
  );
  assert.ok(signOut!.y < others!.y, "many accounts don't move it out of sight");
  await button.click();
  assert.equal(await shown(), before);
  assert.equal(await isCut(), false, "on the button, too");
  await evil.shutdown();
});

Deno.test("who made a key stands in the table of keys with a whole e-mail address", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  const owner = await service.owner();
  const path = "/dashboard/keys/new";
  const fields = { name: "of the shop's backend", access: "some", scope: "chat", cap_day: "5" };
  const made = await owner.submit(path, path, { ...fields, expires: "never" });
  assert.equal(made.status, 303, made.text);
  await service.createKey("--name", "ends", "--expires", "2039-12-31");
  await page.setViewportSize(desktop);
  await page.goto(`${service.baseUrl}/dashboard/keys`);
  const end = await page.locator("td[data-label=State] :has(> time)").boundingBox();
  assert.ok(end!.height < 24, `the end is ${end!.height} px high`);
  const lines = await page.locator("td .author").evaluate((author) => {
    const { data } = author.firstChild;
    const range = author.ownerDocument.createRange();
    range.setStart(author.firstChild, data.indexOf("ada@example.com"));
    range.setEnd(author.firstChild, data.length);
    return range.getClientRects().length;
  });
  assert.equal(lines, 1);
});

Deno.test("a form is sent once, however often it is pressed, and again once the browser was stopped", async () => {
  await using world = await startAsOwner();
  const { service, page, context } = world;
  await page.goto(`${service.baseUrl}/dashboard/keys/new`);
  await page.fill("#name", "of a slow network");
  const [first, second] = [Promise.withResolvers<Route>(), Promise.withResolvers<Route>()];
  let sent = 0;
  await page.route("**/dashboard/keys/new", (route) => {
    (sent++ === 0 ? first : second).resolve(route);
  });
  const devtools = await context.newCDPSession(page);
  const click = "document.querySelector('main form [type=submit]').click();";
  await devtools.send("Runtime.evaluate", { expression: click + click });
  await first.promise;
  await devtools.send("Page.stopLoading");
  await page.waitForSelector("main form:not([data-sent])");
  await devtools.send("Runtime.evaluate", { expression: click });
  await (await second.promise).continue();
  await page.waitForURL("**/created");
  assert.equal(sent, 2);
  assert.deepEqual(world.complaints, []);
});

Deno.test("a key's page doesn't scroll sideways on a phone, however large its cap is", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  const { id } = await service.createKey("--name", "all", "--cap-month-usd", "100000000");
  await page.setViewportSize({ width: 375, height: 812 });
  for (const path of ["/dashboard/keys", `/dashboard/keys/${id}`]) {
    await page.goto(service.baseUrl + path);
    assert.match(await page.textContent("main .cap") ?? "", /of \$100,000,000\.00 a month/);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 375, path);
  }
  // Nothing that the keyboard reaches is behind the bar at the top.
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(`(${isOnTop})()`), "Skip to content");
  await page.goto(`${service.baseUrl}/dashboard/keys/new`);
  await page.locator("#cap_day").evaluate((field) => {
    const { documentElement } = field.ownerDocument;
    documentElement.scrollTop += field.getBoundingClientRect().top - 4;
  });
  await page.focus("#cap_day");
  assert.equal(await page.evaluate(`(${isOnTop})()`), "cap_day");
  // Nor below a low screen: a phone on its side, and a desk at 200 %.
  const menu = page.locator(".topbar details");
  await page.setViewportSize({ width: 667, height: 375 });
  await menu.locator("summary").press("Enter");
  await menu.locator("text=Sign out").focus();
  assert.equal(await page.evaluate(`(${isOnTop})()`), "Sign out");
  await page.keyboard.press("Escape");
  assert.equal(await menu.evaluate((one) => one.open), false);
  assert.equal(await page.evaluate(`(${isOnTop})()`), "Menu");
  await menu.locator("summary").press("Enter");
  await menu.locator("text=Sign out").press("Tab");
  assert.equal(await menu.evaluate((one) => one.open), false, "it would cover what has the focus");
  await page.setViewportSize({ width: 1024, height: 400 });
  await page.locator(".sidebar >> text=Sign out").focus();
  assert.equal(await page.evaluate(`(${isOnTop})()`), "Sign out");
});

Deno.test("a large cap leaves the columns beside it in sight", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  await service.createKey("--name", "n".repeat(100), "--cap-month-usd", "100000000");
  // One with all that a row may have: an end, a cap that is reached, and who made it.
  const owner = await service.owner();
  const form = { name: "checkout", cap_month: "0", expires: "90" };
  const made = await owner.submit("/dashboard/keys/new", "/dashboard/keys/new", form);
  assert.match(made.location ?? "", /created$/);
  await page.setViewportSize(desktop);
  await page.goto(`${service.baseUrl}/dashboard/keys`);
  const [table, shown] = await widthsOfTable(page);
  assert.equal(table, shown);
  const time = await page.locator("td[data-label=Created] time").first().boundingBox();
  assert.ok(time!.height < 24, `a time is ${time!.height} px high`);
});

Deno.test("a long name in the settings leaves its table's other columns in sight", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  const url = `https://hooks.example.com/${"p".repeat(400)}`;
  const hook = await service.admin("webhook", "add", "--url", url);
  assert.equal(hook.exitCode, 0, hook.lines.join("\n"));
  const on = `app:${"a".repeat(256)}`;
  const budget = await service.admin("budget", "set", "--on", on, "--per", "day", "--usd", "5");
  assert.equal(budget.exitCode, 0, budget.lines.join("\n"));
  const owner = await service.owner();
  const email = `${"p".repeat(64)}@${"d".repeat(60)}.example.com`;
  await owner.submit("/dashboard/settings/people", "/dashboard/settings/people/invite", {
    ...{ email, role: "viewer" },
  });
  await owner.submit("/dashboard/keys/new", "/dashboard/keys/new", {
    ...{ name: "k".repeat(100), access: "all", expires: "never" },
  });
  const models = "/dashboard/settings/models/new";
  const fields = { name: "v".repeat(100), targets: "openai/gpt-4.1" };
  const made = await owner.submit(models, models, fields);
  assert.equal(made.status, 303, made.text);
  await page.setViewportSize(desktop);
  for (const name of ["webhooks", "budgets", "models", "audit"]) {
    await page.goto(`${service.baseUrl}/dashboard/settings/${name}`);
    const [table, shown] = await widthsOfTable(page);
    assert.equal(table, shown, name);
    const buttons = await page.locator("td.actions .button").evaluateAll((all) =>
      all.map((one) => Math.round(one.getBoundingClientRect().top))
    );
    assert.ok(new Set(buttons).size <= 1, `${name}: actions one below the other`);
  }
  await page.goto(`${service.baseUrl}/dashboard/settings/audit`);
  const ordinary = page.locator("td .author:text-is('ada@example.com')").first();
  const { height } = (await ordinary.boundingBox())!;
  assert.ok(height < 24, `an ordinary address is ${height} px high`);
  // On a phone the actions would hide the other columns: rows are cards.
  await owner.submit("/dashboard/exports/new", "/dashboard/exports/new", {
    ...{ tables: "interactions", format: "json", from: "1 Nov 2026", to: "2 Nov 2026" },
  });
  await page.setViewportSize({ width: 360, height: 740 });
  const asked: (string | null)[] = [];
  const names = ["webhooks", "budgets", "models", "people"].map((name) => `settings/${name}`);
  for (const name of [...names, "exports", "keys"]) {
    await page.goto(`${service.baseUrl}/dashboard/${name}`);
    const [table, shown] = await widthsOfTable(page);
    assert.equal(table, shown, name);
    // All but the name and the actions say what they are.
    const bare = await page.$$eval(
      "main .table td:not([data-label], .name, .actions)",
      (cells) => cells.map((cell) => cell.textContent),
    );
    assert.deepEqual(bare, [], name);
    const alignments = await page.evaluate<string[]>(
      `[...document.querySelectorAll("main .table td")].map((one) => getComputedStyle(one).textAlign)`,
    );
    assert.deepEqual([...new Set(alignments)], ["left"], name);
    asked.push(
      ...await page.$$eval(
        "td.actions a:not([download])",
        (links) => links.map((one) => one.getAttribute("href")),
      ),
    );
  }
  assert.ok(asked.length >= 8, asked.join(" "));
  for (const path of asked) {
    await page.goto(service.baseUrl + path);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360, path!);
  }
});

/** Runs in the page: returns what has the focus, and nothing if something else covers it. */
const isOnTop = `function () {
  const focused = document.activeElement;
  const { left, top, width, height } = focused.getBoundingClientRect();
  const seen = document.elementFromPoint(left + width / 2, top + height / 2);
  return seen === focused ? focused.id || focused.textContent : "";
}`;

/** Widths of a page's first table: of its content, and of the part that is shown. */
async function widthsOfTable(page: Page): Promise<number[]> {
  const table = page.locator("main .table").first();
  return await table.evaluate((one) => [one.scrollWidth, one.clientWidth]);
}
