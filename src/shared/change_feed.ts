/** How long a store shows rows of what was removed, in minutes. */
export const removedMinutes = 60;

/** Rows become visible when their transaction commits, a little after the time that they carry. */
const overlapMs = 60_000;
/** After a longer gap between two looks everything is read again: rows of what was removed may be gone. */
const longestGapMs = removedMinutes * 60_000 / 2;

/** What changed at or after a time of the store, with null all that there is; `now` is its time. */
type ReadChanges<Change> = (
  since: Date | null,
) => Promise<{ now: Date; changes: readonly Change[] }>;

/** Follows a store for who holds all of it in memory. */
export class ChangeFeed<Change> {
  readonly #read: ReadChanges<Change>;
  readonly #take: (changes: readonly Change[], isAll: boolean) => void;
  #since: Date | null = null;
  #turn: Promise<void> = Promise.resolve();

  /** `take` gets what changed; `isAll`: it is all that there is, and what else is held is gone. */
  constructor(
    read: ReadChanges<Change>,
    take: (changes: readonly Change[], isAll: boolean) => void,
  ) {
    this.#read = read;
    this.#take = take;
  }

  /** False before the first look. */
  get isRead(): boolean {
    return this.#since !== null;
  }

  /** Reads what changed since the last look; one look after the other: the later has the later rows. */
  poll(): Promise<void> {
    const turn = this.#turn.then(() => this.#look());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #look(): Promise<void> {
    const since = this.#since;
    let found = await this.#read(since);
    const isAll = since === null || found.now.getTime() - since.getTime() > longestGapMs;
    if (isAll && since !== null) found = await this.#read(null);
    this.#take(found.changes, isAll);
    this.#since = new Date(found.now.getTime() - overlapMs);
  }
}
