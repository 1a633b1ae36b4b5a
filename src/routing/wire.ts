// A separate file, since only the composition root builds a subject with its store.
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { Prices } from "../pricing/table/prices.ts";
import { removedMinutes } from "../shared/change_feed.ts";
import type { Registry } from "../vendors/registry.ts";
import { openModelsFile } from "./models_file.ts";
import { createRealModels } from "./real_models.ts";
import { createRouteTable } from "./route.ts";
import { createVirtualModelStore } from "./store/virtual_models.ts";
import { VirtualModelCache } from "./virtual_model_cache.ts";
import { createVirtualModels } from "./virtual_models.ts";

/** Reads `MODELS_FILE` (`modelsPath`). Throws an Error of one line that names the field. */
export function createRouting({ database, registry, prices, modelsPath, log }: {
  database: Database;
  registry: Registry;
  prices: Prices;
  modelsPath: string | undefined;
  log: Log;
}) {
  const models = createRealModels({ registry, prices });
  const modelsFile = openModelsFile({ path: modelsPath, models, log });
  const store = createVirtualModelStore(database);
  const virtualModelCache = new VirtualModelCache({ store, models, log });
  return {
    routes: createRouteTable({ models, virtual: [virtualModelCache, modelsFile] }),
    virtualModels: createVirtualModels({
      ...{ store, models },
      ofService: () => modelsFile.all,
      changed: () => virtualModelCache.refresh(),
    }),
    virtualModelCache,
    modelsFile,
    /** Deletes the rows from which processes have learned that virtual models were removed. */
    sweepVirtualModels: () => store.forgetRemoved(removedMinutes),
  };
}

/** Which models a name leads to. */
export type RoutingServices = ReturnType<typeof createRouting>;
