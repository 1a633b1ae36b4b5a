import type { Clock } from "../../base/clock.ts";
import type { SelectableCall, SettledCall } from "../../shared/interaction.ts";
import { FileJournal } from "./file_journal.ts";
import { damagedNames, removeRewritten, segmentNames } from "./files.ts";
import type { RejectedRetention } from "../../erasure/retention.ts";
import type { Replayed, Unreadable, WriteReplayed } from "./recovery.ts";
import type { SegmentFile } from "./segment_file.ts";

export type { Replayed } from "./recovery.ts";

/**
 * The write-ahead journal of one process: the begin and end records of calls, on disk before the
 * store has them. The process that has claimed `DATA_DIR` owns it.
 */
export interface Journal extends RejectedRetention {
  /** Throws `overloaded` while no call can begin: the journal is full, or writes fail. */
  admit(): void;
  /**
   * Writes a call's begin record, without waiting for the disk. If the process dies before the call
   * ends, the record is stored as an interrupted call. Throws `overloaded` as `admit` does. A large
   * record is written in pieces, and the call may begin when the promise resolves.
   */
  begin(interaction: SettledCall): void | Promise<void>;
  /**
   * Writes a call's end record. Resolves when it survives a crash (`always`: of the machine;
   * `interval`: of the process). Rejects if the write fails; it is then retried before the next call
   * begins.
   */
  end(interaction: SettledCall): Promise<void>;
  /**
   * Writes the whole record of a call that an earlier run's file has. Resolves when it survives a
   * crash of the machine, so that the file can be removed.
   */
  takeOver(interaction: SettledCall): Promise<void>;
  /** Notes that these calls are in the store: files that hold no others are removed. */
  stored(transactionIds: readonly string[]): void;
  /**
   * Rewrites the files without the calls that are in the store, so that text erased there doesn't
   * stay here. Calls in flight keep their records, unless they are erased: these end as if they had
   * not begun here. Throws `store_unavailable` while spilled records wait.
   */
  compact(isErased?: IsErased): Promise<void>;
  /**
   * Takes over the record of the call that has just ended, and all later ones: only the journal
   * holds them until `readSpilled` has returned them all. False: the journal doesn't have that
   * record.
   */
  spill(transactionId: string): boolean;
  /** Number of records that `readSpilled` has yet to return. */
  readonly spilled: number;
  /** Returns the spilled records of the oldest file, in the order in which the calls ended. */
  readSpilled(): Promise<SettledCall[]>;
  /**
   * Notes that nothing but the journal has the record of this ended call from now on. False: the
   * journal doesn't have it.
   */
  unload(transactionId: string): boolean;
  /**
   * Returns those of these unloaded records that are in the same file as the first one; undefined
   * for one that can't be read.
   */
  reload(transactionIds: readonly string[]): Promise<ReadonlyMap<string, SettledCall | undefined>>;
  /** Appends a record that the store rejected to `rejected.jsonl`; rejects if the write fails. */
  reject(interaction: SettledCall, reason: string): Promise<void>;
  /** Removes the lines of erased calls from `rejected.jsonl`; returns their number. */
  eraseRejected(isErased: (interaction: SettledCall) => boolean): Promise<number>;
  /** Removes every file of unreadable bytes, since it can't be known whose data they hold. */
  removeUnreadable(): Promise<void>;
  /**
   * Passes the records of earlier processes to `write`, oldest first, in batches; removes their
   * files once all are written. Calls without an end are passed as they began. If `write` returns
   * false, since it could store a record nowhere, that record's file and those after it stay for
   * the next start. Safe to repeat.
   */
  replay(write: WriteReplayed): Promise<Replayed>;
  /** Sets the observer; a later one replaces it. */
  observe(observer: JournalObserver): void;
  /** Size on disk of the files that this process has written. */
  readonly bytes: number;
  /** Number of those files. */
  readonly segments: number;
  /** Waits for the disk, and removes files whose calls are all in the store. */
  close(): Promise<void>;
}

/** Whether a call in flight is covered by a deletion. */
export type IsErased = (call: SelectableCall) => boolean;

export interface JournalObserver {
  /** An fsync took this long. */
  synced(seconds: number): void;
  /** Writes fail: no call can begin. Called twice a minute at most. */
  failing(reason: string): void;
  /** Writes that were reported as failing work again. */
  mended(): void;
  /** Records that memory doesn't have can't be read back; their file stays for the next start. */
  lost(records: number): void;
  /** A replayed file had bytes that are not a record. */
  unreadable(found: Unreadable): void;
}

export interface JournalOptions {
  sync: "always" | "interval";
  /** No call can begin while the journal is this large. */
  maxBytes?: number;
  /** Bytes that are encoded and written at a time; a large record has four times as many. */
  pieceBytes?: number;
  /** Once a file has this size, a new one is begun. */
  segmentBytes?: number;
  clock?: Clock;
  createFile?: (path: string) => SegmentFile;
}

/** Opens the journal in a folder, which is created if missing. */
export async function openJournal(directory: string, options: JournalOptions): Promise<Journal> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  await removeRewritten(directory);
  const left = await segmentNames(directory);
  // Unreadable bytes are saved under their file's number, which no later file may have. Those that
  // `moveAside` brought here have numbers from the other end.
  const damaged = (await damagedNames(directory)).filter((name) => name < "5");
  const last = [...left, ...damaged].sort().at(-1);
  return new FileJournal(directory, left, Number(last?.slice(0, 12) ?? 0) + 1, options);
}
