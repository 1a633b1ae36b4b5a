import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../demo/simulator/identity_provider.ts";
import { BrowserClient } from "../support/browser_client.ts";
import {
  type Environment,
  startSimulatedService,
  startTestService,
  type TestService,
} from "../support/service.ts";

/** A service whose people sign in at the simulated provider. */
export interface DashboardWorld extends TestService {
  provider: IdentityProvider;
  claimLink: string;
  browser(): BrowserClient;
  /** A browser that has signed in through the claim link. */
  owner(): Promise<BrowserClient>;
}

/**
 * `addresses`: sign-in by the provider's three addresses, without OpenID. `vendors`: simulated ones
 * stand behind the service.
 */
export async function startDashboard(
  { addresses = false, vendors = false, env = {} }: {
    addresses?: boolean;
    vendors?: boolean;
    env?: Environment;
  } = {},
): Promise<DashboardWorld> {
  const provider = startIdentityProvider();
  const { issuer } = provider;
  const start = (all: Environment) =>
    vendors ? startSimulatedService(all) : startTestService({ env: all });
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

/** Signs in; the answer is the page that it ends at. */
export async function signIn(browser: BrowserClient, query = "") {
  return await browser.follow(`/dashboard/sign-in/start?${query}`);
}
