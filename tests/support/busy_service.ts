import { startIdentityProvider } from "../../demo/simulator/identity_provider.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { writeBusyMonths } from "./busy_month.ts";
import { copyMigrated } from "./new_database.ts";
import { startSimulatedService } from "./service.ts";

/** A service with two months of calls of its first account, whose people sign in at a simulated provider. */
export async function startBusyService(perDay?: number) {
  const dataDir = await Deno.makeTempDir({ prefix: "gateway-busy-" });
  await copyMigrated(`${dataDir}/database`);
  const database = await openEmbedded(`${dataDir}/database`);
  const keys = ["key of checkout", "key of support", "key of evaluations"];
  const now = new Date();
  await writeBusyMonths(database, { accountId: 1, keys, now, ...(perDay ? { perDay } : {}) });
  await database.close();
  const provider = startIdentityProvider();
  const service = await startSimulatedService({
    DATA_DIR: dataDir,
    OAUTH_ISSUER: provider.issuer,
    OAUTH_CLIENT_ID: provider.clientId,
    OAUTH_CLIENT_SECRET: provider.clientSecret,
  });
  const claimLink = /http\S+\/dashboard\/claim\S+/.exec(service.greeting.join("\n"))?.[0] ?? "";
  const stop = async () => {
    await service.stop();
    await provider.close();
    await Deno.remove(dataDir, { recursive: true });
  };
  return { ...service, claimLink, stop, [Symbol.asyncDispose]: stop };
}
