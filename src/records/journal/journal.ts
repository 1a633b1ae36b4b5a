import type { Clock } from "../../base/clock.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import { FileJournal } from "./file_journal.ts";
import { removeRewritten, segmentNames } from "./files.ts";
import type { Replayed, Unreadable } from "./recovery.ts";
import type { SegmentFile } from "./segment.ts";

export type { Replayed } from "./recovery.ts";

/**
 * The write-ahead journal of one process: what calls began and how they ended, on the disk before
 * the store has it. Belongs to whoever holds the claim on `DATA_DIR`.
 */
export interface Journal {
  /** Throws `overloaded` while no call may begin: the journal is full, or the disk takes no more. */
  admit(): void;
  /**
   * Notes that a call begins, without waiting for the disk. The record is what the store gets
   * should the process die before the call's end. Throws `overloaded` as `admit` does.
   */
  begin(interaction: SettledCall): void;
  /**
   * Notes how a call ended. Resolves when that survives a crash (`always`: of the machine;
   * `interval`: of the process); rejects when the disk doesn't take it: it is then written again
   * before the next call begins.
   */
  end(interaction: SettledCall): Promise<void>;
  /** These calls' records are in the store: files that hold nothing else go. */
  stored(transactionIds: readonly string[]): void;
  /**
   * Rewrites the files without the records of calls that are in the store, so that what is erased
   * there is not left here. Calls under way keep theirs. Throws `store_unavailable` while records
   * wait that are nowhere but here.
   */
  compact(): Promise<void>;
  /**
   * The record of the call that has just ended is kept here alone from now on, as are those that
   * end after it, until `readSpilled` has given them all. False: it is not here.
   */
  spill(transactionId: string): boolean;
  /** Records that `readSpilled` has yet to give. */
  readonly spilled: number;
  /** The oldest of them: those of one file, in the order in which the calls ended. */
  readSpilled(): Promise<SettledCall[]>;
  /** Keeps a record that the store refuses, in `rejected.jsonl`; rejects when the disk doesn't. */
  reject(interaction: SettledCall, reason: string): Promise<void>;
  /**
   * Removes what was put aside of erased calls: their lines in `rejected.jsonl`, and every file of
   * bytes that could not be read, since nobody can tell whose they are. Gives the lines removed.
   */
  eraseRejected(isErased: (interaction: SettledCall) => boolean): Promise<number>;
  /**
   * Hands what earlier processes left to `write`, oldest first, in batches; their files go once
   * all is written. Calls that began and did not end come as they began. Safe to repeat.
   */
  replay(write: (interactions: readonly SettledCall[]) => Promise<void>): Promise<Replayed>;
  /** Whoever is to be told what happens here; the last one is. */
  observe(observer: JournalObserver): void;
  /** Bytes on the disk that this process has written and not removed. */
  readonly bytes: number;
  /** Files that they are in. */
  readonly segments: number;
  /** Waits for the disk. Files whose calls are all in the store go. */
  close(): Promise<void>;
}

export interface JournalObserver {
  /** One wait for the disk took so long. */
  synced(seconds: number): void;
  /** The disk takes nothing: no call may begin. */
  failing(reason: string): void;
  /** It does again. */
  mended(): void;
  /** So many records that wait can't be read back; their file stays for the next start. */
  lost(records: number): void;
  /** A file that was replayed held bytes that are no record. */
  unreadable(what: Unreadable): void;
}

export interface JournalOptions {
  sync: "always" | "interval";
  /** No call may begin while this much is on the disk. */
  maxBytes?: number;
  /** A file of this size is followed by another. */
  segmentBytes?: number;
  clock?: Clock;
  createFile?: (path: string) => SegmentFile;
}

/** Opens the journal in a folder, which is made where it is missing. */
export async function openJournal(directory: string, options: JournalOptions): Promise<Journal> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  await removeRewritten(directory);
  return new FileJournal(directory, await segmentNames(directory), options);
}
