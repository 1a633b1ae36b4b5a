import { chunksOf, least, pushAll } from "../base/lists.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { mediaBytes } from "../shared/media.ts";

/** Holds records outside memory; implemented by the journal, which has all records anyway. */
export interface SpillSpace {
  /** Throws `overloaded` if no new call can begin. */
  admit(): void;
  /** Takes over the record of the call that has just ended, and all later ones. False: it can't. */
  spill(transactionId: string): boolean;
  /** Number of records that only this space holds. */
  readonly spilled: number;
  /** Reads back the oldest spilled records, in order. */
  readSpilled(): Promise<SettledCall[]>;
}

/** Bounds the queue in memory; later records are spilled. */
export interface MemoryLimit {
  rows: number;
  /** UTF-16 units of text plus twice the bytes of media. */
  chars: number;
}

const defaultLimit: MemoryLimit = { rows: 5_000, chars: 16 * 1024 * 1024 };

/** A record that waits; records are numbered in the order in which they came. */
interface Waiting {
  readonly number: number;
  readonly row: SettledCall;
}

/** Whose records are waited for: of one account, of all, or of those that are not set apart. */
export type Drained = number | "all" | "free";

/** The most records of a batch. */
export const maxBatch = 500;

/** Waiting records that are written together, oldest first. */
export class RecordGroup {
  /** The number of records that the next batch may have. */
  batchSize = maxBatch;
  /** The accounts whose records were set apart; absent: of all others. */
  readonly accounts: readonly number[] | undefined;
  /** How often the store has had to wait for the single account of this group. */
  readonly tries: number;
  #waiting: Waiting[] = [];
  #chars = 0;

  constructor(accounts?: readonly number[], tries = 0) {
    this.accounts = accounts;
    this.tries = tries;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Units of text, and twice the bytes of media. */
  get chars(): number {
    return this.#chars;
  }

  get oldest(): Waiting | undefined {
    return this.#waiting[0];
  }

  /** Adds records, which may be older than those that are there. */
  add(added: readonly Waiting[]): void {
    const last = this.#waiting.at(-1);
    const isInOrder = last === undefined || added.every(({ number }) => number >= last.number);
    pushAll(this.#waiting, added);
    if (!isInOrder) this.#waiting.sort((a, b) => a.number - b.number);
    for (const { row } of added) this.#chars += weigh(row);
  }

  /** At most `count` records, and together at most `chars` unless the first alone is larger. */
  first(count: number, chars: number): SettledCall[] {
    let weight = 0;
    const rows = this.#waiting.slice(0, count).map(({ row }) => row);
    const tooMany = rows.findIndex((row) => (weight += weigh(row)) > chars);
    return tooMany < 0 ? rows : rows.slice(0, Math.max(1, tooMany));
  }

  /** Removes the oldest `count` records. */
  remove(count: number): Waiting[] {
    const removed = this.#waiting.splice(0, count);
    for (const { row } of removed) this.#chars -= weigh(row);
    return removed;
  }

  /** Removes the records of these accounts. */
  removeOf(accounts: ReadonlySet<number>): Waiting[] {
    const all = this.remove(this.length);
    const isOf = ({ row }: Waiting) => accounts.has(row.accountId);
    this.add(all.filter((one) => !isOf(one)));
    return all.filter(isOf);
  }
}

/**
 * Records that wait for the store, oldest first. Only the oldest are in memory: in a long outage of
 * the store the others stay in the journal. Records of accounts that the store had to wait for are
 * set apart, so that they don't hold up the others.
 */
export class RecordQueue {
  readonly #space: SpillSpace | undefined;
  readonly #limit: MemoryLimit;
  readonly #shared = new RecordGroup();
  #apart: RecordGroup[] = [];
  #groupOf = new Map<number, RecordGroup>();
  /** Number of the record that came last. */
  #last = 0;
  /** Number of the oldest spilled record, or a smaller one. */
  #firstSpilled = 0;
  #lastRemoved: Date | undefined;
  // Of all groups; a record that comes must not cost time in proportion to their number.
  #rows = 0;
  #chars = 0;

  constructor(space: SpillSpace | undefined, limit = defaultLimit) {
    this.#space = space;
    this.#limit = limit;
  }

  get waiting(): number {
    return this.#rows + this.spilled;
  }

  get inMemory(): readonly SettledCall[] {
    return this.#groups.flatMap((group) => group.first(group.length, Infinity));
  }

  /** Records that are only in the journal. */
  get spilled(): number {
    return this.#space?.spilled ?? 0;
  }

  /** Units of text, and twice the bytes of media, of the records in memory. */
  get chars(): number {
    return this.#chars;
  }

  /** Whether `readShared` returns any records. */
  get hasShared(): boolean {
    return this.#shared.length > 0 || this.spilled > 0 && !this.#isFull;
  }

  /** The records that aren't set apart. */
  get shared(): Pick<RecordGroup, "length" | "chars"> {
    return this.#shared;
  }

  /** The groups of accounts whose records are set apart, in the order in which they were tried. */
  get apart(): readonly RecordGroup[] {
    return this.#apart;
  }

  /** End time of the call whose record has waited longest. */
  get oldest(): Date | undefined {
    const rows = this.#groups.flatMap(({ oldest }) => oldest?.row ?? []);
    // Between two files that are read back, the time of the last removed record is close enough.
    if (rows.length === 0) return this.waiting > 0 ? this.#lastRemoved : undefined;
    return new Date(least(rows.map((row) => endOf(row).getTime())));
  }

  /** Number of the record that was added last. */
  get last(): number {
    return this.#last;
  }

  /**
   * Whether the record of this number and all before it have been removed; for one account, those
   * of others may still wait that are set apart, and for `free` accounts all of these, with the
   * spilled records that they leave no room for.
   */
  isThrough(number: number, accounts: Drained = "all"): boolean {
    if (this.spilled > 0 && this.#firstSpilled <= number) {
      return accounts === "free" && !this.hasShared;
    }
    const apart = typeof accounts === "number" ? this.#groupOf.get(accounts) : undefined;
    const groups = accounts === "all" ? this.#groups : [this.#shared, apart ?? this.#shared];
    return groups.every(({ oldest }) => oldest === undefined || oldest.number > number);
  }

  get #groups(): readonly RecordGroup[] {
    return [this.#shared, ...this.#apart];
  }

  get #isFull(): boolean {
    return this.#rows >= this.#limit.rows || this.#chars >= this.#limit.chars;
  }

  add(row: SettledCall): void {
    const { spilled } = this;
    const number = ++this.#last;
    if ((spilled > 0 || this.#isFull) && this.#space?.spill(row.transactionId)) {
      if (spilled === 0) this.#firstSpilled = number;
      return;
    }
    this.#put({ number, row });
  }

  /** Returns the shared group; if it is empty, with spilled records, as long as memory has room. */
  async readShared(): Promise<RecordGroup> {
    if (this.#shared.length === 0 && this.spilled > 0 && !this.#isFull) {
      for (const row of await this.#space!.readSpilled()) {
        this.#put({ number: this.#firstSpilled++, row });
      }
    }
    return this.#shared;
  }

  /** Removes the oldest records of a group. If its accounts were set apart, they no longer are. */
  remove(group: RecordGroup, count: number): void {
    const { chars } = group;
    for (const { row } of group.remove(count)) {
      this.#lastRemoved = endOf(row);
      this.#rows--;
    }
    this.#chars += group.chars - chars;
    if (group.accounts === undefined) return;
    this.#drop(group);
    this.#shared.add(group.remove(group.length));
  }

  /**
   * Sets the accounts of a group's oldest records apart, to be tried next. If they are that already,
   * splits the group; one of a single account is tried after all others.
   */
  setApart(group: RecordGroup, count: number): void {
    const { accounts } = group;
    if (accounts?.length === 1) {
      this.#drop(group);
      this.#apart.push(this.#moved(group, accounts, group.tries + 1));
      return;
    }
    const some = accounts ??
      [...new Set(group.first(count, Infinity).map(({ accountId }) => accountId))];
    const pieces = accounts ? chunksOf(some, Math.ceil(some.length / 2)) : [some];
    this.#drop(group);
    this.#apart = [...pieces.map((piece) => this.#moved(group, piece)), ...this.#apart];
  }

  /** Moves the records of these accounts to a group of their own. */
  #moved(from: RecordGroup, accounts: readonly number[], tries = 0): RecordGroup {
    const group = new RecordGroup(accounts, tries);
    group.add(from.removeOf(new Set(accounts)));
    for (const account of accounts) this.#groupOf.set(account, group);
    return group;
  }

  #drop(group: RecordGroup): void {
    this.#apart = this.#apart.filter((one) => one !== group);
    for (const account of group.accounts ?? []) this.#groupOf.delete(account);
  }

  #put(one: Waiting): void {
    const group = this.#groupOf.get(one.row.accountId) ?? this.#shared;
    const { chars } = group;
    group.add([one]);
    this.#rows++;
    this.#chars += group.chars - chars;
  }
}

function endOf({ createdAt, latencyMs }: SettledCall): Date {
  return new Date(createdAt.getTime() + latencyMs);
}

/** On its way to the store media is in memory twice: as bytes and as base64. */
const mediaWeight = 2;

/** Returns the weight of a record, in the units of `MemoryLimit.chars`. */
export function weigh(row: SettledCall): number {
  const { retained, media } = row;
  const texts = [
    ...[row.requestText, row.responseText, row.usageRawText, ...row.translationLoss],
    ...[retained?.response?.inputItemsText, retained?.response?.answerText],
    retained?.background?.answerText,
    ...(retained?.reasoning ?? []).map(({ reasoningText }) => reasoningText),
  ];
  const units = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return units + mediaWeight * mediaBytes(media) + 1000;
}
