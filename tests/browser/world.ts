import assert from "@std/assert";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { startSimulatedService } from "../support/service.ts";
import { openChromium, openPage, type Scheme, type WatchedPage } from "./chromium.ts";
import { startRealProvider } from "./real_provider.ts";

/** A service whose people sign in at a real provider, and a browser that has not yet. */
export async function start(scheme: Scheme = "light") {
  const provider = await startRealProvider();
  const service = await startSimulatedService({
    OAUTH_ISSUER: provider.issuer,
    OAUTH_CLIENT_ID: provider.clientId,
    OAUTH_CLIENT_SECRET: provider.clientSecret,
  });
  provider.register(`${service.baseUrl}/dashboard/callback`);
  const browser = await openChromium();
  const watched: WatchedPage = await openPage(browser, { scheme, origin: service.baseUrl });
  const claimLink = /http\S+\/dashboard\/claim\S+/.exec(service.greeting.join("\n"))?.[0] ?? "";
  return {
    ...watched,
    service,
    browser,
    claimLink,
    async [Symbol.asyncDispose]() {
      await browser.close();
      await service.stop();
      await provider.close();
    },
  };
}

/** What the provider's own pages ask: a name, and whether the service may know it. */
export async function signInAs(page: Page, name: string): Promise<void> {
  await page.fill("input[name=login]", name);
  await page.fill("input[name=password]", "any");
  await page.click("button[type=submit]");
  await page.click("button:has-text('Continue')");
}

/** Claims the gateway through its link, as people do: sign-in, and a yes. */
export async function claimAs(page: Page, claimLink: string, name: string): Promise<void> {
  await page.goto(claimLink);
  await page.click("text=Sign in and claim");
  await signInAs(page, name);
  await page.click("button[value=yes]");
  await page.waitForURL("**/dashboard/overview");
}

/** axe-core finds nothing. */
export async function looksFine(page: Page, name: string): Promise<void> {
  // The evaluation comes from outside the page, so its content policy stays as it is.
  await page.evaluate(axe.source);
  const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) })))",
  );
  assert.deepEqual(found, [], name);
}

/** The person who owns the gateway, signed in. */
export async function startAsOwner(scheme: Scheme = "light") {
  const world = await start(scheme);
  await claimAs(world.page, world.claimLink, "ada");
  return world;
}
