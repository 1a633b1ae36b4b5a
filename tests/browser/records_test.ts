/** Cohorts, evaluations, exports, deletions and settings in a real browser. */
import assert from "@std/assert";
import type { Page } from "playwright-core";
import { desktop, phone, schemesFor } from "./chromium.ts";
import { fillRecords } from "./life.ts";
import { browser, looksFine, startAsOwner } from "./world.ts";

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
    messages: [{ role: "user", content: "Hello" }],
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
  assert.deepEqual(world.complaints, []);
});

Deno.test("a file is made, fetched and data deleted without script, by keyboard", async () => {
  await using world = await startAsOwner();
  const { service } = world;
  const plain = await browser().newContext({ javaScriptEnabled: false });
  await plain.addCookies(await world.context.cookies());
  const page = await plain.newPage();
  await page.goto(`${service.baseUrl}/dashboard/exports/new`);
  await page.focus("text=Start export");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/exports");
  await reloadUntil(page, "text=Download");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.press("a:has-text('Download')", "Enter"),
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
});

/** As people do who have no script: now and then. */
async function reloadUntil(page: Page, shown: string): Promise<void> {
  while (!await page.isVisible(shown)) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    await page.reload();
  }
}
