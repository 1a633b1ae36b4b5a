// A separate file, since only the composition root builds a subject with its store.
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { removedMinutes } from "../shared/change_feed.ts";
import type { Registry } from "../vendors/registry.ts";
import { type ModelsFile, openModelsFile } from "./models_file.ts";
import { createRealModels } from "./real_models.ts";
import { createRouteTable, type RouteTable } from "./route.ts";
import { createVirtualModelStore } from "./store/virtual_models.ts";
import { createVirtualModelCache, type VirtualModelCache } from "./virtual_model_cache.ts";
import { createVirtualModels, type VirtualModels } from "./virtual_models.ts";

/** Which models a name leads to. */
export interface RoutingServices {
  routes: RouteTable;
  virtualModels: VirtualModels;
  virtualModelCache: VirtualModelCache;
  modelsFile: ModelsFile;
  /** Deletes the rows from which processes have learned that virtual models were removed. */
  sweepVirtualModels: () => Promise<void>;
}

/** Reads `MODELS_FILE` (`modelsPath`). Throws an Error of one line that names the field. */
export function createRouting({ database, registry, prices, modelsPath, log }: {
  database: Database;
  registry: Registry;
  prices: Prices;
  modelsPath: string | undefined;
  log: Log;
}): RoutingServices {
  const models = createRealModels({ registry, prices });
  const modelsFile = openModelsFile({ path: modelsPath, models, log });
  const store = createVirtualModelStore(database);
  const virtualModelCache = createVirtualModelCache({ store, models, log });
  return {
    routes: createRouteTable({ models, virtual: [virtualModelCache, modelsFile] }),
    virtualModels: createVirtualModels({
      ...{ store, models },
      ofService: () => modelsFile.all,
      changed: () => virtualModelCache.refresh(),
    }),
    virtualModelCache,
    modelsFile,
    sweepVirtualModels: () => store.forgetRemoved(removedMinutes),
  };
}
