import { readConfig } from "../src/main/config.ts";
import { runServer } from "../src/main/run_server.ts";
import { startIdentityProvider } from "./simulator/identity_provider.ts";
import { startSimulators } from "./simulators.ts";

/**
 * `deno task demo`: the service with one simulated vendor per family and a simulated OpenID
 * provider on loopback, so that every endpoint and the dashboard work without an account elsewhere.
 * Variables that are set come before the simulators.
 */
const simulators = await startSimulators();
const provider = startIdentityProvider();
await runServer(() => {
  const own = readConfig();
  const simulated = Object.entries(simulators.vendors).flatMap(([label, { baseUrl, apiKey }]) => {
    // A vendor that the operator has configured is called for real.
    if (own.vendors[label]?.apiKey || own.vendors[label]?.baseUrl) return [];
    const name = label.toUpperCase().replace("-", "_");
    return [[`${name}_BASE_URL`, baseUrl], [`${name}_API_KEY`, apiKey]];
  });
  const signIn = own.oauth ? {} : {
    OAUTH_ISSUER: provider.issuer,
    OAUTH_CLIENT_ID: provider.clientId,
    OAUTH_CLIENT_SECRET: provider.clientSecret,
  };
  return readConfig({ ...Object.fromEntries(simulated), ...signIn });
});
