import type { Log } from "../../base/log.ts";
import { whenUnlocked } from "../../database/when_unlocked.ts";
import type { DeletionStore } from "../deletion.ts";
import type { Tombstone } from "../tombstone.ts";

/**
 * Applies deletions that a restored store has lost. Rows that another session has locked are waited
 * for, a second at a time so that writers pass in between: a start that went on without them would
 * show what was deleted.
 */
export async function restoreTombstones(
  store: Pick<DeletionStore, "restore">,
  tombstones: readonly Tombstone[],
  log: Pick<Log, "warn">,
): Promise<void> {
  for (const tombstone of tombstones) {
    const deletion = tombstone.deletionId;
    const isLost = await whenUnlocked(() => store.restore(tombstone), () => {
      log.warn("the start waits for a deletion whose rows another session has locked", {
        deletion,
      });
    });
    if (isLost) {
      log.warn("a deletion that the database had lost is applied again", { deletion });
    }
  }
}
