import type { Reservations } from "../credit/reservations.ts";
import type { KeyCache } from "../keys/key_cache.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import type { Registry } from "../vendors/registry.ts";
import type { AdminDeps } from "./commands.ts";

/** Builds the dependencies of the commands from a server's services. */
export function adminDepsOf(
  services: Omit<AdminDeps, "scopes" | "vendorKeysChanged" | "keysChanged" | "showCredit"> & {
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
    async showCredit(accountId) {
      await services.flushRecords({ timeoutMs: Infinity });
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

/** Returns the scope with this name; a vendor's scope may be given by any name of the vendor. */
export function scopeNamed(
  { registry, scopes }: Pick<AdminDeps, "registry" | "scopes">,
  name: string,
): string | undefined {
  if (scopes.includes(name)) return name;
  const label = registry.find(name)?.label;
  return label !== undefined && scopes.includes(label) ? label : undefined;
}
