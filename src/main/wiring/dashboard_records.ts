import type { RecordDeps } from "../../dashboard/record_deps.ts";
import { startEval } from "../../evals/create_eval.ts";
import type { Services } from "../application.ts";
import { createCreditHistory } from "../../credit/store/credit_history.ts";
import { createSpend } from "../../credit/store/spend.ts";
import { createAnalyticsStore } from "../../records/store/analytics_store.ts";

/** What the pages of records work on. */
export function createRecordPages(services: Services): RecordDeps {
  const { config, database, registry, prices, clock } = services;
  const stored = createAnalyticsStore(services.analytics, database);
  return {
    flushRecords: services.flushRecords,
    cohorts: services.cohorts,
    evals: services.evals,
    orderEval: (caller, body, audit) =>
      startEval(services, caller, body, JSON.stringify(body), audit),
    principal: (keyId) => services.apiKeys.findById(keyId),
    knownModels: () =>
      registry.all.filter((vendor) => vendor.apiKey).flatMap(({ label }) =>
        prices.listed(label, clock.now()).map(({ model }) => `${label}/${model}`)
      ),
    exports: services.exports,
    deletions: services.deletions,
    retention: { payloadDays: config.retentionPayloadDays, usageDays: config.retentionUsageDays },
    storedMonths: {
      list: () => stored.partitionsInUse(),
      oldestCall: (accountId) => stored.oldestCall(accountId),
    },
    operatorAccountId: async () => (await services.accounts.first())?.id,
    credit: async (accountId) => {
      await services.recorder.drain();
      return await services.reservations.show(accountId);
    },
    creditHistory: createCreditHistory(database),
    spend: createSpend(database),
  };
}
