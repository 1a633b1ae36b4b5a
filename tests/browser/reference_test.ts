/** The reference page in a real browser, under the exact policy, against a running service. */
import assert from "@std/assert";
import type { Page } from "playwright-core";
import { startSimulatedService, type TestService } from "../support/service.ts";
import { chromiumIsThere } from "./chromium.ts";
import { browser, useBrowser } from "./world.ts";

if (chromiumIsThere()) useBrowser();

Deno.test({
  name: "the reference page, and a link into it",
  ignore: !chromiumIsThere(),
  async fn(t) {
    await using service = await startSimulatedService({}, { database: "any" });
    const { page, heard } = await open(service.baseUrl);
    await page.goto(`${service.baseUrl}/reference`);
    await page.getByText("Create chat completion").first().waitFor();
    const at = { page, service, heard };
    await t.step(
      "what all vendors share is first and open, the vendors are last and folded",
      () => isInOrder(page),
    );
    await t.step(
      "its search finds what people look for, by the words that they use",
      () => finds(at),
    );
    await t.step(
      "'try it' sends the example with a key that is typed in, whole and streamed, shows what comes back and keeps no key",
      () => triesItOut(at),
    );
    await page.close();
    // On a page of its own, since what is unfolded stays, and makes whatever is looked for dear.
    const linked = { ...await open(service.baseUrl), service };
    await t.step("a link to an operation of a folded family opens it", async () => {
      const path = "/vendor-b/v1/embeddings";
      await linked.page.goto(`${service.baseUrl}/reference#tag/vendor-b/POST${path}`);
      await linked.page.locator("button", { hasText: `(post ${path})` }).first().waitFor();
    });
    await t.step(
      "it lists every operation, asks nobody else, and nothing of it is blocked",
      () => listsEverything(linked),
    );
  },
});

interface Opened {
  readonly page: Page;
  readonly service: TestService;
  readonly heard: Heard;
}

const families = (page: Page) => page.locator("li:has(> div > button:has-text('Open Group'))");

async function isInOrder(page: Page): Promise<void> {
  const folded = await families(page).locator("> div > a").allInnerTexts();
  assert.deepEqual(folded.map((title) => title.replace(/[ :].*/, "")), [
    ...["Images", "Speech", "Data", "Administration", "Operations", "Hugging", "OpenAI"],
    ...["Anthropic", "Google", "Google,", "OpenRouter", "xAI"],
  ]);
  assert.ok(await page.locator("a[href='#tag/chat/POST/chat/v1/chat/completions']").isVisible());
}

async function listsEverything({ page, service, heard }: Opened): Promise<void> {
  const document = await (await fetch(`${service.baseUrl}/openapi.json`)).json();
  await page.$$eval("li > div > button", (buttons) => {
    for (const one of buttons) if (/Open Group/.test(one.textContent)) one.click();
  });
  await families(page).waitFor({ state: "detached" });
  const wanted = Object.entries<Record<string, { tags: string[] }>>(document.paths).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, { tags }]) =>
        `#tag/${tags[0]}/${method.toUpperCase()}${path}`
      ),
  );
  const shown = new Set(
    await page.$$eval("a[href]", (links) => links.map((link) => link.getAttribute("href"))),
  );
  assert.ok(wanted.length > 50);
  assert.deepEqual(wanted.filter((href) => !shown.has(href)), []);
  // It looks as it should: with its style sheets the text stands beside the list.
  const title = await page.locator("h1").first().boundingBox();
  assert.ok(title !== null && title.x > 280 && title.y < 400, JSON.stringify(title));
  assert.deepEqual(heard, { blocked: [], foreign: [], errors: [] });
}

/** What is first, or among the first three, for words that are typed into the search. */
const searches: readonly (readonly [words: string, first: string, ...others: string[]])[] = [
  ["cost", "/api/v1/usage", "/api/v1/interactions"],
  ["balance", "/api/v1/credits", "/api/v1/status"],
  ["speech to text", "/vendor-b/v1/audio/transcriptions", "/tts/v1/generate"],
  ["embeddings", "/chat/v1/embeddings", "/vendor-b/v1/embeddings"],
  ["spend", "/api/v1/usage"],
  ["delete", "/api/v1/data"],
  ["webhook", "/api/v1/admin/webhooks/{id}"],
];

async function finds({ page, heard }: Opened): Promise<void> {
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox").last();
  for (const [words, first, ...others] of searches) {
    await box.fill(words);
    const hits = page.getByRole("option").filter({ hasText: /Path:/ });
    await hits.first().filter({ hasText: `Path: ${first}` }).waitFor();
    const shown = (await hits.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
    for (const path of others) {
      assert.ok(
        shown.slice(0, 3).some((text) => text.endsWith(`Path: ${path}`)),
        `${words}: ${shown}`,
      );
    }
    assert.equal(await page.getByRole("option", { name: /^Models:/ }).count(), 0, words);
  }
  await page.keyboard.press("Escape");
  assert.deepEqual(heard, { blocked: [], foreign: [], errors: [] });
}

async function triesItOut({ page, service, heard }: Opened): Promise<void> {
  const path = "/chat/v1/chat/completions";
  await page.goto(`${service.baseUrl}/reference#tag/chat/POST${path}`);
  const tryIt = page.locator("button", { hasText: `(post ${path})` }).first();
  const send = async (bodyText: string) => {
    // A click before the form is filled with the example sends nothing.
    await page.getByRole("dialog").getByText(bodyText).first().waitFor();
    const [answer] = await Promise.all([
      page.waitForResponse(service.baseUrl + path),
      page.getByRole("button", { name: /send/i }).last().click(),
    ]);
    return answer;
  };
  await tryIt.click();
  await page.getByPlaceholder("Token").last().fill(service.key);
  const whole = await send('"model"');
  assert.equal(whole.status(), 200);
  assert.equal(whole.request().postDataJSON().model, "vendor-b/gpt-5-mini");
  // A header that nobody filled in is not sent: an id that the page made up would make the second
  // call a replay of the first.
  const ours = Object.keys(whole.request().headers()).filter((name) => name.startsWith("x-"));
  assert.deepEqual(ours, []);
  await page.getByText('"chat.completion"').last().waitFor();
  assert.equal((await page.evaluate(storedText)).includes(service.key), false);
  // The example that streams is chosen on the page; the key is still known.
  await page.keyboard.press("Escape");
  await page.getByTestId("example-picker").first().click();
  await page.getByRole("option", { name: /streamed/i }).first().click();
  await tryIt.click();
  const streamed = await send('"stream"');
  assert.equal(streamed.request().postDataJSON().stream, true);
  assert.match(streamed.headers()["content-type"] ?? "", /^text\/event-stream/);
  await page.getByText("data: [DONE]").last().waitFor();
  assert.deepEqual(heard, { blocked: [], foreign: [], errors: [] });
}

interface Heard {
  /** What the policy blocked. */
  readonly blocked: string[];
  /** Requests to other hosts. */
  readonly foreign: string[];
  readonly errors: string[];
}

async function open(baseUrl: string): Promise<{ page: Page; heard: Heard }> {
  const page = await browser().newPage({
    viewport: { width: 1400, height: 900 },
    reducedMotion: "reduce",
  });
  page.setDefaultTimeout(120_000);
  const heard: Heard = { blocked: [], foreign: [], errors: [] };
  await page.addInitScript(() => {
    globalThis.addEventListener("securitypolicyviolation", (event) => {
      const { effectiveDirective, blockedURI } = event as Event & {
        effectiveDirective: string;
        blockedURI: string;
      };
      console.error(`blocked ${effectiveDirective} ${blockedURI}`);
    });
  });
  page.on("console", (message) => {
    if (/^blocked |Content Security Policy/.test(message.text())) {
      heard.blocked.push(message.text());
    }
  });
  page.on("pageerror", (error) => heard.errors.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${baseUrl}/`)) heard.foreign.push(request.url());
  });
  return { page, heard };
}

/** Runs in the page. */
function storedText(): string {
  return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]);
}
