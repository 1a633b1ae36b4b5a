import type { RecordDeps } from "../../dashboard/record_deps.ts";
import { startEval } from "../../evals/create_eval.ts";
import type { Services } from "../application.ts";
import { createCreditHistory } from "../../credit/store/credit_history.ts";
import { createSpend } from "../../credit/store/spend.ts";
import { createPartitionsInUse } from "../../erasure/store/partitions_in_use.ts";

/** What the pages of records work on. */
export function createRecordPages(services: Services): RecordDeps {
  const { config, database, registry, prices, clock } = services;
  return {
    flushRecords: services.flushRecords,
    cohorts: services.cohorts,
    evals: services.evals,
    createEval: (caller, body, audit) =>
      startEval(services, caller, body, JSON.stringify(body), audit),
    principal: (keyId) => services.apiKeys.findById(keyId),
    knownModels: () =>
      registry.all.filter((vendor) => vendor.apiKey).flatMap(({ label }) =>
        prices.listed(label, clock.now()).map(({ model }) => `${label}/${model}`)
      ),
    exports: services.exports,
    deletions: services.deletions,
    retention: { payloadDays: config.retentionPayloadDays, usageDays: config.retentionUsageDays },
    partitionsInUse: createPartitionsInUse(services.analytics),
    operatorAccountId: async () => (await services.accounts.first())?.id,
    credit: async (accountId) => {
      await services.recorder.drain();
      return await services.reservations.show(accountId);
    },
    creditHistory: createCreditHistory(database),
    spend: createSpend(database),
  };
}
