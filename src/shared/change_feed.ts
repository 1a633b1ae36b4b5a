/** How long a store keeps showing the rows of removed items, in minutes. */
export const removedMinutes = 60;

/**
 * Rows become visible when their transaction commits, a little after their own timestamp, so each
 * poll reads this much again.
 */
const overlapMs = 60_000;
/**
 * After a longer gap between two polls everything is read again, since the rows of removed items
 * may be gone.
 */
const longestGapMs = removedMinutes * 60_000 / 2;

/**
 * Reads what changed at or after `since`, by the store's clock; everything if it's null. `now` is
 * the store's time.
 */
type ReadChanges<Change> = (
  since: Date | null,
) => Promise<{ now: Date; changes: readonly Change[] }>;

/** Keeps a copy of a store in memory up to date. */
export class ChangeFeed<Change> {
  readonly #read: ReadChanges<Change>;
  readonly #take: (changes: readonly Change[], isAll: boolean) => void;
  #since: Date | null = null;
  #turn: Promise<void> = Promise.resolve();

  /**
   * `take` is called with what changed. `isAll`: these are all items, and any others in memory are
   * gone.
   */
  constructor(
    read: ReadChanges<Change>,
    take: (changes: readonly Change[], isAll: boolean) => void,
  ) {
    this.#read = read;
    this.#take = take;
  }

  /** False before the first poll has succeeded. */
  get isRead(): boolean {
    return this.#since !== null;
  }

  /**
   * Reads what changed since the last poll. Polls run one after the other, so that newer rows are
   * taken last.
   */
  poll(): Promise<void> {
    const turn = this.#turn.then(() => this.#poll());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #poll(): Promise<void> {
    const since = this.#since;
    let found = await this.#read(since);
    const isAll = since === null || found.now.getTime() - since.getTime() > longestGapMs;
    if (isAll && since !== null) found = await this.#read(null);
    this.#take(found.changes, isAll);
    this.#since = new Date(found.now.getTime() - overlapMs);
  }
}
