import type { RecordParts } from "../../dashboard/record_parts.ts";
import { orderEval } from "../../evals/create_eval.ts";
import type { Services } from "../application.ts";
import { createCreditHistory } from "../../credit/store/credit_history.ts";
import { createSpend } from "../../credit/store/spend.ts";
import { createStoredMonths } from "../../erasure/store/partitions_in_use.ts";

/** What the pages of records work on. */
export function recordParts(services: Services): RecordParts {
  const { config, database, registry, prices, clock } = services;
  return {
    caughtUp: services.caughtUp,
    cohorts: services.cohorts,
    evals: services.evals,
    orderEval: (caller, body, audit) =>
      orderEval(services, caller, body, JSON.stringify(body), audit),
    principal: (keyId) => services.apiKeys.findById(keyId),
    knownModels: () =>
      registry.all.filter((vendor) => vendor.apiKey).flatMap(({ label }) =>
        prices.listed(label, clock.now()).map(({ model }) => `${label}/${model}`)
      ),
    exports: services.exports,
    deletions: services.deletions,
    retention: { payloadDays: config.retentionPayloadDays, usageDays: config.retentionUsageDays },
    storedMonths: createStoredMonths(services.analytics),
    operatorAccountId: async () => (await services.accounts.first())?.id,
    credit: async (accountId) => {
      await services.recorder.drain();
      return await services.escrow.show(accountId);
    },
    creditHistory: createCreditHistory(database),
    spend: createSpend(database),
  };
}
