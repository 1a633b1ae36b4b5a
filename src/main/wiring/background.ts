import type { Config } from "../config.ts";
import { type Background, createBackground } from "../../background/background.ts";
import { BackgroundRunner, type BackgroundRunnerDeps } from "../../background/runner.ts";
import type { StoredResponseCache } from "../../relay/conversation/stored_response_cache.ts";
import type { ReadMeasure } from "../../shared/metrics.ts";
import { every } from "../../shared/every.ts";
import { type Evals, wireEvals } from "./evals.ts";
import { createBackgroundCalls } from "../../background/store/background.ts";
import type { Database } from "../../database/database.ts";

/** Background calls, wired: where they live, and who works on them. */
export interface BackgroundCalls {
  background: Background;
  backgroundGauges: Readonly<Record<string, ReadMeasure>>;
  /** Takes up what was left; once what an earlier run of the process left is taken in. */
  startBackground: () => void;
  /** Begins no more; calls under way may take so long to end. */
  drainBackground: (ms: number) => Promise<void>;
  /** Gives back what has not ended. */
  closeBackground: () => Promise<void>;
}

/** How often calls are looked for that were cancelled elsewhere, erased or left behind. */
const lookMs = 1000;

export function wireBackground(
  config: Config,
  { database, processId }: { database: Database; processId: string },
  deps:
    & Omit<
      BackgroundRunnerDeps,
      "store" | "payloadMaxBytes" | "mediaInlineBytes" | "timeoutMs"
    >
    & { kept: StoredResponseCache; newId: () => string },
): BackgroundCalls {
  const { payloadMaxBytes, mediaInlineBytes } = config;
  const store = createBackgroundCalls(database, { processId, run: deps.newId() });
  const runner = new BackgroundRunner({
    ...deps,
    ...{ store, payloadMaxBytes, mediaInlineBytes, timeoutMs: config.backgroundTimeoutMs },
  });
  let stop = () => {};
  return {
    background: createBackground({
      ...deps,
      ...{ store, runner, perAccount: config.backgroundPerAccountMax },
      newTransactionId: deps.newId,
    }),
    backgroundGauges: {
      gateway_background_calls: {
        help: "Background calls that this process works on or will",
        read: () => runner.count,
      },
    },
    startBackground() {
      stop = every(lookMs, () => runner.tick(), deps.log, "background calls", 0);
    },
    drainBackground: (ms) => runner.drain(ms),
    closeBackground: async () => {
      stop();
      await runner.close();
    },
  };
}

/** Whoever makes calls for callers that are not there. */
export interface Workers
  extends
    Omit<BackgroundCalls, "startBackground" | "closeBackground">,
    Omit<Evals, "startEvals" | "closeEvals"> {
  /** Once what an earlier run of the process left is taken in. */
  startWorkers: () => void;
  /** Gives back what they work on. */
  closeWorkers: () => Promise<void>;
}

export function wireWorkers(
  config: Config,
  opened: { database: Database; processId: string },
  deps: Parameters<typeof wireBackground>[2] & Parameters<typeof wireEvals>[1],
): Workers {
  const { startEvals, closeEvals, ...evals } = wireEvals(opened.database, deps);
  const { startBackground, closeBackground, ...calls } = wireBackground(config, opened, deps);
  return {
    ...evals,
    ...calls,
    startWorkers() {
      startEvals();
      startBackground();
    },
    async closeWorkers() {
      await closeBackground();
      await closeEvals();
    },
  };
}
