import type { ModelGroup, PlaygroundDeps } from "../dashboard/pages/playground/page.tsx";
import { createPlaygroundCalls } from "../playground/playground_calls.ts";
import type { Services } from "./application.ts";
import { type Catalogue, withTimeout } from "../vendors/catalogue.ts";
import type { Clock } from "../base/clock.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import type { Prices } from "../pricing/table/prices.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";
import { shownVendor } from "../vendors/shown_vendor.ts";

/** Creates the playground's dependencies: how it makes calls, and the models to choose from. */
export function createPlaygroundDeps(
  { clock, newId, rateLimiter, dialects, calls, vendors, routing, keys }: Services,
): PlaygroundDeps {
  const { relay, heavy } = calls;
  const { registry, prices, catalogue } = vendors;
  const modelDeps = { registry, prices, catalogue, clock, storedKeys: keys.storedKeys };
  return {
    ...createPlaygroundCalls({
      ...{ clock, heavy, relay, rateLimiter, newId, dialect: dialects.chat },
    }),
    models: async (accountId) => {
      const names = routing.routes.listVirtual(accountId).map(({ name }) => name);
      const groups = await callableModels(modelDeps, accountId);
      return names.length === 0 ? groups : [...groups, { title: "Virtual models", models: names }];
    },
  };
}

interface ModelDeps {
  registry: Registry;
  prices: Prices;
  catalogue: Catalogue;
  clock: Clock;
  storedKeys: VendorKeyCache;
}

/** How long a page waits for a vendor's model list before it uses the price table. */
const listMs = 400;

async function callableModels(deps: ModelDeps, accountId: number): Promise<ModelGroup[]> {
  const groups = await Promise.all(deps.registry.all.map(async (vendor): Promise<ModelGroup> => {
    const { label, aliases: [name = label] } = vendor;
    const title = shownVendor(deps.registry, label);
    const stored = await deps.storedKeys.find(accountId, label);
    if (!vendor.apiKey && !stored) return { title, models: [] };
    const listedNames = new Set(await listed(deps, vendor));
    const models = [...listedNames].filter((model) => isTextModel(deps, vendor, model)).sort();
    return { title, models: models.map((model) => `${name}/${model}`) };
  }));
  return groups.filter(({ models }) => models.length > 0);
}

async function listed({ catalogue, prices, clock }: ModelDeps, vendor: Vendor): Promise<string[]> {
  const inTable = () => prices.listed(vendor.label, clock.now()).map(({ model }) => model);
  if (!vendor.apiKey) return inTable();
  const models = await withTimeout(catalogue, vendor, listMs);
  return models?.map(({ id }) => id) ?? inTable();
}

/** Models without chat, some of which are priced like chat models. */
const otherModels = /embed|rerank|tts|transcribe|whisper/i;

/** Text models have prices for input and output tokens. */
function isTextModel({ prices, clock }: ModelDeps, { label }: Vendor, model: string): boolean {
  if (otherModels.test(model)) return false;
  const row = prices.find(label, model, clock.now());
  return row?.rates.input !== undefined && row.rates.output !== undefined;
}
