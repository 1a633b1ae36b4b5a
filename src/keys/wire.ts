// A separate file, since only the composition root builds a subject with its store.
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { Registry } from "../vendors/registry.ts";
import type { ApiKeyStore } from "./api_key.ts";
import { KeyCache } from "./key_cache.ts";
import { usableHashes } from "./store/api_keys.ts";
import { createKeyChanges } from "./store/key_changes.ts";
import type { VendorKeyStore } from "./vendor_key.ts";
import { VendorKeyCache } from "./vendor_key_cache.ts";

export function createKeyCaches({ database, apiKeys, vendorKeys, registry, clock, log }: {
  database: Database;
  apiKeys: ApiKeyStore;
  vendorKeys: VendorKeyStore;
  registry: Registry;
  clock: Clock;
  log: Log;
}) {
  return {
    keyCache: new KeyCache({
      store: { ...createKeyChanges(database), findByHash: apiKeys.findByHash },
      clock,
      isShared: database.kind !== "embedded",
      usableHashes: () => usableHashes(database),
    }),
    storedKeys: new VendorKeyCache({ store: vendorKeys, registry, log }),
  };
}

export type KeyCaches = ReturnType<typeof createKeyCaches>;
