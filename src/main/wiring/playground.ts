import type { ModelGroup, PlaygroundDeps } from "../../dashboard/pages/playground/page.tsx";
import { createPlaygroundCalls } from "../../playground/playground_calls.ts";
import type { Services } from "../application.ts";
import { withTimeout } from "../../vendors/with_timeout.ts";
import type { Vendor } from "../../vendors/registry.ts";

/** Calls that people make in the dashboard, and the models that they can be made to. */
export function createPlaygroundDeps(services: Services): PlaygroundDeps {
  return {
    ...createPlaygroundCalls({ ...services, dialect: services.dialects.chat }),
    models: (accountId) => callableModels(services, accountId),
  };
}

/** How long a page waits for a vendor that is asked for its models; then the price table says them. */
const listMs = 400;

async function callableModels(services: Services, accountId: number): Promise<ModelGroup[]> {
  const groups = await Promise.all(
    services.registry.all.map(async (vendor): Promise<ModelGroup> => {
      const title = [vendor.label, ...vendor.aliases].join(" · ");
      const stored = await services.storedKeys.find(accountId, vendor.label);
      if (!vendor.apiKey && !stored) return { title, models: [] };
      const names = new Set(await listed(services, vendor));
      const models = [...names].filter((name) => isForWords(services, vendor, name)).sort();
      return { title, models: models.map((name) => `${vendor.label}/${name}`) };
    }),
  );
  return groups.filter(({ models }) => models.length > 0);
}

async function listed(services: Services, vendor: Vendor): Promise<string[]> {
  const { catalogue, prices, clock } = services;
  const inTable = () => prices.listed(vendor.label, clock.now()).map(({ model }) => model);
  if (!vendor.apiKey) return inTable();
  const models = await withTimeout(catalogue, vendor, listMs);
  return models?.map(({ id }) => id) ?? inTable();
}

/** Vendors list them among the others, some with prices like those of models that answer in words. */
const otherModels = /embed|rerank|tts|transcribe|whisper/i;

/** A model that answers in words has a price for them; pictures have others. */
function isForWords({ prices, clock }: Services, { label }: Vendor, model: string): boolean {
  if (otherModels.test(model)) return false;
  const row = prices.find(label, model, clock.now());
  return row?.rates.input !== undefined && row.rates.output !== undefined;
}
