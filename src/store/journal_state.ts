import type { Interaction } from "../domain/interaction.ts";
import type { Media } from "../domain/media.ts";
import type { JournalWatcher } from "./journal.ts";
import type { Segment } from "./journal_segment.ts";

/** An end that the disk has yet to confirm. */
export interface Ended {
  interaction: Interaction;
  isSpilled: boolean;
  resolve: () => void;
  reject: (thrown: unknown) => void;
}

/** A call whose record is in memory too: under way, or ended and waiting for the store. */
export interface Known {
  /** Where the call began, then where it ended. */
  segment: Segment;
  /** Its begin record has this; undefined once it has ended. */
  request: string | null | undefined;
  /** That record's media. */
  media?: readonly Media[] | undefined;
}

/** Tells nobody. */
export const silentWatcher: JournalWatcher = {
  synced() {},
  failing() {},
  mended() {},
  lost() {},
  unreadable() {},
};
