import { released } from "../base/gc_hint.ts";
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
  /** Whether `reload` can return the record of this call, so that memory needn't have it. */
  unload(transactionId: string): boolean;
  /**
   * Returns those of the unloaded records that are in the same file as the first one; undefined for
   * one that can't be read any more.
   */
  reload(transactionIds: readonly string[]): Promise<ReadonlyMap<string, SettledCall | undefined>>;
}

/** Bounds the queue in memory; later records are spilled. */
export interface MemoryLimit {
  rows: number;
  /** UTF-16 units of text plus twice the bytes of media. */
  chars: number;
}

const defaultLimit: MemoryLimit = { rows: 5_000, chars: 16 * 1024 * 1024 };

/** The part of `MemoryLimit` that accounts which are set apart may use: one in so many. */
const apartShare = 4;
/** The most accounts that are unloaded: each of them reads the journal's files for itself. */
const maxUnloadedAccounts = 8;
/** How many records may be unloaded for each that memory may have: one still takes 300 bytes. */
const unloadedPerRow = 60;
/** The most unloaded records that are looked for in a file. */
const maxReloaded = 5_000;

/** A record that waits; records are numbered in the order in which they came. */
interface Waiting {
  readonly number: number;
  readonly transactionId: string;
  readonly accountId: number;
  /** When the call ended. */
  readonly endMs: number;
  /** Absent: it is unloaded, so only the journal has it. */
  row: SettledCall | undefined;
  /** Whether the row was read back from the journal, so that nothing else refers to it. */
  readonly isReadBack: boolean;
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
  /** How often in a row the store has had to wait for the single account of this group. */
  tries = 0;
  #waiting: Waiting[] = [];
  #loaded = 0;
  #chars = 0;

  constructor(accounts?: readonly number[]) {
    this.accounts = accounts;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Number of the records that are in memory. */
  get loaded(): number {
    return this.#loaded;
  }

  get unloaded(): number {
    return this.length - this.#loaded;
  }

  /** Units of text, and twice the bytes of media, of the records in memory. */
  get chars(): number {
    return this.#chars;
  }

  get oldest(): Waiting | undefined {
    return this.#waiting[0];
  }

  /** The records in memory. */
  get rows(): SettledCall[] {
    return this.#waiting.flatMap(({ row }) => row ?? []);
  }

  /** Adds records, which may be older than those that are there. */
  add(added: readonly Waiting[]): void {
    const last = this.#waiting.at(-1);
    const isInOrder = last === undefined || added.every(({ number }) => number >= last.number);
    pushAll(this.#waiting, added);
    if (!isInOrder) this.#waiting.sort((a, b) => a.number - b.number);
    for (const { row } of added) this.#count(row, 1);
  }

  /**
   * The oldest records, up to one that is unloaded: at most `count`, and together at most `chars`
   * unless the first alone is larger.
   */
  first(count: number, chars: number): SettledCall[] {
    const rows: SettledCall[] = [];
    let weight = 0;
    for (const { row } of this.#waiting) {
      if (row === undefined || rows.length >= count) break;
      weight += weigh(row);
      if (weight > chars && rows.length > 0) break;
      rows.push(row);
    }
    return rows;
  }

  /** Removes the oldest `count` records. */
  remove(count: number): Waiting[] {
    const removed = this.#waiting.splice(0, count);
    for (const { row } of removed) this.#count(row, -1);
    return removed;
  }

  /** Removes the records of these accounts. */
  removeOf(accounts: ReadonlySet<number>): Waiting[] {
    const all = this.remove(this.length);
    this.add(all.filter(({ accountId }) => !accounts.has(accountId)));
    return all.filter(({ accountId }) => accounts.has(accountId));
  }

  /** Removes from memory what `space` has. */
  unload(space: Pick<SpillSpace, "unload">): void {
    for (const one of this.#waiting) {
      if (this.#loaded === 0) return;
      if (one.row === undefined || !space.unload(one.transactionId)) continue;
      this.#count(one.row, -1);
      one.row = undefined;
    }
  }

  /** The ids of the oldest unloaded records. */
  get unloadedIds(): string[] {
    const oldest = this.#waiting.slice(0, maxReloaded);
    return oldest.flatMap(({ row, transactionId }) => row === undefined ? transactionId : []);
  }

  /**
   * Puts unloaded records into memory, as many as `room` allows but at least one, and removes those
   * that can't be read any more.
   */
  load(found: ReadonlyMap<string, SettledCall | undefined>, room: MemoryLimit): void {
    const lost = new Set([...found.keys()].filter((id) => found.get(id) === undefined));
    // There may be hundreds of thousands.
    if (lost.size > 0) {
      this.#waiting = this.#waiting.filter((one) => one.row || !lost.has(one.transactionId));
    }
    let isFirst = true;
    for (const one of this.#waiting.slice(0, maxReloaded)) {
      const row = one.row === undefined ? found.get(one.transactionId) : undefined;
      if (row === undefined) continue;
      if (!isFirst && !this.#hasRoom(row, room)) return;
      isFirst = false;
      one.row = row;
      this.#count(row, 1);
    }
  }

  #hasRoom(row: SettledCall, { rows, chars }: MemoryLimit): boolean {
    return this.#loaded < rows && this.#chars + weigh(row) <= chars;
  }

  #count(row: SettledCall | undefined, sign: 1 | -1): void {
    if (row === undefined) return;
    this.#loaded += sign;
    this.#chars += sign * weigh(row);
  }
}

/**
 * Records that wait for the store, oldest first. Only the oldest are in memory: in a long outage of
 * the store the others stay in the journal. Records of accounts that the store had to wait for are
 * set apart, so that they don't hold up the others, and unloaded where they would take up the memory
 * that the others need.
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
  /** How many records that came since then, at most, weren't spilled. */
  #notSpilled = 0;
  #lastRemoved: Date | undefined;
  // Of all groups; a record that comes must not cost time in proportion to their number.
  #length = 0;
  #loaded = 0;
  #chars = 0;

  constructor(space: SpillSpace | undefined, limit = defaultLimit) {
    this.#space = space;
    this.#limit = limit;
  }

  get waiting(): number {
    return this.#length + this.spilled;
  }

  get inMemory(): readonly SettledCall[] {
    return this.#groups.flatMap(({ rows }) => rows);
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
    const ends = this.#groups.flatMap(({ oldest }) => oldest?.endMs ?? []);
    // Between two files that are read back, the time of the last removed record is close enough.
    if (ends.length === 0) return this.waiting > 0 ? this.#lastRemoved : undefined;
    return new Date(least(ends));
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
    const { rows, chars } = this.#limit;
    return this.#loaded >= rows || this.#chars >= chars ||
      this.#length - this.#loaded >= unloadedPerRow * rows;
  }

  /** The memory that accounts which are set apart may use. */
  get #apartRoom(): MemoryLimit {
    return { rows: this.#limit.rows / apartShare, chars: this.#limit.chars / apartShare };
  }

  add(row: SettledCall): void {
    const { spilled } = this;
    const number = ++this.#last;
    if ((spilled > 0 || this.#isFull) && this.#space?.spill(row.transactionId)) {
      if (spilled === 0) {
        this.#firstSpilled = number;
        this.#notSpilled = 0;
      }
      return;
    }
    this.#notSpilled++;
    this.#put(number, row);
  }

  /** Returns the shared group; if it is empty, with spilled records, as long as memory has room. */
  async readShared(): Promise<RecordGroup> {
    if (this.#shared.length === 0 && this.spilled > 0 && !this.#isFull) {
      const readBack = await this.#space!.readSpilled();
      for (const row of readBack) this.#put(this.#firstSpilled, row, true);
      // After a failed sync the journal has some records twice, so the numbers of those that it
      // still has follow from how many they are at most, not from how many were read back.
      const first = this.#last + 1 - this.spilled - this.#notSpilled;
      this.#firstSpilled = Math.min(Math.max(this.#firstSpilled, first), this.#last);
    }
    return this.#shared;
  }

  /** Makes sure that a group's oldest record is in memory, unless it can't be read any more. */
  async load(group: RecordGroup): Promise<RecordGroup> {
    if (this.#space && group.length > 0 && group.oldest?.row === undefined) {
      const { number } = group.oldest!;
      const found = await this.#space.reload(group.unloadedIds);
      // After a failed sync one that can't be read may be among the spilled records, anywhere.
      if ([...found.values()].includes(undefined)) {
        this.#firstSpilled = Math.min(this.#firstSpilled, number);
        this.#notSpilled = Infinity;
      }
      this.#counting(group, () => group.load(found, this.#apartRoom));
      if (group.length === 0) this.#drop(group);
    }
    return group;
  }

  /**
   * Removes the oldest records of a group. If its accounts were set apart, they no longer are, unless
   * they have unloaded records: these are read as others' records leave time for it.
   */
  remove(group: RecordGroup, count: number): void {
    this.#counting(group, () => {
      const removed = group.remove(count);
      const last = removed.at(-1);
      if (last) this.#lastRemoved = new Date(last.endMs);
      removed.forEach(freeMedia);
    });
    if (group.accounts === undefined) return;
    this.#drop(group);
    if (group.unloaded > 0) {
      group.tries = 0;
      this.#append(group);
    } else {
      this.#shared.add(group.remove(group.length));
    }
  }

  /**
   * Sets the accounts of a group's oldest records apart, to be tried next. If they are that already,
   * splits the group; one of a single account is tried after all others.
   */
  setApart(group: RecordGroup, count: number): void {
    const { accounts } = group;
    this.#drop(group);
    if (accounts?.length === 1) {
      group.tries++;
      this.#append(group);
      return this.#unload();
    }
    const some = accounts ??
      [...new Set(group.first(count, Infinity).map(({ accountId }) => accountId))];
    const pieces = accounts ? chunksOf(some, Math.ceil(some.length / 2)) : [some];
    this.#apart = [...pieces.map((piece) => this.#moved(group, piece)), ...this.#apart];
  }

  /** Moves the records of these accounts to a group of their own. */
  #moved(from: RecordGroup, accounts: readonly number[]): RecordGroup {
    const group = new RecordGroup(accounts);
    group.add(from.removeOf(new Set(accounts)));
    for (const account of accounts) this.#groupOf.set(account, group);
    return group;
  }

  #drop(group: RecordGroup): void {
    this.#apart = this.#apart.filter((one) => one !== group);
    for (const account of group.accounts ?? []) this.#groupOf.delete(account);
  }

  /** Sets a group apart again, to be tried after all others. */
  #append(group: RecordGroup): void {
    this.#apart.push(group);
    for (const account of group.accounts ?? []) this.#groupOf.set(account, group);
  }

  /** Unloads accounts that are known to be locked, the largest first, while they need much room. */
  #unload(): void {
    const space = this.#space;
    const room = this.#apartRoom;
    const isCrowded = () =>
      this.#loaded - this.#shared.loaded > room.rows ||
      this.#chars - this.#shared.chars > room.chars;
    if (!space || !isCrowded()) return;
    let unloaded = this.#apart.filter((group) => group.unloaded > 0).length;
    const locked = this.#apart.filter((group) => group.tries > 0 && group.loaded > 0);
    for (const group of locked.sort((a, b) => b.chars - a.chars)) {
      if (group.unloaded === 0 && ++unloaded > maxUnloadedAccounts) continue;
      this.#counting(group, () => group.unload(space));
      if (!isCrowded()) return;
    }
  }

  #put(number: number, row: SettledCall, isReadBack = false): void {
    const { transactionId, accountId } = row;
    const group = this.#groupOf.get(accountId) ?? this.#shared;
    // Those of an account that has unloaded records stand behind them.
    const isUnloaded = group.unloaded > 0 && this.#space?.unload(transactionId) === true;
    const one = { number, transactionId, accountId, endMs: endMsOf(row), isReadBack };
    this.#counting(group, () => group.add([{ ...one, row: isUnloaded ? undefined : row }]));
  }

  /** Adds what changes in a group to the sums of all groups. */
  #counting(group: RecordGroup, change: () => void): void {
    const { length, loaded, chars } = group;
    change();
    this.#length += group.length - length;
    this.#loaded += group.loaded - loaded;
    this.#chars += group.chars - chars;
  }
}

/** Frees media at once: the garbage collector would let that of several records pile up. */
function freeMedia({ row, isReadBack }: Waiting): void {
  if (!isReadBack) return;
  for (const { content } of row?.media ?? []) released(content);
}

function endMsOf({ createdAt, latencyMs }: SettledCall): number {
  return createdAt.getTime() + latencyMs;
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
