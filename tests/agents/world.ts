import { startSimulators } from "../../demo/simulators.ts";
import { startTap, type Tap } from "../matrix/tap.ts";
import { simulatedEnvironment, startTestService, type TestService } from "../support/service.ts";
import { type ScriptedAgentVendor, startScriptedAgentVendor } from "./scripted_vendor.ts";

/** Vendors that play a script to agents, and judge what they send as the real ones would. */
export interface AgentVendors {
  readonly vendors: readonly ScriptedAgentVendor[];
  /** Addresses and keys, as a service's environment names them. */
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

/** The service between agents and such vendors. */
export interface AgentWorld {
  readonly service: TestService;
  readonly vendors: readonly ScriptedAgentVendor[];
  /** Stands in front of the service, and sees all that agents send. */
  readonly tap: Tap;
  stop(): Promise<void>;
}

/** `file`: path of the file that agents are to read. */
export async function startAgentVendors(file: () => string): Promise<AgentVendors> {
  const simulators = await startSimulators();
  const env: Record<string, string> = simulatedEnvironment(simulators);
  const vendors = (["vendor-b", "vendor-c", "vendor-d"] as const).map((label) => {
    const vendor = startScriptedAgentVendor(simulators.vendors[label].baseUrl, file);
    env[`${label.toUpperCase().replace("-", "_")}_BASE_URL`] = vendor.url;
    return vendor;
  });
  const stop = async () => {
    await Promise.all(vendors.map((vendor) => vendor.close()));
    await simulators.close();
  };
  return { vendors, env, stop };
}

export async function startAgentWorld(file: () => string): Promise<AgentWorld> {
  const { vendors, env, stop } = await startAgentVendors(file);
  const service = await startTestService({ env: { ...env, STARTING_CREDIT_USD: "1000" } });
  const tap = startTap(service.baseUrl);
  return {
    service,
    vendors,
    tap,
    async stop() {
      await tap.close();
      await service.stop();
      await stop();
    },
  };
}
