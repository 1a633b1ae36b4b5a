/** The playground in a real browser. */
import assert from "@std/assert";
import { looksFor } from "./chromium.ts";
import { looksFine, startAsOwner, useBrowser } from "./world.ts";

useBrowser();

Deno.test("an answer streams into the page, can be stopped, and leads to its record", async () => {
  await using world = await startAsOwner();
  const { service, page, complaints } = world;
  await page.goto(`${service.baseUrl}/dashboard/playground`);
  await page.fill("#system", "Be brief.");
  await page.fill("#prompt", "[long:40] [drip:100] <b>bold</b>");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".turn-assistant .said-text >> visible=true");
  assert.equal(await page.isDisabled("#send"), true);
  // Screen readers read the answer out once it is there.
  const log = page.getByRole("log", { name: "Conversation" });
  assert.equal(await log.getAttribute("aria-busy"), "true");
  assert.match(await page.innerText(".turn-user .said"), /<b>bold<\/b>/);
  await page.click("#stop");
  await page.waitForSelector("text=Stopped.");
  assert.equal(await page.isEnabled("#send"), true);
  assert.equal(await log.getAttribute("aria-busy"), "false");
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
  await page.fill("#temperature", "9");
  await page.fill("#token_limit", "many");
  await page.click("#send");
  await page.waitForSelector("#problem:has-text('a temperature'):has-text('the token limit')");
  const invalid = () =>
    page.$$eval("[aria-invalid=true]", (fields) => fields.map((field) => field.id));
  assert.deepEqual(await invalid(), ["temperature", "token_limit"]);
  assert.ok(await page.$eval("#temperature", (field) => field.matches(":focus")));
  for (const field of ["#temperature", "#token_limit"]) await page.fill(field, "");
  await page.click("#send");
  await page.waitForSelector("#problem:not([hidden]):not(:has-text('temperature'))");
  assert.deepEqual(await invalid(), []);
  assert.equal(await page.inputValue("#prompt"), "[error:400]", "it can be sent again");
  assert.equal(await page.locator(".turn").count(), 4);
  await page.click("#show-code");
  await page.waitForSelector("#code .snippet");
  assert.match(await page.innerText("#code"), /client\.chat\.completions\.create/);
  assert.ok(await page.isVisible("#code button[data-copy]"));
  assert.deepEqual(complaints, []);

  // The service is away: each button says so, and nothing is lost.
  await page.context().setOffline(true);
  for (const button of ["#show-code", "#send"]) {
    await page.evaluate("document.getElementById('problem').textContent = ''");
    await page.click(button);
    await page.waitForSelector('#problem:has-text("The service can\'t be reached")');
  }
  assert.equal(await page.inputValue("#prompt"), "[error:400]");
  assert.equal(await page.locator(".turn").count(), 4);
});

Deno.test("what was written stays: a text too long for the page is whole, and so is the conversation", async () => {
  await using world = await startAsOwner();
  const { service, page, context } = world;
  await page.goto(`${service.baseUrl}/dashboard/playground`);
  await page.fill("#prompt", "[say:Good morning]");
  await page.click("#send");
  await page.waitForSelector(".turn-assistant .took a");
  const [opened] = await Promise.all([
    context.waitForEvent("page"),
    page.click(".turn-assistant .took a"),
  ]);
  await opened.waitForSelector("h1:has-text('Good morning')");
  assert.equal(await page.locator(".turn").count(), 2);

  // As pasted: who fills a field by script passes over what its length is limited to.
  const paste = async (text: string) => {
    await page.fill("#prompt", "");
    await page.focus("#prompt");
    await page.keyboard.insertText(text);
    await page.click("#send");
    await page.waitForSelector("#problem:not([hidden])");
    assert.equal((await page.inputValue("#prompt")).length, text.length);
    return await page.innerText("#problem");
  };
  assert.match(await paste("a".repeat(200_001)), /at most 200,000 characters/);
  assert.match(await paste("漢".repeat(400_000)), /too long for one page/);
  assert.equal(await page.locator(".turn").count(), 2);
});

/** Without brackets, at which the simulator ends what it says. */
const hostileAnswer = [
  "# Heading",
  "- one\n- **two**",
  "| a | b |\n| - | -: |\n| 1 | 2 |",
  "```html\n<script>document.title = 'code'</script>\n```",
  "<script>document.title = 'script'</script>",
  "<img src=x onerror=\"document.title = 'img'\">",
  "<svg onload=\"document.title = 'svg'\"></svg>",
  "<form action=https://example.com><input name=csrf></form>",
].join("\n\n");

Deno.test("an answer's Markdown is shown as such, and what is hostile in it as text", async () => {
  await using world = await startAsOwner();
  const { service, page, complaints } = world;
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  const shown = async () => {
    const said = page.locator(".turn-assistant:last-child .said-markdown");
    await said.waitFor();
    const tags = await said.evaluate((element) =>
      [...element.querySelectorAll("*")].map(({ localName }) => localName)
    );
    const hrefs = await said.evaluate((element) =>
      [...element.querySelectorAll("a")].map((link) => link.getAttribute("href"))
    );
    return { tags, hrefs, text: await said.innerText() };
  };
  const looksRight = ({ tags, text }: Awaited<ReturnType<typeof shown>>) => {
    for (const tag of ["h3", "ul", "li", "strong", "table", "th", "td", "pre", "code"]) {
      assert.ok(tags.includes(tag), `${tag} is not among ${tags}`);
    }
    for (const tag of ["script", "img", "svg", "form", "input", "style", "iframe"]) {
      assert.ok(!tags.includes(tag), `${tag} is among ${tags}`);
    }
    assert.match(text, /<script>document\.title = 'script'<\/script>/);
    assert.match(text, /<img src=x onerror="document\.title = 'img'">/);
    assert.match(text, /<form action=https:\/\/example\.com>/);
  };
  await page.goto(`${service.baseUrl}/dashboard/playground`);
  const title = await page.title();
  await page.fill("#prompt", `[say:${hostileAnswer}]`);
  await page.click("#send");
  looksRight(await shown());
  assert.equal(await page.locator(".turn-user .said-markdown").count(), 0);
  assert.equal(await page.inputValue(".turn-assistant:last-child [name=content]"), hostileAnswer);
  await looksFine(page, "Markdown");

  // Without a script the whole page comes back with the same answer in it.
  const plain = await world.open({ scripts: false });
  await plain.page.goto(`${service.baseUrl}/dashboard/playground`);
  await plain.page.fill("#prompt", `[say:${hostileAnswer}]`);
  await plain.page.click("#send");
  const tags = await plain.page.locator(".said-markdown *").count();
  assert.ok(tags > 20, `${tags} elements`);
  assert.equal(await plain.page.locator(".said-markdown :is(script, img, svg, form)").count(), 0);
  await plain.context.close();

  assert.equal(await page.title(), title, "nothing of it ran");
  assert.deepEqual(requests.filter((url) => !url.startsWith(service.baseUrl)), []);
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
