import assert from "@std/assert";
import type { Browser, Page } from "playwright-core";
import { type DashboardWorld, startDashboard } from "../dashboard/world.ts";
import { startSimulatedService } from "../support/service.ts";
import { openPage, type Scheme, startChromium, type WatchedPage } from "./chromium.ts";
import { startRealProvider } from "./real_provider.ts";

/** Files of this isolate whose tests haven't ended, and the browser that they share. */
let files = 0;
let running: Browser | undefined;

/**
 * Registers the browser for a file's tests; a file calls this before its other hooks. Files of one
 * isolate share one Chromium, since a second one doesn't start there.
 */
export function useBrowser(): void {
  files++;
  Deno.test.beforeAll(async () => {
    running ??= await startChromium();
  });
  Deno.test.afterEach(closePages);
  Deno.test.afterAll(async () => {
    if (--files === 0) await running?.close();
  });
}

/** The shared browser; each test opens contexts of its own, which are closed after it. */
export function browser(): Browser {
  if (!running) throw new Error("The browser is not running");
  return running;
}

/** A page that nobody looks at any more still asks for what is new. */
async function closePages(): Promise<void> {
  for (const context of browser().contexts()) await context.close();
}

/** A service whose people sign in at a real provider; nobody has yet. */
export async function startUnclaimed() {
  const provider = await startRealProvider();
  const service = await startSimulatedService({
    OAUTH_ISSUER: provider.issuer,
    OAUTH_CLIENT_ID: provider.clientId,
    OAUTH_CLIENT_SECRET: provider.clientSecret,
  }, { database: "any" });
  provider.register(`${service.baseUrl}/dashboard/callback`);
  const claimLink = /http\S+\/dashboard\/claim\S+/.exec(service.greeting.join("\n"))?.[0] ?? "";
  const stop = async () => {
    await closePages();
    await service.stop();
    await provider.close();
  };
  return { service, claimLink, stop, [Symbol.asyncDispose]: stop };
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

/** Half as long as the package's `source`, and each page is sent it. */
const axe = Deno.readTextFileSync(new URL("axe.min.js", import.meta.resolve("axe-core")));

/** axe-core finds nothing, and screen readers have a name for each table and each part they jump to. */
export async function looksFine(page: Page, name: string): Promise<void> {
  assert.deepEqual(await namelessIn(page), [], name);
  // The evaluation comes from outside the page, so its content policy stays as it is.
  await page.evaluate(axe);
  const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    `axe.run({ resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) })))`,
  );
  assert.deepEqual(found, [], name);
}

/** Roles of what screen readers list; axe-core lets tables have no name. */
const listedRoles = ["table", "region", "navigation"];

/** Roles without a name in the tree that Chromium hands to screen readers. */
async function namelessIn(page: Page): Promise<string[]> {
  const client = await page.context().newCDPSession(page);
  const { nodes } = await client.send("Accessibility.getFullAXTree");
  await client.detach();
  return nodes
    .filter(({ ignored, name }) => !ignored && (name?.value ?? "") === "")
    .map(({ role }) => String(role?.value))
    .filter((role) => listedRoles.includes(role));
}

/** A service, and the pages of its owner. */
export interface OwnerWorld extends WatchedPage, AsyncDisposable {
  service: DashboardWorld;
  /** Another page of the owner's, in a context of its own. */
  open(options?: Parameters<typeof openPage>[1]): Promise<WatchedPage>;
}

/** The person who owns the gateway, signed in. */
export async function startAsOwner(scheme: Scheme = "light"): Promise<OwnerWorld> {
  const service = await startDashboard({ vendors: true });
  const open = await openerOf(service);
  return {
    ...await open({ scheme }),
    service,
    open,
    async [Symbol.asyncDispose]() {
      await closePages();
      await service.stop();
    },
  };
}

/** Opens pages of the owner, who has signed in without them. */
export async function openerOf(service: DashboardWorld): Promise<OwnerWorld["open"]> {
  const { cookies } = await service.owner();
  const { hostname: domain } = new URL(service.baseUrl);
  const session = [...cookies].map(([name, value]) => ({
    ...{ name, value, domain, path: "/", expires: -1 },
    ...{ httpOnly: true, secure: false, sameSite: "Lax" as const },
  }));
  return (options = {}) =>
    openPage(browser(), { origin: service.baseUrl, cookies: session, ...options });
}
