/** Cohorts, evaluations, exports, deletions and settings in a real browser. */
import assert from "@std/assert";
import type { Page } from "playwright-core";
import { desktop, phone, schemesFor } from "./chromium.ts";
import { fillRecords } from "./life.ts";
import { misfits, tabTo } from "./layout.ts";
import { looksFine, type OwnerWorld, startAsOwner, useBrowser } from "./world.ts";

useBrowser();

for (const scheme of schemesFor("axe, the pages of records")) {
  Deno.test(`axe finds no violation on the pages of records, ${scheme}`, async () => {
    await using world = await startAsOwner(scheme);
    const { page, service } = world;
    const pages = await fillRecords(page, service);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(service.baseUrl + path);
      await looksFine(page, name);
      // A phone sees no page that is wider than it is.
      await page.setViewportSize(phone);
      const width = await page.evaluate("document.documentElement.scrollWidth");
      assert.ok(Number(width) <= phone.width, `${name} is ${width} px wide`);
      await page.setViewportSize(desktop);
    }
    await page.goto(`${service.baseUrl}/dashboard/deletion/new`);
    await page.fill("#user_id", "customer-1");
    await page.fill("#reason", "of axe");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#confirm");
    await looksFine(page, "dry run");
    await page.fill("#confirm", "many");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#confirm-error");
    await looksFine(page, "wrong confirmation");
    await page.goto(`${service.baseUrl}/dashboard/evals/new`);
    await page.fill("#model", "vendor-b/none");
    await page.selectOption("#grader0_type", "judge");
    assert.ok(await page.isVisible("#grader0_model"), "what a judge takes is in sight");
    await page.click("main form button[type=submit]");
    await page.waitForSelector("[id$=-error]");
    await looksFine(page, "evaluation with an error");
    assert.deepEqual(world.complaints.filter((one) => !/status of 400/.test(one)), []);
  });
}

Deno.test("what is under way is shown as it goes on, by itself", async () => {
  await using world = await startAsOwner();
  const { page, service } = world;
  const call = await service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    // A run that ends before its page is seen has no new state to announce.
    messages: [{ role: "user", content: "Hello [slow:2000]" }],
    user: "watched",
  });
  await call.body?.cancel();
  await page.goto(`${service.baseUrl}/dashboard/evals/new`);
  await page.fill("#model", "vendor-b/gpt-6-luna");
  await page.fill("#grader0_text", "hello");
  await page.click("main form button[type=submit]");
  await page.waitForURL(/evals\/[0-9a-f-]{36}$/);
  const address = page.url();
  await page.waitForSelector("#run .badge:has-text('Done')");
  assert.equal(page.url(), address);
  assert.equal(await page.locator("[data-live]").count(), 0, "then it rests");
  const shown = await page.textContent("main") ?? "";
  assert.doesNotMatch(shown, /running|under way|in progress/, "beside Done");
  // Nothing else tells it to people who don't see the page change.
  const status = page.locator(".live-status[role=status]");
  assert.equal(await status.textContent(), "vendor-b/gpt-6-luna: Done");
  assert.deepEqual(world.complaints, []);
});

Deno.test("a file is made, fetched and data deleted without script, by keyboard", async () => {
  await using world = await startAsOwner();
  const { service } = world;
  const { page } = await world.open({ scripts: false });
  await page.goto(`${service.baseUrl}/dashboard/exports/new`);
  await page.focus("text=Start export");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/exports");
  await reloadUntil(page, "td.actions >> text=Download");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.press("td.actions a:has-text('Download')", "Enter"),
  ]);
  assert.match(download.suggestedFilename(), /^export-[0-9a-f-]{36}\.json$/);

  await page.goto(`${service.baseUrl}/dashboard/deletion/new`);
  await page.focus("#user_id");
  await page.keyboard.type("nobody");
  await page.focus("#reason");
  await page.keyboard.type("asked by letter");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=Nothing matches");
  await page.focus("#confirm");
  await page.keyboard.type("0");
  await page.keyboard.press("Enter");
  await page.waitForURL(/deletion\/[0-9a-f-]{36}$/);
  await reloadUntil(page, "text=Download receipt");
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.isVisible("dt:has-text('Completed')"), "a receipt can be printed");
});

/** As people do who have no script: now and then. */
async function reloadUntil(page: Page, shown: string): Promise<void> {
  while (!await page.isVisible(shown)) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    await page.reload();
  }
}

/** Something of everything that a page may show, with names as long as people make them. */
async function fillPages({ service }: OwnerWorld): Promise<string[]> {
  const owner = await service.owner();
  const key = await service.createKey(
    ...["--scope", "vendor-b", "--scope", "status", "--scope", "chat", "--scope", "exports"],
    ...["--scope", "evals", "--cap-day-usd", "5", "--cap-month-usd", "100"],
    ...["--models", "vendor-b/gpt-4.1"],
  );
  const call = async (content: string, more = {}) => {
    const answer = await service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content }],
      user: "customer-0123456789-of-a-long-name",
      ...more,
    });
    await answer.body?.cancel();
    return answer.headers.get("x-transaction-id") ?? "";
  };
  const app = "/// APP the-support-assistant-of-the-shop\n/// COHORT with-a-longer-prompt\n";
  const ids = [await call(`${app}Hello`), await call(`${app}Again [error:500]`)];
  await call(`${app}Hello [long:4000]`, { model: "vendor-c/claude-sonnet-4-6" });
  await call("none", { model: "vendor-b/no-such-model-of-this-name" });
  await call("two", { model: "vendor-c/claude-haiku-4-5", n: 2 });
  // A share of less than 0.1 %.
  await call("[say:a]", { model: "openai/gpt-6-luna" });
  const submit = async (form: string, fields: Record<string, string | string[]>) => {
    const { location = form } = await owner.submit(form, form, fields);
    return location;
  };
  await submit("/dashboard/settings/models/new", { name: "v".repeat(60), targets: "gpt-4.1" });
  const made = await submit("/dashboard/evals/new", {
    ...{ model: "vendor-b/gpt-4.1", key: key.id, limit: "5", sample: "newest" },
    ...{ grader0_type: "contains", grader0_text: "" },
  });
  await submit("/dashboard/exports/new", { format: "csv", table: ["interactions"] });
  const [keys, list, overview] = [
    "/dashboard/keys",
    "/dashboard/interactions",
    "/dashboard/overview",
  ];
  const settings = ["vendor-keys", "models", "budgets", "webhooks", "people", "limits"];
  return [
    ...[overview, `${overview}?range=last-month`, `${overview}?range=month&by=user`],
    ...[list, `${list}/refused`, ...ids.map((id) => `${list}/${id}`)],
    ...[keys, `${keys}/new`, `${keys}/${key.id}`, `${keys}/${key.id}/rotate`],
    ...[
      "/dashboard/playground",
      "/dashboard/cohorts",
      "/dashboard/cohorts/show?id=with-a-longer-prompt",
    ],
    ...["/dashboard/evals", "/dashboard/evals/new", made],
    ...["/dashboard/exports", "/dashboard/exports/new"],
    ...["/dashboard/deletion", "/dashboard/deletion/new"],
    ...[...settings, "retention", "audit"].map((name) => `/dashboard/settings/${name}`),
  ];
}

for (const scheme of schemesFor("pages at four widths")) {
  Deno.test(`no page hides what can be done, at any width, ${scheme}`, async () => {
    await using world = await startAsOwner(scheme);
    const { page, service } = world;
    const fresh =
      /refused|by=user|keys\/[0-9a-f-]{36}$|interactions\/[0-9a-f-]{36}$|evals\/[0-9a-f]/;
    const found: string[] = [];
    for (const path of await fillPages(world)) {
      const answer = await page.goto(service.baseUrl + path);
      assert.equal(answer?.status(), 200, path);
      found.push(...await misfits(page, path));
      if (fresh.test(path)) await looksFine(page, path);
    }
    assert.deepEqual(found, []);
    assert.deepEqual(world.complaints, []);
  });
}

Deno.test("actions cast a shadow only over cells that scroll behind them", async () => {
  await using world = await startAsOwner();
  const { page, service } = world;
  await service.createKey("--name", "checkout", "--cap-day-usd", "5", "--cap-month-usd", "100");
  // The shadow follows the scroll position with the next frame.
  const shadow = () =>
    page.evaluate<boolean>(`new Promise((resolve) => {
      const look = () =>
        resolve(getComputedStyle(document.querySelector("td.actions")).boxShadow !== "none");
      requestAnimationFrame(() => requestAnimationFrame(look));
    })`);
  const scrollTo = (left: number) =>
    page.evaluate(`document.querySelector(".table").scrollTo(${left}, 0)`);
  await page.setViewportSize({ width: 1600, height: 900 });
  await page.goto(`${service.baseUrl}/dashboard/keys`);
  assert.equal(await shadow(), false, "nothing scrolls");
  await page.setViewportSize({ width: 780, height: 900 });
  // Usual keys fit.
  await page.evaluate(`document.querySelector("table").style.minWidth = "1000px"`);
  await scrollTo(0);
  assert.equal(await shadow(), true, "cells lie behind");
  await scrollTo(9_999);
  assert.equal(await shadow(), false, "the last cell is in view");
});

Deno.test("a page is printed with every row of its table, and without what is for the screen", async () => {
  await using world = await startAsOwner();
  const { page, service } = world;
  for (let n = 0; n < 40; n++) await service.createKey("--name", `key ${n}`);
  await page.setViewportSize({ width: 720, height: 1020 });
  await page.goto(`${service.baseUrl}/dashboard/settings/audit`);
  const table = `document.querySelector(".table")`;
  const cutOff = () => page.evaluate<number>(`${table}.scrollHeight - ${table}.clientHeight`);
  assert.ok(await cutOff() > 100, "on the screen the table scrolls");
  await page.emulateMedia({ media: "print" });
  assert.ok(await cutOff() <= 1, "on paper it doesn't");
  // "Just now" says nothing on paper.
  const time = page.locator("td time").first();
  const [own, exact] = await time.evaluate((one) => {
    const style = (part?: string) => one.ownerDocument.defaultView.getComputedStyle(one, part);
    return [style().fontSize, style("::after").content];
  });
  assert.deepEqual([own, exact], ["0px", `"${await time.getAttribute("title")}"`]);
  for (const one of [".topbar", ".sidebar", ".tabs a:not([aria-current])", ".table-csv"]) {
    assert.equal(await page.locator(one).first().isVisible(), false, one);
  }
  assert.match(await page.innerText(".printed"), /^default, \d+ \w+ \d{4}, \d\d:\d\d UTC$/);
  await page.goto(`${service.baseUrl}/dashboard/keys`);
  assert.equal(await page.locator("main a.button, main button").first().isVisible(), false);
  await page.goto(`${service.baseUrl}/dashboard/overview`);
  assert.equal(await page.locator("main summary.button").first().isVisible(), false);
});

Deno.test("a key is made, rotated and revoked, and a customer's data deleted, by keyboard alone", async () => {
  await using world = await startAsOwner();
  const { page, service } = world;
  const enter = async (selector: string) => {
    await tabTo(page, selector);
    await page.keyboard.press("Enter");
  };
  const type = async (selector: string, text: string) => {
    await tabTo(page, selector);
    await page.keyboard.type(text);
  };
  await page.goto(`${service.baseUrl}/dashboard/overview`);
  await enter(".sidebar a[href='/dashboard/keys']");
  await page.waitForURL("**/dashboard/keys");
  await enter("main a[href$='/keys/new']");
  await page.waitForURL("**/keys/new");
  await type("#name", "by keyboard");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/created");
  assert.match(await page.textContent("#key-value") ?? "", /^dmt_/);
  const id = page.url().split("/").at(-2)!;
  await enter("main a[href$='/dashboard/keys']");
  await page.waitForURL("**/dashboard/keys");
  await enter(`main a[href$='${id}/rotate']`);
  await page.waitForURL("**/rotate");
  await enter("main button[type=submit]");
  await page.waitForURL((url) => url.pathname.endsWith("/created") && !url.href.includes(id));
  const next = page.url().split("/").at(-2)!;
  await page.goto(`${service.baseUrl}/dashboard/keys`);
  await enter(`main a[href$='${next}/revoke']`);
  await page.waitForURL("**/revoke");
  await enter("main button.button-danger");
  await page.waitForSelector("text=is revoked");

  const call = await service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "Hello" }],
    user: "customer-9",
  });
  await call.body?.cancel();
  await page.goto(`${service.baseUrl}/dashboard/deletion`);
  await enter("main a[href$='/deletion/new']");
  await page.waitForURL("**/deletion/new");
  await type("#user_id", "customer-9");
  await type("#reason", "asked for");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#confirm");
  // What is to be typed next has the focus already.
  assert.ok(await page.evaluate<boolean>("document.activeElement.id === 'confirm'"));
  await page.keyboard.type("1");
  await page.keyboard.press("Enter");
  await page.waitForURL(/deletion\/[0-9a-f-]{36}$/);
  await page.waitForSelector("text=Done");
  assert.equal((await service.rows({ user_id: "customer-9" })).length, 0);
});

Deno.test("days are typed as pages write them, or chosen from the browser's calendar", async () => {
  await using world = await startAsOwner();
  const { page, service } = world;
  await page.goto(`${service.baseUrl}/dashboard/exports/new`);
  assert.match(await page.inputValue("#from"), /^\d{1,2} [A-Z][a-z]{2} \d{4}$/);
  const calendar = page.locator(".day:has(#from) .day-calendar");
  await page.fill("#from", "5 Nov 2026");
  await page.getByRole("button", { name: "Calendar: First day" }).click();
  assert.equal(await calendar.inputValue(), "2026-11-05", "the calendar opens at what is typed");
  await calendar.evaluate((one) => {
    one.value = "2026-11-07";
    one.dispatchEvent(new Event("change"));
  });
  assert.equal(await page.inputValue("#from"), "7 Nov 2026");
  await page.fill("#to", "31 Feb 2027");
  await page.click("text=Start export");
  await page.waitForSelector("#to-error");
  assert.equal(await page.inputValue("#to"), "31 Feb 2027");
  await page.fill("#to", "2026-11-08");
  await page.click("text=Start export");
  await page.waitForURL("**/dashboard/exports");
  await page.waitForSelector("text=7 Nov 2026 – 8 Nov 2026");

  await page.goto(`${service.baseUrl}/dashboard/interactions`);
  await page.click("summary:has-text('More filters')");
  await page.fill("#from", "5 Nov 2026, 09:07");
  await page.click("text=Apply filters");
  await page.waitForSelector(".chip:has-text('5 Nov 2026, 09:07 UTC')");
  assert.deepEqual(world.complaints.filter((one) => !/status of 400/.test(one)), []);
});

Deno.test("the first wrong field of a refused form has the focus, and each a red border", async () => {
  await using world = await startAsOwner();
  const { page, service } = world;
  await page.goto(`${service.baseUrl}/dashboard/keys/new`);
  await page.fill("#name", "any");
  await page.fill("#models", "nonsense");
  await page.fill("#cap_day", "much");
  await page.click("main form button[type=submit]");
  await page.waitForSelector("#models-error");
  assert.equal(await page.evaluate("document.activeElement.id"), "cap_day");
  const styleOf = (selector: string, property: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}")).${property}`);
  const borderOf = (selector: string) => styleOf(selector, "borderTopColor");
  const red = await styleOf("#cap_day-error", "color");
  assert.equal(await borderOf("#cap_day"), red);
  assert.equal(await borderOf("#models"), red);
  assert.notEqual(await borderOf("#name"), red);
});

Deno.test("two cohorts that are checked in the list are compared", async () => {
  await using world = await startAsOwner();
  const { page, service } = world;
  for (const cohort of ["one", "two", "three"]) {
    const answer = await service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: `/// COHORT ${cohort}\nHello` }],
    });
    await answer.body?.cancel();
  }
  await page.goto(`${service.baseUrl}/dashboard/cohorts`);
  await page.getByLabel("Compare two", { exact: true }).check();
  await page.getByLabel("Compare one", { exact: true }).check();
  await page.click("text=Compare selected");
  await page.waitForSelector("h1:has-text('one and two')");
  assert.ok(await page.isVisible("text=Conversions per call"));
  const names = await page.$$eval("#cohort-names option", (all) => all.map(({ value }) => value));
  assert.deepEqual(names, ["three", "two"]);
  // Beside the sidebar of a small desk all columns of a table are in sight.
  const overflow = async (path: string, label: string) => {
    await page.goto(`${service.baseUrl}/dashboard/cohorts/show?${path}`);
    return await page.getByRole("region", { name: label }).evaluate((one) =>
      one.scrollWidth - one.clientWidth
    );
  };
  for (const model of ["vendor-b/gpt-4.1", ...Array(3).fill("vendor-c/claude-sonnet-4-6")]) {
    const answer = await service.post("/chat/v1/chat/completions", {
      ...{ model, messages: [{ role: "user", content: "/// COHORT one\nHello" }] },
    });
    await answer.body?.cancel();
  }
  for (const width of [1240, 1100, 961]) {
    await page.setViewportSize({ width, height: 900 });
    assert.equal(await overflow("id=one&with=two", "Comparison"), 0, `${width} px`);
    assert.equal(await overflow("id=one", "Models"), 0, `${width} px`);
  }
  const models = page.getByRole("table", { name: "Models" });
  const { height } = (await models.locator("tbody th").first().boundingBox())!;
  assert.ok(height < 140, `the row of a name is ${height} px high`);
  // Without any checked the list stays.
  await page.goto(`${service.baseUrl}/dashboard/cohorts/show`);
  assert.equal(page.url(), `${service.baseUrl}/dashboard/cohorts`);
  assert.deepEqual(world.complaints, []);
});
