import { Buffer } from "node:buffer";
import { rewrittenSuffix } from "./files.ts";
import {
  createRoom,
  type EncodedRecord,
  encodeRecord,
  type JournalRecord,
  scanRecords,
} from "./records.ts";
import { finish, type Steps } from "../../base/steps.ts";
import { writeAll } from "./files.ts";
import { createSegmentFile, ReservedFile, type SegmentFile } from "./segment_file.ts";

/** A journal file that this process writes; records are appended whole or not at all. */
export class Segment {
  readonly path: string;
  #file: SegmentFile;
  #bytes = 0;
  #isRewriting = false;
  #syncs = 0;
  /** Whether the folder's entry for the file is synced. */
  #isNamed = false;
  isDirty = false;
  /** No record is appended any more. */
  isSealed = false;
  /** A sync has failed: appended records may be lost. */
  hasFailed = false;
  /**
   * Settles when the large record is written, or has failed, that is being written in pieces: until
   * then no other is appended.
   */
  writing: Promise<void> | undefined;
  /** Calls that need this file: begun here and in flight, or ended here and not in the store. */
  open = 0;
  /** Number of appended end records. */
  ends = 0;
  /** Grows with each change of the calls that need this file. */
  changes = 0;
  /** `changes` when it was rewritten with records of these calls only. */
  tidiedAt: number | undefined;
  /** The calls among `open` whose record only this file holds. */
  spilled = 0;
  /** The first of its end records that is spilled; all after it are spilled too. */
  spilledFrom = 0;

  constructor(path: string, createFile = createSegmentFile) {
    this.path = path;
    this.#file = createFile(path);
  }

  /** Whether a record can be appended now. */
  get isWritable(): boolean {
    return !this.isSealed && this.writing === undefined;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether appended records may not be on disk yet. */
  get mayBeUnsynced(): boolean {
    return this.isDirty || this.#syncs > 0;
  }

  /** Appends a record with a step for each piece. Nothing else may be appended before the last. */
  *appendSteps({ length, pieces }: EncodedRecord): Steps<void> {
    let isWhole = false;
    try {
      for (const piece of pieces) {
        for (let written = 0; written < piece.length;) {
          written += this.#file.writeSync(piece.subarray(written), length);
        }
        yield;
      }
      isWhole = true;
    } finally {
      if (!isWhole) this.#cutBack();
    }
    this.#bytes += length;
    this.isDirty = true;
  }

  /** Removes an incompletely written record. */
  #cutBack(): void {
    try {
      this.#file.truncateSync(this.#bytes);
    } catch {
      this.isSealed = true;
    }
  }

  /** Resolves when all records appended so far are on disk. */
  async sync(): Promise<void> {
    this.isDirty = false;
    this.#syncs++;
    try {
      await Promise.all([this.#file.syncData(), this.#syncName()]);
    } catch (thrown) {
      // The system may have dropped unwritten pages: never append to this file again.
      this.isSealed = true;
      this.hasFailed = true;
      throw thrown;
    } finally {
      this.#syncs--;
    }
  }

  async #syncName(): Promise<void> {
    if (this.#isNamed) return;
    using folder = await Deno.open(this.path.slice(0, this.path.lastIndexOf("/")));
    await folder.sync();
    this.#isNamed = true;
  }

  /** The bytes appended so far. */
  async read(): Promise<Buffer> {
    const length = this.#bytes;
    const bytes = await Deno.readFile(this.path).catch((thrown) => {
      if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
      // The folder has been removed: only the open file has these records.
      return this.#file.readSync(length);
    });
    return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(length, bytes.length));
  }

  /** Whether the file can be removed: all its calls are in the store, and no sync is pending. */
  get isDone(): boolean {
    return this.open === 0 && !this.mayBeUnsynced && !this.#isRewriting;
  }

  /**
   * Rewrites the file with the needed records only; returns the bytes saved. The segment must be
   * sealed; a crash leaves the old file.
   */
  async rewrite(isNeeded: (record: JournalRecord) => boolean): Promise<number> {
    this.#isRewriting = true;
    try {
      // Pending syncs are of the old file, and until their end it can't be removed.
      await this.sync();
      while (this.#syncs > 0) await this.#file.syncData();
      return this.open > 0 ? await this.#replace(isNeeded) : 0;
    } finally {
      this.#isRewriting = false;
    }
  }

  async #replace(isNeeded: (record: JournalRecord) => boolean): Promise<number> {
    const path = `${this.path}${rewrittenSuffix}`;
    const before = this.#bytes;
    const old = await this.read();
    const options = { read: true, write: true, create: true, truncate: true, mode: 0o600 };
    const fresh = await Deno.open(path, options);
    // Of its own: other records are appended while a piece is written.
    const room = createRoom();
    let bytes = 0;
    try {
      for (const { record } of scanRecords(old)) {
        if (!record || !isNeeded(record)) continue;
        const { length, pieces } = finish(encodeRecord(record, room));
        for (const piece of pieces) await writeAll(fresh, piece);
        bytes += length;
      }
      await fresh.sync();
      Deno.renameSync(path, this.path);
    } catch (thrown) {
      // On a full disk each try would leave an open descriptor, and half a file that takes the last
      // space.
      fresh.close();
      await Deno.remove(path).catch(() => {});
      throw thrown;
    }
    const replaced = this.#file;
    this.#file = new ReservedFile(this.path, fresh, bytes);
    this.#bytes = bytes;
    this.#isNamed = false;
    await replaced.close();
    await this.#syncName();
    return before - bytes;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /**
   * Removes the file; resolves when its space is free. Throws at once where the folder can't be
   * changed; the file can be removed later.
   */
  remove(): Promise<void> {
    try {
      Deno.removeSync(this.path);
    } catch (thrown) {
      if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
    }
    return this.#file.close();
  }
}
