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
import { createVendorKeys } from "../keys/store/vendor_keys.ts";
import type { VendorKeyStore } from "../keys/vendor_key.ts";
import type { PeopleStore } from "../people/person.ts";
import { createPeople } from "../people/store/people.ts";
import type { PriceVersionStore } from "../repricing/price_archive.ts";
import { createPriceVersions } from "../repricing/store/price_versions.ts";

/** What the operator manages: the server and the commands build the same stores. */
export interface OperatorStores {
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  vendorKeys: VendorKeyStore;
  ledger: Ledger;
  people: PeopleStore;
  priceVersions: PriceVersionStore;
  /** What people and operators did, for good. */
  audit: AuditLog;
}

export function createOperatorStores(
  { database, masterKey, clock }: {
    database: Database;
    /** Found when a vendor key is first sealed or opened. */
    masterKey: () => Promise<MasterKeySource>;
    clock: Pick<Clock, "now">;
  },
): OperatorStores {
  return {
    accounts: createAccounts(database),
    apiKeys: createApiKeys(database),
    vendorKeys: createVendorKeys(database, masterKey),
    ledger: createLedger(database),
    people: createPeople(database),
    priceVersions: createPriceVersions(database),
    audit: createAuditLog(database, clock.now),
  };
}
