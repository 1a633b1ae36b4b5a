/** The playground in a real browser. */
import assert from "@std/assert";
import { looksFor } from "./chromium.ts";
import { looksFine, startAsOwner } from "./world.ts";

Deno.test("an answer streams into the page, can be stopped, and leads to its record", async () => {
  await using world = await startAsOwner();
  const { service, page, complaints } = world;
  await page.goto(`${service.baseUrl}/dashboard/playground`);
  await page.fill("#system", "Be brief.");
  await page.fill("#prompt", "[long:40] [drip:100] <b>bold</b>");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".turn-assistant .said-text >> visible=true");
  assert.equal(await page.isDisabled("#send"), true);
  assert.match(await page.innerText(".turn-user .said"), /<b>bold<\/b>/);
  await page.click("#stop");
  await page.waitForSelector("text=Stopped.");
  assert.equal(await page.isEnabled("#send"), true);
  await until(async () => (await service.rows({ app: "playground" })).length === 1);
  const [stopped] = await service.rows({ app: "playground" });
  assert.equal(stopped!.status, "cancelled");

  await page.fill("#prompt", "[say:And once more.]");
  await page.focus("#system");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".turn-assistant:last-child .took:has-text('tokens in')");
  assert.match(await page.innerText(".turn-assistant:last-child .said"), /And once more\./);
  const href = await page.getAttribute(".turn-assistant:last-child .took a", "href");
  const row = await service.row(href!.split("/").at(-1)!);
  const { messages } = row.request as { messages: unknown[] };
  assert.equal(messages.length, 4, "system, question, what was said of the answer, question");

  await page.fill("#prompt", "[error:400]");
  await page.click("#send");
  await page.waitForSelector("#problem:not([hidden])");
  assert.equal(await page.inputValue("#prompt"), "[error:400]", "it can be sent again");
  assert.equal(await page.locator(".turn").count(), 4);
  await page.click("#show-code");
  await page.waitForSelector("#code .snippet");
  assert.match(await page.innerText("#code"), /client\.chat\.completions\.create/);
  assert.ok(await page.isVisible("#code button[data-copy]"));
  assert.deepEqual(complaints, []);
});

Deno.test("the playground is fine in light and dark, on desks and phones", async () => {
  await using world = await startAsOwner();
  for (const { scheme, viewport } of looksFor("playground")) {
    const { page, complaints, context } = await world.open({ scheme, viewport });
    await page.goto(`${world.service.baseUrl}/dashboard/playground`);
    await looksFine(page, `empty ${scheme}`);
    await page.fill("#prompt", "Some code:\n```js\nconst a = 1;\n```\nThank you");
    await page.click("#send");
    await page.waitForSelector(".took:has-text('tokens in')");
    await page.click("#show-code");
    await page.waitForSelector("#code .snippet");
    await looksFine(page, `answered ${scheme}`);
    await page.fill("#prompt", "[error:400]");
    await page.click("#send");
    await page.waitForSelector("#problem:not([hidden])");
    await looksFine(page, `failed ${scheme}`);
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_200 && !await isSo(); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
