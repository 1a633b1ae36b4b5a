import type { Config } from "../config.ts";
import { type Background, createBackground } from "../gateway/background.ts";
import { BackgroundRunner, type BackgroundRunnerParts } from "../gateway/background_runner.ts";
import type { KeptMemory } from "../gateway/kept_memory.ts";
import { every } from "../jobs/every.ts";
import { createBackgroundCalls } from "../store/background.ts";
import type { Database } from "../store/database.ts";

/** Background calls, wired: where they live, and who works on them. */
export interface BackgroundCalls {
  background: Background;
  /** Calls that this process holds. */
  backgroundHeld: { readonly count: number };
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
  parts:
    & Omit<
      BackgroundRunnerParts,
      "store" | "payloadMaxBytes" | "mediaInlineBytes" | "timeoutMs"
    >
    & { kept: KeptMemory; newId: () => string },
): BackgroundCalls {
  const { payloadMaxBytes, mediaInlineBytes } = config;
  const store = createBackgroundCalls(database, { processId, run: parts.newId() });
  const runner = new BackgroundRunner({
    ...parts,
    ...{ store, payloadMaxBytes, mediaInlineBytes, timeoutMs: config.backgroundTimeoutMs },
  });
  let stop = () => {};
  return {
    background: createBackground({
      ...parts,
      ...{ store, runner, perAccount: config.backgroundPerAccountMax },
      newTransactionId: parts.newId,
    }),
    backgroundHeld: runner,
    startBackground() {
      stop = every(lookMs, () => runner.tick(), parts.log, "background calls", 0);
    },
    drainBackground: (ms) => runner.drain(ms),
    closeBackground: async () => {
      stop();
      await runner.close();
    },
  };
}
