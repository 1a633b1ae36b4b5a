import { readConfig } from "../src/config.ts";
import { runServer } from "../src/run_server.ts";
import { startSimulators } from "./simulators.ts";

/**
 * `deno task demo`: the service with one simulated vendor per family on loopback, so that every
 * endpoint works without an account elsewhere. Variables that are set come before the simulators.
 */
const simulators = await startSimulators();
await runServer(() => {
  const own = readConfig();
  const simulated = Object.entries(simulators.vendors).flatMap(([label, { baseUrl, apiKey }]) => {
    // A vendor that the operator has configured is called for real.
    if (own.vendors[label]?.apiKey || own.vendors[label]?.baseUrl) return [];
    const name = label.toUpperCase().replace("-", "_");
    return [[`${name}_BASE_URL`, baseUrl], [`${name}_API_KEY`, apiKey]];
  });
  return readConfig(Object.fromEntries(simulated));
});
