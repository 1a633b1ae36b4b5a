import { systemSetTimer } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { SelectableCall } from "../shared/interaction.ts";
import { ResponseCache } from "./response_cache.ts";
import { createCachedAnswers } from "./store/cached_answers.ts";

export function createResponseCacheService({ database, isErased, log }: {
  database: Database;
  /** Whether a call was erased while it was under way. */
  isErased: (call: SelectableCall) => boolean;
  log: Log;
}): ResponseCache {
  return new ResponseCache({
    store: createCachedAnswers(database),
    ...{ isErased, log, setTimer: systemSetTimer },
  });
}
