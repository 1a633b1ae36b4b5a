import { adminCommandOf, type Config, readConfig, usualKeyVariables } from "../src/main/config.ts";
import { failedStart, refuseArguments, runServer } from "../src/main/run_server.ts";
import { startIdentityProvider, usualPort } from "./simulator/identity_provider.ts";
import { fillDemo, removeUnfilled } from "./life/fill.ts";
import { startSimulators } from "./simulators.ts";

/**
 * `deno task demo [--empty]`: the service with one simulated vendor per family and a simulated
 * OpenID provider on loopback, so that every endpoint and the dashboard work without an account
 * elsewhere. Its data is separate from the real service's, and is filled at the first start, unless
 * with `--empty`. Variables that are set take precedence over the simulators.
 */
refuseArguments("demo", ["--empty"]);
const isEmpty = Deno.args.includes("--empty");
const simulators = await startSimulators();
const provider = startIdentityProvider();
try {
  const config = readDemoConfig();
  if (!provider.isUsual) {
    console.error(
      `Port ${usualPort} is in use by another program, so the demo's sign-in runs on another port. There you are a new user: if you became the owner at an earlier start, sign in with the link printed by: ${
        adminCommandOf(config)
      } sign-in`,
    );
  }
  await removeUnfilled(config.dataDir);
} catch (thrown) {
  console.error(failedStart(thrown));
  Deno.exit(1);
}
await runServer(readDemoConfig, isEmpty ? undefined : fillDemo);

function readDemoConfig(): Config {
  // The demo uses neither keys that are meant for other programs nor the real databases.
  const elsewhere = [...Object.values(usualKeyVariables).flat(), "DATABASE_URL"];
  const none = Object.fromEntries(
    [...elsewhere, "ANALYTICS_DATABASE_URL"].map((name) => [name, ""]),
  );
  const own = readConfig(none);
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
    LOCAL_SIGN_IN: "true",
  };
  const dataDir = { DATA_DIR: `${own.dataDir}/demo` };
  return readConfig({ ...none, ...Object.fromEntries(simulated), ...signIn, ...dataDir });
}
