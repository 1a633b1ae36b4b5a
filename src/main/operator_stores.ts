import type { AuditLog } from "../audit/audit.ts";
import { createAuditLog } from "../audit/store/audit.ts";
import type { Clock } from "../base/clock.ts";
import type { Ledger } from "../credit/ledger.ts";
import { createLedger } from "../credit/store/ledger.ts";
import type { Database } from "../database/database.ts";
import type { AccountStore } from "../keys/account.ts";
import type { ApiKeyStore } from "../keys/api_key.ts";
import { createAccounts } from "../keys/store/accounts.ts";
import { createApiKeys } from "../keys/store/api_keys.ts";
import type { MasterKeySource } from "../keys/store/master_key.ts";
import { resealWebhooks } from "../webhooks/store/webhooks.ts";
import { createVendorKeys } from "../keys/store/vendor_keys.ts";
import type { VendorKeyStore } from "../keys/vendor_key.ts";
import type { PeopleStore } from "../people/person.ts";
import { createPeople } from "../people/store/people.ts";
import type { PriceVersionStore } from "../repricing/price_archive.ts";
import { createPriceVersions } from "../repricing/store/price_versions.ts";

/** The stores that the operator manages; server and commands share them. */
export interface OperatorStores {
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  vendorKeys: VendorKeyStore;
  ledger: Ledger;
  people: PeopleStore;
  priceVersions: PriceVersionStore;
  /** Append-only log of what people and operators did. */
  audit: AuditLog;
}

export function createOperatorStores({ database, masterKey, clock }: {
  database: Database;
  /** Loaded when a vendor key is first sealed or opened. */
  masterKey: () => Promise<MasterKeySource>;
  clock: Pick<Clock, "now">;
}): OperatorStores {
  return {
    accounts: createAccounts(database),
    apiKeys: createApiKeys(database),
    vendorKeys: createVendorKeys(database, masterKey, resealWebhooks),
    ledger: createLedger(database),
    people: createPeople(database),
    priceVersions: createPriceVersions(database),
    audit: createAuditLog(database, clock.now),
  };
}
