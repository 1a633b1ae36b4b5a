import { scopesOf } from "../admin/deps.ts";
import type { Secret } from "../base/secret.ts";
import { createCreditHistory } from "../credit/store/credit_history.ts";
import { carrySpend, createFullestCaps, createReadSpend } from "../credit/store/spend.ts";
import type {
  DashboardDeps,
  InteractionDeps,
  RecordDeps,
  VendorKeyTest,
} from "../dashboard/deps.ts";
import { selectionOf, startEval } from "../evals/create_eval.ts";
import { estimateEval } from "../evals/estimate_eval.ts";
import { evalEndpoint } from "../evals/store/evals.ts";
import { createKeyService } from "../keys/store/key_service.ts";
import { createSessions } from "../people/store/sessions.ts";
import { createSignIns } from "../people/store/sign_ins.ts";
import { tokensLeft } from "../rate_limits/store/rate_buckets.ts";
import { readTranscript } from "../records/transcript.ts";
import { createCostLines } from "../repricing/cost_lines.ts";
import { modelsOf } from "../routing/route.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { LabelUsage } from "../usage/label_usage.ts";
import { readList } from "../vendors/catalogue.ts";
import { vendorsWithStoredKeys } from "../vendors/stored_keys.ts";
import type { Services } from "./application.ts";
import { adminCommandOf, type Config, isLoopback, pathlessAdminCommand } from "./config.ts";
import { firstModel, firstModelOf, usualModelName } from "./greeting.ts";
import { createPlaygroundDeps } from "./playground.ts";
import type { Vendors } from "./vendors.ts";

/** Creates the dashboard's dependencies; `address` is the public address of the service. */
export function createDashboardDeps(services: Services, address: string): DashboardDeps {
  const { config, database, clock, log, newId, stores, credit, records } = services;
  const { keyCache, storedKeys } = services.keys;
  const { registry, prices } = services.vendors;
  const { usage, labelRows, labelSums } = records.fairAnalytics;
  const keys = createKeyService(database, { analytics: services.analyticsStore, carrySpend });
  return {
    baseUrl: address,
    signIn: config.oauth,
    hasLocalSignIn: config.localSignIn,
    ...adminCommands(config, address),
    allowedDomains: config.oauth?.emailDomains ?? [],
    signIns: createSignIns(database),
    sessions: createSessions(database),
    people: stores.people,
    audit: stores.audit,
    keys,
    keysChanged: (ids) => keyCache.evict(ids),
    scopes: scopesOf(registry),
    vendorNames: new Map(registry.all.map(({ label, aliases: [name] }) => [label, name ?? label])),
    exampleModels: {
      anyModel: () => {
        const first = firstModel({ registry, prices, clock });
        return first && usualModelName({ registry }, first);
      },
      shown: (id) => usualModelName({ registry }, id),
      ofVendor(label) {
        const vendor = registry.all.find((one) => one.label === label);
        if (!vendor?.family.dialects.includes("chat")) return undefined;
        const model = firstModelOf(vendor, { prices, clock });
        return { names: vendor.family.aliases, model };
      },
    },
    vendorKeys: stores.vendorKeys,
    vendorKeysChanged: () => storedKeys.refresh(),
    keyVendors: vendorsWithStoredKeys(registry).map(({ label, family }) => ({
      label,
      kind: family.kind,
    })),
    storedVendorKey: (accountId, vendor) => storedKeys.find(accountId, vendor),
    testVendorKey: (vendor, key) => testKey(services.vendors, vendor, key),
    virtualModels: services.routing.virtualModels,
    budgets: services.budgets.budgets,
    webhooks: services.webhooks.webhooks,
    isModel: (accountId, name) => services.routing.routes.lookUp(accountId, name) !== undefined,
    interactions: createInteractionDeps(services),
    refusals: services,
    overview: {
      refusals: services,
      usage,
      labels: new LabelUsage({ rows: labelRows, storedSteps: usage.storedSteps, labelSums }),
      flushRecords: records.flushRecords,
      credit: (accountId) => credit.reservations.show(accountId),
      tokensLeft: (accountId) => tokensLeft(database, accountId),
      fullestCaps: createFullestCaps(database),
    },
    playground: createPlaygroundDeps(services),
    clock,
    newId,
    log,
    ...createRecordDeps(services),
  };
}

function adminCommands(
  config: Config,
  address: string,
): Pick<DashboardDeps, "adminCommand" | "publicAdminCommand"> {
  const adminCommand = adminCommandOf(config);
  const isLocal = isLoopback(new URL(address).hostname);
  return {
    adminCommand,
    publicAdminCommand: isLocal ? adminCommand : pathlessAdminCommand(config),
  };
}

/** Dependencies of the pages on interactions. */
function createInteractionDeps(services: Services): InteractionDeps {
  const { dialects, records, stores, erasure, exports, archivePrices } = services;
  const { registry, prices } = services.vendors;
  const dialectsByName: ReadonlyMap<string, typeof dialects[keyof typeof dialects]> = new Map(
    Object.entries(dialects),
  );
  return {
    interactions: records.fairAnalytics,
    flushRecords: records.flushRecords,
    readTranscript: (dialect, payloads) => readTranscript(dialectsByName.get(dialect), payloads),
    costLines: createCostLines({
      ...{ priceVersions: stores.priceVersions, archivePrices, registry, prices },
    }),
    mediaSigner: records.mediaSigner,
    exports,
    deletions: erasure.deletions,
  };
}

/** Dependencies of the pages on records. */
function createRecordDeps(services: Services): RecordDeps {
  const { config, database, analyticsStore, clock, log, newId } = services;
  const { stores, records, credit } = services;
  const { registry, catalogue, prices } = services.vendors;
  const { evals, graderProblem, evalRunner } = services.evals;
  const { flushRecords } = records;
  const evalDeps = {
    ...{ clock, log, newId, catalogue, prices, flushRecords, evals, graderProblem },
    routes: services.routing.routes,
    storedKeys: services.keys.storedKeys,
    wakeEvals: () => evalRunner.wake(),
  };
  return {
    flushRecords,
    cohorts: services.cohorts,
    evals,
    createEval: (caller, body, audit) =>
      startEval(evalDeps, caller, body, JSON.stringify(body), audit),
    estimateEval: createEvalEstimate(services),
    principal: (keyId) => stores.apiKeys.findById(keyId),
    knownModels: () =>
      registry.all.filter((vendor) => vendor.apiKey).flatMap(({ label }) =>
        prices.listed(label, clock.now()).map(({ model }) => `${label}/${model}`)
      ),
    exports: services.exports,
    deletions: services.erasure.deletions,
    retention: { payloadDays: config.retentionPayloadDays, usageDays: config.retentionUsageDays },
    partitionsInUse: {
      list: () => analyticsStore.partitionsInUse(),
      oldestCall: (accountId) => analyticsStore.oldestCall(accountId),
    },
    operatorAccountId: async () => (await stores.accounts.first())?.id,
    credit: (accountId) => credit.reservations.show(accountId),
    creditHistory: createCreditHistory(database),
    spend: createReadSpend(database),
  };
}

/** How many recent calls are averaged to estimate the tokens of a run's calls. */
const averagedCalls = 100;

function createEvalEstimate(services: Services): RecordDeps["estimateEval"] {
  const { clock, records } = services;
  const { prices } = services.vendors;
  const { routes } = services.routing;
  return async (accountId, body) => {
    const select = selectionOf(body, accountId);
    await records.flushRecords({ accountId });
    const chosen = await records.fairAnalytics.sample({
      ...{ ...select, order: "newest", limit: body.limit },
      ...(select.filters?.endpoint ? {} : { exceptEndpoint: evalEndpoint }),
    });
    const latest = chosen.at(-1);
    // From the latest that matches: a page of newer calls could end early, before it.
    const recent = latest === undefined ? [] : (await records.fairAnalytics.page({
      ...{ ...select, order: "newest", limit: averagedCalls },
      end: new Date(latest.createdAt.getTime() + 1),
    })).rows;
    const counted = recent.flatMap(({ inputTokens: input, outputTokens: output }) =>
      input === null || output === null ? [] : [{ input, output }]
    );
    const mean = (of: "input" | "output") =>
      counted.reduce((sum, tokens) => sum + tokens[of], 0) / counted.length;
    const average = counted.length === 0
      ? undefined
      : { input: mean("input"), output: mean("output") };
    return estimateEval(chosen.length, average, {
      model: body.model,
      graders: body.graders,
      priceOf(model) {
        const route = routes.lookUp(accountId, model);
        const target = route && modelsOf(route)[0];
        return target && prices.find(target.vendor.label, target.model, clock.now());
      },
    });
  };
}

/** Tests a key by listing the vendor's models with it, which is free. */
async function testKey(
  { registry, upstream }: Pick<Vendors, "registry" | "upstream">,
  label: string,
  key: Secret,
): Promise<VendorKeyTest> {
  const vendor = registry.find(label);
  if (!vendor) return { kind: "unknown", reason: "there is no such vendor" };
  try {
    const models = await readList(upstream, { ...vendor, apiKeys: [key] });
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
