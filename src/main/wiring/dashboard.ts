import type { Secret } from "../../base/secret.ts";
import { scopesOf } from "../../admin/deps.ts";
import type { DashboardDeps, VendorKeyTest } from "../../dashboard/deps.ts";
import { Fault, messageOf } from "../../shared/fault.ts";
import { firstModel } from "../greeting.ts";
import type { Services } from "../application.ts";
import { createKeyService } from "../../keys/store/key_service.ts";
import { tokensLeft } from "../../rate_limits/store/rate_buckets.ts";
import { createSpend } from "../../credit/store/spend.ts";
import { fairUsage } from "./fair_stores.ts";
import { createPeople } from "../../people/store/people.ts";
import { createSessions } from "../../people/store/sessions.ts";
import { createSignIns } from "../../people/store/sign_ins.ts";
import { readList } from "../../vendors/catalogue.ts";
import { createRecordPages } from "./dashboard_records.ts";
import { createInteractionPages } from "./dashboard_interactions.ts";
import { createPlaygroundDeps } from "./playground.ts";
import { vendorsWithStoredKeys } from "../../vendors/stored_keys.ts";
import { createAnalyticsReads } from "../../records/store/analytics_store.ts";

/** What the dashboard works on; `address` is where people reach the service. */
export function createDashboardDeps(services: Services, address: string): DashboardDeps {
  const { config, database, registry } = services;
  const keys = createKeyService(database, createAnalyticsReads(services.analytics));
  return {
    baseUrl: address,
    signIn: config.oauth,
    allowedDomains: config.oauth?.emailDomains ?? [],
    signIns: createSignIns(database),
    sessions: createSessions(database),
    people: createPeople(database),
    audit: services.audit,
    keys,
    keysChanged: (ids) => services.keyCache.evict(ids),
    scopes: scopesOf(registry),
    exampleModel: () => firstModel(services),
    vendorKeys: services.vendorKeys,
    vendorKeysChanged: () => services.storedKeys.refresh(),
    keyVendors: vendorsWithStoredKeys(registry).map(({ label, aliases, family }) => ({
      label,
      names: aliases,
      kind: family.kind,
    })),
    storedVendorKey: (accountId, vendor) => services.storedKeys.find(accountId, vendor),
    testVendorKey: (vendor, key) => testKey(services, vendor, key),
    interactions: createInteractionPages(services),
    overview: {
      usage: fairUsage(services.reads),
      flushRecords: () => services.recorder.drain(),
      credit: (accountId) => services.reservations.show(accountId),
      tokensLeft: (accountId) => tokensLeft(database, accountId),
      spent: createSpend(database).read,
      keys,
    },
    playground: createPlaygroundDeps(services),
    clock: services.clock,
    newId: services.newId,
    log: services.log,
    ...createRecordPages(services),
  };
}

/** Asks the vendor for its models with this key, which costs nothing. */
async function testKey(
  { registry, upstream }: Services,
  label: string,
  key: Secret,
): Promise<VendorKeyTest> {
  const vendor = registry.find(label);
  if (!vendor) return { kind: "unknown", reason: "there is no such vendor" };
  try {
    const models = await readList(upstream, { ...vendor, apiKey: key });
    return { kind: "works", models: models.length };
  } catch (thrown) {
    const code = thrown instanceof Fault ? thrown.code : undefined;
    if (code === "upstream_authentication_failed") return { kind: "refused" };
    return {
      kind: "unknown",
      reason: code === undefined ? "no readable answer" : messageOf(thrown),
    };
  }
}
