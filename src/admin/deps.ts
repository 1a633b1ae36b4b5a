import type { Reservations } from "../credit/reservations.ts";
import type { KeyCache } from "../keys/key_cache.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import type { Registry } from "../vendors/registry.ts";
import type { AdminDeps } from "./commands.ts";

/** What the commands work on, out of a server's parts. */
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

/** Every scope that a key may have. */
export function scopesOf(registry: Registry): string[] {
  return [...serviceScopes, ...registry.all.map((vendor) => vendor.label)];
}

/** Scopes that are no vendor's. */
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

/** The scope that a word names: a scope itself, or another name of the vendor whose scope it is. */
export function scopeNamed(
  { registry, scopes }: Pick<AdminDeps, "registry" | "scopes">,
  name: string,
): string | undefined {
  if (scopes.includes(name)) return name;
  const label = registry.find(name)?.label;
  return label !== undefined && scopes.includes(label) ? label : undefined;
}
