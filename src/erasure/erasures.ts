import { pushAll } from "../base/lists.ts";
import type { Clock } from "../base/clock.ts";
import type { DeletionStore } from "./deletion.ts";
import { covers, type Tombstone } from "./tombstone.ts";
import type { SelectableCall } from "../shared/interaction.ts";

/**
 * What this process knows of erased calls, so that it neither keeps nor gives again what was said
 * in them: calls that it has in memory or under way while they are erased, by whichever process.
 */
export interface Erasures {
  /** Whether a call is erased that arrived since this process began; its end is not remembered. */
  covers(call: SelectableCall): boolean;
  /** Looks for what was erased; whoever remembers something of it has forgotten it afterwards. */
  refresh(): Promise<void>;
  /** These calls were erased while they were under way, and were not written. */
  dropped(transactionIds: readonly string[]): Promise<void>;
}

export interface ErasureDeps {
  store: Pick<DeletionStore, "changeFeed">;
  clock: Pick<Clock, "now">;
  /** Keeps tombstones where a restored store doesn't lose them. */
  keep: (tombstones: readonly Tombstone[]) => Promise<void>;
  /** Told which calls are gone: memories and stored replays. */
  forget: (transactionIds: readonly string[]) => Promise<void>;
  /** Takes out of the journal what the store has or must not have. */
  tidyJournal: () => Promise<void>;
}

/** No call takes longer. */
const rememberMs = 24 * 60 * 60 * 1000;
const dropsRemembered = 10_000;

export function createErasures(deps: ErasureDeps): Erasures {
  const startedAt = deps.clock.now();
  const reader = deps.store.changeFeed();
  /** Calls that were under way when they were made may end after them. */
  let live: Tombstone[] = [];
  const drops = new Set<string>();
  let refreshing: Promise<void> = Promise.resolve();
  let tidiesDue = 0;

  async function forget(transactionIds: readonly string[]): Promise<void> {
    await deps.forget(transactionIds);
    // Once more a moment later: a record is open in the journal until its writer has come back.
    tidiesDue = 2;
  }

  async function pollFeed(): Promise<void> {
    for (;;) {
      const { tombstones, transactionIds } = await reader.next();
      if (tombstones.length === 0 && transactionIds.length === 0) break;
      pushAll(live, tombstones.filter(({ before }) => before >= startedAt));
      if (tombstones.length > 0) await deps.keep(tombstones);
      if (transactionIds.length > 0) await forget(transactionIds);
    }
    if (tidiesDue > 0) {
      await deps.tidyJournal();
      tidiesDue--;
    }
    const limit = deps.clock.now().getTime() - rememberMs;
    live = live.filter(({ before }) => before.getTime() > limit);
  }

  return {
    covers: (call) => drops.has(call.transactionId) || live.some((stone) => covers(stone, call)),
    refresh() {
      // One after the other: each has seen all that was there when it was asked.
      refreshing = refreshing.catch(() => {}).then(pollFeed);
      return refreshing;
    },
    async dropped(transactionIds) {
      for (const id of transactionIds) drops.add(id);
      for (const id of drops) {
        if (drops.size <= dropsRemembered) break;
        drops.delete(id);
      }
      await forget(transactionIds);
    },
  };
}
