import type { Clock } from "../base/clock.ts";
import type { AuditLog } from "../audit/audit.ts";
import type { AccountStore } from "../keys/account.ts";
import type { ApiKeyStore } from "../keys/api_key.ts";
import type { KeyCache } from "../keys/key_cache.ts";
import type { Ledger } from "../credit/ledger.ts";
import type { PeopleStore } from "../people/person.ts";
import type { VacuumReport } from "../erasure/vacuum.ts";
import type { VendorKeyStore } from "../keys/vendor_key.ts";
import type { Reservations } from "../credit/reservations.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import type { JournalStatus } from "../records/journal/status.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import type { Registry } from "../vendors/registry.ts";
import type { PriceVersionStore } from "../repricing/price_archive.ts";
import type { AdminDeps } from "./commands.ts";
import type { ExportDeps } from "./export_command.ts";
import type { PriceCommandDeps } from "./price_commands_deps.ts";

/** What the commands work on, out of a server's parts. */
export function adminDepsOf(
  services: {
    accounts: AccountStore;
    apiKeys: ApiKeyStore;
    audit: AuditLog;
    registry: Registry;
    clock: Clock;
    keyCache?: KeyCache;
    vendorKeys: VendorKeyStore;
    storedKeys?: VendorKeyCache;
    ledger: Ledger;
    flushRecords: FlushRecords;
    reservations?: Reservations;
    openPrices: PriceCommandDeps["openPrices"];
    priceVersions: PriceVersionStore;
    archivePrices: () => Promise<void>;
    scrub: () => Promise<VacuumReport>;
    journalStatus: () => Promise<JournalStatus>;
    people: PeopleStore;
    newId: () => string;
    dashboardBase: string;
    hasSignIn: boolean;
  },
): AdminDeps {
  return {
    accounts: services.accounts,
    apiKeys: services.apiKeys,
    audit: services.audit,
    scopes: scopesOf(services.registry),
    clock: services.clock,
    scrub: services.scrub,
    registry: services.registry,
    vendorKeys: services.vendorKeys,
    vendorKeysChanged: async () => await services.storedKeys?.refresh(),
    openPrices: services.openPrices,
    priceVersions: services.priceVersions,
    flushRecords: services.flushRecords,
    archivePrices: services.archivePrices,
    keysChanged: (ids) => services.keyCache?.evict(ids),
    ledger: services.ledger,
    people: services.people,
    newId: services.newId,
    dashboardBase: services.dashboardBase,
    hasSignIn: services.hasSignIn,
    journalStatus: services.journalStatus,
    async showCredit(accountId) {
      await services.flushRecords({ timeoutMs: Infinity });
      return await (services.reservations ?? services.ledger).show(accountId);
    },
  };
}

/** The same with what an export works on. */
export function adminAndExportDepsOf(
  services: Parameters<typeof adminDepsOf>[0] & Pick<ExportDeps, "exports">,
): AdminDeps & ExportDeps {
  return { ...adminDepsOf(services), exports: services.exports };
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
];
