/**
 * `deno task screenshots [folder [size [scheme]]]`: every page of the dashboard, desktop and phone,
 * light and dark (or one of them), as people see it with some life in it. Writes PNG files to the
 * folder, `dist/screenshots` if none is given.
 */
import type { Page } from "playwright-core";
import { startBusyService } from "./busy_service.ts";
import { desktop, openPage, phone, pictureWidths, startChromium, takePicture } from "./chromium.ts";
import { fillRecords } from "./life.ts";
import { makeSampleCalls } from "./sample_calls.ts";

const [folder = "dist/screenshots", onlySize, onlyScheme] = Deno.args;
await Deno.mkdir(folder, { recursive: true });

await using service = await startBusyService();
await service.admin("credits", "grant", "--usd", "40", "--note", "for the pictures");
const claim = service.claimLink;
const browser = await startChromium();

const { page, context } = await openPage(browser);
await page.goto(claim);
await takePicture(page, `${folder}/claim-desktop-light.png`);
await page.click("text=Sign in and claim");
await takePicture(page, `${folder}/join-desktop-light.png`);
await page.click("button[value=yes]");
await fill(page);
const records = await fillRecords(page, service);
const calls = await makeSampleCalls(service);
await page.goto(`${service.baseUrl}/dashboard/keys`);

/** Pages by the name of their picture. */
const pages: Record<string, string> = {
  overview: "/dashboard/overview",
  "overview-day": "/dashboard/overview?range=24h&by=app",
  "overview-weeks": `/dashboard/overview?from=${daysAgo(180)}`,
  keys: "/dashboard/keys",
  "new-key": "/dashboard/keys/new",
  rotate: await page.getAttribute("a[href$=rotate]", "href") ?? "",
  revoke: await page.getAttribute("a[href$=revoke]", "href") ?? "",
  "vendor-keys": "/dashboard/settings/vendor-keys",
  people: "/dashboard/settings/people",
  ...records,
  audit: "/dashboard/settings/audit",
  "not-found": "/dashboard/nothing",
  interactions: "/dashboard/interactions",
  "interactions-filtered": "/dashboard/interactions?q=order&app=shop&session=visit-17",
  "interactions-nothing": "/dashboard/interactions?model=none",
  interaction: `/dashboard/interactions/${calls.tools}`,
  "interaction-picture": `/dashboard/interactions/${calls.picture}`,
  "interaction-reasoning": `/dashboard/interactions/${calls.reasoning}`,
  "interaction-failed": `/dashboard/interactions/${calls.failed}`,
  "interaction-delete": `/dashboard/interactions/${calls.cut}/delete`,
};
for (const [size, viewport] of Object.entries({ desktop, phone })) {
  if (onlySize && size !== onlySize) continue;
  for (const scheme of ["light", "dark"] as const) {
    if (onlyScheme && scheme !== onlyScheme) continue;
    const shown = await openPage(browser, { viewport, scheme, cookies: await context.cookies() });
    for (const [name, path] of Object.entries(pages)) {
      await shown.page.goto(service.baseUrl + path);
      await pictureWidths(shown.page);
      await takePicture(shown.page, `${folder}/${name}-${size}-${scheme}.png`);
    }
    await playground(shown.page);
    await takePicture(shown.page, `${folder}/playground-${size}-${scheme}.png`);
    await shown.page.goto(`${service.baseUrl}/dashboard/keys/new`);
    await shown.page.fill("#name", "search indexer");
    await shown.page.click("main form button[type=submit]");
    await shown.page.waitForURL("**/created");
    await takePicture(shown.page, `${folder}/created-${size}-${scheme}.png`);
    if (size === "phone") {
      await shown.page.click("summary");
      await takePicture(shown.page, `${folder}/menu-${size}-${scheme}.png`);
    }
    await shown.context.close();
    const stranger = await openPage(browser, { viewport, scheme });
    await stranger.page.goto(`${service.baseUrl}/dashboard/keys`);
    await takePicture(stranger.page, `${folder}/sign-in-${size}-${scheme}.png`);
    await stranger.context.close();
  }
}
await browser.close();
console.log(`Pictures are in ${folder}`);

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

/** Some keys, vendor keys and people. */
async function fill(page: Page): Promise<void> {
  const keys = [
    ["checkout service", "production"],
    ["support assistant", "staging"],
    ["nightly evaluations", "CI/CD"],
  ];
  for (const [name, environment] of keys) {
    await page.goto(`${service.baseUrl}/dashboard/keys/new`);
    await page.fill("#name", name!);
    await page.selectOption("#environment", environment!);
    if (environment === "CI/CD") {
      await page.check("input[value=some]");
      await page.check("input[value=evals]");
      await page.check("input[value=chat]");
      await page.selectOption("#expires", "never");
    }
    await page.click("main form button[type=submit]");
    await page.waitForURL("**/created");
  }
  await page.goto(`${service.baseUrl}/dashboard/keys`);
  await page.click("tr:has-text('support assistant') a:has-text('Revoke')");
  await page.click("main button.button-danger");
  const vendorB = service.simulators!.vendors["vendor-b"].apiKey;
  await page.goto(`${service.baseUrl}/dashboard/settings/vendor-keys`);
  await page.fill("#key-vendor-b", vendorB);
  await page.click("li:has(#key-vendor-b) button:has-text('Test and save')");
  await page.goto(`${service.baseUrl}/dashboard/settings/people`);
  await page.fill("#email", "grace@example.com");
  await page.click("text=Create invitation");
  await service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "Hello" }],
  });
  await page.goto(`${service.baseUrl}/dashboard/keys`);
}

/** A short conversation. */
async function playground(page: Page): Promise<void> {
  await page.goto(`${service.baseUrl}/dashboard/playground`);
  await page.fill("#system", "You help the developers of a web shop. Be brief.");
  const said = "Yes. In short:\n```js\nconst sum = (a, b) => a + b;\n```\nIt adds two numbers.";
  for (const prompt of ["How do I add two numbers?", `[say:${said}]`]) {
    await page.fill("#prompt", prompt);
    await page.click("#send");
    await page.waitForSelector(".turn:last-child .took:has-text('tokens in')");
  }
}
