import { operatorLimits } from "../keys/account.ts";
import { mintKey } from "../keys/credential.ts";
import type { Secret } from "../base/secret.ts";
import type { Services } from "./application.ts";
import { ensureFirstAccount } from "../people/store/first_start.ts";

/**
 * Makes the first account and its key, once for all processes that share the database. Gives the
 * key to the one process that made it, and only then.
 */
export async function firstStart(
  services: Pick<Services, "config" | "database" | "clock">,
): Promise<Secret | undefined> {
  const firstKey = mintKey(services.clock);
  const { created } = await ensureFirstAccount(services.database, {
    account: { name: "default", tier: "enterprise", ...operatorLimits },
    key: {
      id: firstKey.id,
      name: "first key",
      prefix: firstKey.prefix,
      hash: firstKey.hash,
      scopes: [],
      models: [],
      onDisconnect: "cancel",
      translationMode: "default",
      capDayNanos: null,
      capMonthNanos: null,
      expiresAt: null,
    },
    creditNanos: services.config.startingCreditNanos,
  });
  return created ? firstKey.value : undefined;
}
