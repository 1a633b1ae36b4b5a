import { Buffer } from "node:buffer";
import { rewrittenSuffix } from "./files.ts";
import { encodeRecord, scanRecords } from "./records.ts";

/** What a segment does with its file; tests give one that fails. */
export interface SegmentFile {
  /** Adds to the end. */
  writeSync(bytes: Uint8Array): number;
  truncateSync(length: number): void;
  syncData(): Promise<void>;
  close(): void;
}

/** Makes a file that only its owner can read. */
export function createSegmentFile(path: string): SegmentFile {
  return Deno.openSync(path, { append: true, createNew: true, mode: 0o600 });
}

/** One file of the journal that this process writes; records are appended whole or not at all. */
export class Segment {
  readonly path: string;
  #file: SegmentFile;
  #bytes = 0;
  #sealed = false;
  #isRewriting = false;
  #syncs = 0;
  /** Whether the folder's entry for the file is on the disk too. */
  #isNamed = false;
  isDirty = false;
  /** What was appended may not be on the disk, and never come there. */
  hasFailed = false;
  /** Calls that need this file: begun here and under way, or ended here and not in the store. */
  open = 0;
  /** End records that were appended. */
  ends = 0;
  /** Of `open`, those whose record is nowhere but here. */
  spilled = 0;

  constructor(path: string, createFile = createSegmentFile) {
    this.path = path;
    this.#file = createFile(path);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What was appended may not be on the disk yet. */
  get isUnsure(): boolean {
    return this.isDirty || this.#syncs > 0;
  }

  /** Nothing is added any more. */
  get isSealed(): boolean {
    return this.#sealed;
  }

  seal(): void {
    this.#sealed = true;
  }

  append(record: Uint8Array): void {
    try {
      for (let written = 0; written < record.length;) {
        written += this.#file.writeSync(record.subarray(written));
      }
    } catch (thrown) {
      this.#cutBack();
      throw thrown;
    }
    this.#bytes += record.length;
    this.isDirty = true;
  }

  /** Takes back a record that was not written whole. */
  #cutBack(): void {
    try {
      this.#file.truncateSync(this.#bytes);
    } catch {
      this.#sealed = true;
    }
  }

  /** Resolves when all that was appended before is on the disk. */
  async sync(): Promise<void> {
    this.isDirty = false;
    this.#syncs++;
    try {
      await Promise.all([this.#file.syncData(), this.#syncName()]);
    } catch (thrown) {
      // The system may have dropped what it could not write: nothing is added to such a file.
      this.#sealed = true;
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

  /** What was appended so far. */
  async read(): Promise<Buffer> {
    const length = this.#bytes;
    const bytes = await Deno.readFile(this.path);
    return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(length, bytes.length));
  }

  /** Whether the file may go: all of it is in the store, and nobody waits for the disk. */
  get isDone(): boolean {
    return this.open === 0 && !this.isUnsure && !this.#isRewriting;
  }

  /**
   * Leaves out the records of calls that are not to be kept; gives the bytes saved. The segment
   * must be sealed; a crash in the middle leaves it as it was.
   */
  async rewrite(isNeeded: (id: string) => boolean): Promise<number> {
    this.#isRewriting = true;
    try {
      // Who waits for the disk waits for the old file.
      await this.sync();
      return this.open > 0 ? await this.#replace(isNeeded) : 0;
    } finally {
      this.#isRewriting = false;
    }
  }

  async #replace(isNeeded: (id: string) => boolean): Promise<number> {
    const path = `${this.path}${rewrittenSuffix}`;
    const before = this.#bytes;
    const old = await this.read();
    const fresh = await Deno.open(path, { write: true, create: true, truncate: true, mode: 0o600 });
    let bytes = 0;
    for (const { record } of scanRecords(old)) {
      if (!record || !isNeeded(record.id)) continue;
      const encoded = encodeRecord(record);
      for (let at = 0; at < encoded.length;) at += await fresh.write(encoded.subarray(at));
      bytes += encoded.length;
    }
    await fresh.sync();
    // One that began before ours may take longer.
    while (this.#syncs > 0) await fresh.sync();
    Deno.renameSync(path, this.path);
    this.#file.close();
    this.#file = fresh;
    this.#bytes = bytes;
    this.#isNamed = false;
    await this.#syncName();
    return before - bytes;
  }

  close(): void {
    this.#file.close();
  }

  remove(): void {
    this.#file.close();
    Deno.removeSync(this.path);
  }
}
