import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../demo/simulator/identity_provider.ts";
import type { Simulators } from "../../demo/simulators.ts";
import { type Answer, BrowserClient } from "../support/browser_client.ts";
import {
  type Environment,
  startSimulatedService,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from "../support/service.ts";

/** A service whose people sign in at the simulated provider. */
export interface DashboardWorld extends TestService {
  provider: IdentityProvider;
  claimLink: string;
  /** Where there are any. */
  simulators?: Simulators;
  browser(): BrowserClient;
  /** A browser that has signed in through the claim link. */
  owner(): Promise<BrowserClient>;
}

/**
 * `addresses`: sign-in by the provider's three addresses, without OpenID. `vendors`: simulated ones
 * stand behind the service. `embedded`: its database is the embedded one in every run.
 */
export async function startDashboard(
  { addresses = false, vendors = false, embedded = false, env = {}, ...options }:
    & { addresses?: boolean; vendors?: boolean; embedded?: boolean; env?: Environment }
    & Pick<TestServiceOptions, "onFirstStart"> = {},
): Promise<DashboardWorld> {
  const provider = startIdentityProvider();
  const { issuer } = provider;
  // The long round takes the one that the gate does not.
  const isEmbedded = embedded || Deno.env.get("STORE") === "both";
  const choice: TestServiceOptions = {
    ...options,
    ...(isEmbedded ? { database: "embedded" } : {}),
  };
  const start = (all: Environment) =>
    vendors ? startSimulatedService(all, choice) : startTestService({ env: all, ...choice });
  const service = await start(
    {
      ...(addresses
        ? {
          OAUTH_AUTHORIZE_URL: `${issuer}/authorize`,
          OAUTH_TOKEN_URL: `${issuer}/token`,
          OAUTH_USERINFO_URL: `${issuer}/userinfo`,
        }
        : { OAUTH_ISSUER: issuer }),
      OAUTH_CLIENT_ID: provider.clientId,
      OAUTH_CLIENT_SECRET: provider.clientSecret,
      ...env,
    },
  ).catch(async (thrown) => {
    await provider.close();
    throw thrown;
  });
  const claimLink = /http\S+\/dashboard\/claim\?token=\S+/.exec(service.greeting.join("\n"))?.[0] ??
    "";
  const browser = () => new BrowserClient(service.baseUrl);
  const stop = async () => {
    await service.stop();
    await provider.close();
  };
  let claimed: BrowserClient | undefined;
  return {
    ...service,
    provider,
    claimLink,
    browser,
    async owner() {
      if (claimed) return claimed;
      claimed = browser();
      await signIn(claimed, `claim=${new URL(claimLink).searchParams.get("token")}`);
      return claimed;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * Signs in as a person does: the page, its button, the provider, and a yes where one is asked for.
 * The answer is the page that it ends at. `query`: `claim=…`, `invitation=…` or `return_to=…`.
 */
export async function signIn(browser: BrowserClient, query = ""): Promise<Answer> {
  const begun = await beginSignIn(browser, query);
  if (begun.location === undefined) return begun;
  const arrived = await browser.follow(begun.location);
  if (!arrived.text.includes('action="/dashboard/join"')) return arrived;
  const fields = hiddenFields(arrived.text);
  const joined = await browser.post("/dashboard/join", { ...fields, answer: "yes" });
  return joined.location === undefined ? joined : await browser.follow(joined.location);
}

/** Presses the button of the page that a sign-in begins at; leads to the provider. */
export async function beginSignIn(browser: BrowserClient, query = ""): Promise<Answer> {
  const page = await browser.follow(`/dashboard/sign-in/start?${query}`);
  if (!page.text.includes('action="/dashboard/sign-in/start"')) return page;
  return await browser.post("/dashboard/sign-in/start", hiddenFields(page.text));
}

/** The hidden fields of a page of one form. */
export function hiddenFields(text: string): Record<string, string> {
  const found = text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries(
    [...found].map(([, name, value]) => [name!, value!.replaceAll("&amp;", "&")]),
  );
}
