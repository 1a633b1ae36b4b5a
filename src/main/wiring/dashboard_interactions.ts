import type { InteractionDeps } from "../../dashboard/pages/interactions/parts.ts";
import { costLines } from "../../repricing/cost_lines.ts";
import { readTranscript } from "../../records/transcript.ts";
import type { Services } from "../application.ts";
import { fairAnalytics } from "./fair_stores.ts";

/** What the dashboard's pages on interactions work on. */
export function createInteractionPages(services: Services): InteractionDeps {
  const { apiKeys, dialects, priceVersions, registry } = services;
  const knownDialects: ReadonlyMap<string, typeof dialects[keyof typeof dialects]> = new Map(
    Object.entries(dialects),
  );
  return {
    interactions: fairAnalytics(services.reads),
    flushRecords: services.flushRecords,
    vendors: registry.all.map(({ label }) => label),
    keyNames: async (accountId) =>
      new Map((await apiKeys.list(accountId)).map(({ id, name }) => [id, name])),
    readTranscript: (dialect, payloads) => readTranscript(knownDialects.get(dialect), payloads),
    async costLines(detail) {
      const { priceVersion } = detail.summary;
      if (priceVersion === null) return undefined;
      let version = await priceVersions.find(priceVersion);
      if (!version) {
        // A version that was learned just now may wait to be kept.
        await services.archivePrices();
        version = await priceVersions.find(priceVersion);
      }
      return costLines(detail, version, registry);
    },
    mediaSigner: services.mediaSigner,
    exports: services.exports,
    deletions: services.deletions,
  };
}
