// Apart from its user: only the composition root builds a subject with its store.
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { Database } from "../database/database.ts";
import type { StoredResponseCache } from "../relay/conversation/stored_response_cache.ts";
import type { ResponseCache } from "../response_cache/response_cache.ts";
import { Background } from "./background.ts";
import { BackgroundRunner, type BackgroundRunnerDeps } from "./runner.ts";
import { createBackgroundCalls } from "./store/background.ts";
import { workerIdOf } from "../work_queue/store/claims.ts";

export function createBackgroundServices(
  deps: Omit<BackgroundRunnerDeps, "store"> & {
    database: Database;
    processId: string;
    /** Max unfinished calls of an account. */
    perAccount: number;
    storedResponses: StoredResponseCache;
    responseCache: Pick<ResponseCache, "forget">;
    idempotency: Pick<Idempotency, "erase">;
    newId: () => string;
  },
) {
  const { database, processId, newId, ...runnerDeps } = deps;
  const store = createBackgroundCalls(database, workerIdOf({ processId, run: newId() }));
  const runner = new BackgroundRunner({ ...runnerDeps, store });
  return {
    background: new Background({ ...runnerDeps, store, runner, newTransactionId: newId }),
    backgroundRunner: runner,
    backgroundGauges: {
      gateway_background_calls: {
        help: "Background calls that are queued or running in this process",
        read: () => runner.count,
      },
    },
  };
}

/** Where background calls live, and who works on them. */
export type BackgroundServices = ReturnType<typeof createBackgroundServices>;
