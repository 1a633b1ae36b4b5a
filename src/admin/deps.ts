import type { Reservations } from "../credit/reservations.ts";
import type { KeyCache } from "../keys/key_cache.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import type { Registry } from "../vendors/registry.ts";
import type { AdminDeps } from "./commands.ts";

type Derived = "scopes" | "vendorKeysChanged" | "keysChanged" | "recallCredit" | "showCredit";

/** Builds the dependencies of the commands from a server's services. */
export function adminDepsOf(
  services: Omit<AdminDeps, Derived> & {
    keyCache?: KeyCache;
    storedKeys?: VendorKeyCache;
    reservations?: Reservations;
  },
): AdminDeps {
  return {
    ...services,
    scopes: scopesOf(services.registry),
    vendorKeysChanged: async () => await services.storedKeys?.refresh(),
    keysChanged: (ids) => services.keyCache?.evict(ids),
    recallCredit: (accountId) => services.reservations?.recall(accountId),
    async showCredit(accountId) {
      await services.flushRecords({ timeoutMs: Infinity, accountId });
      return await (services.reservations ?? services.ledger).show(accountId);
    },
  };
}

/** Returns every scope that a key may have. */
export function scopesOf(registry: Registry): string[] {
  return [...serviceScopes, ...registry.all.map((vendor) => vendor.label)];
}

/** Scopes that aren't the label of a vendor. */
const serviceScopes = [
  "chat",
  "images",
  "speech",
  "exports",
  "data:delete",
  "cohort",
  "evals",
  "status",
  "interactions",
  "credits",
  "admin",
];
