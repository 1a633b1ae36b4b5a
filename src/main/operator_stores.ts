import { createAuditLog } from "../audit/store/audit.ts";
import type { Clock } from "../base/clock.ts";
import { createLedger } from "../credit/store/ledger.ts";
import type { Database } from "../database/database.ts";
import { createAccounts } from "../keys/store/accounts.ts";
import { createApiKeys } from "../keys/store/api_keys.ts";
import type { MasterKeySource } from "../keys/store/master_key.ts";
import { resealWebhooks } from "../webhooks/store/webhooks.ts";
import { createVendorKeys } from "../keys/store/vendor_keys.ts";
import { createPeople } from "../people/store/people.ts";
import { createPriceVersions } from "../repricing/store/price_versions.ts";

export function createOperatorStores({ database, masterKey, clock }: {
  database: Database;
  /** Loaded when a vendor key is first sealed or opened. */
  masterKey: () => Promise<MasterKeySource>;
  clock: Pick<Clock, "now">;
}) {
  return {
    accounts: createAccounts(database),
    apiKeys: createApiKeys(database),
    vendorKeys: createVendorKeys(database, masterKey, resealWebhooks),
    ledger: createLedger(database),
    people: createPeople(database, clock),
    priceVersions: createPriceVersions(database),
    audit: createAuditLog(database, clock.now),
  };
}

/** The stores that the operator manages; server and commands share them. */
export type OperatorStores = ReturnType<typeof createOperatorStores>;
