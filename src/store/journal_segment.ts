import { encodeRecord, readRecords } from "./journal_records.ts";

/** What the name of a file ends with that is to take a segment's place. */
export const rewrittenSuffix = ".rewritten";

/** One file of the journal that this process writes; records are appended whole or not at all. */
export class Segment {
  readonly path: string;
  #file: Deno.FsFile;
  #bytes = 0;
  #sealed = false;
  #isRewriting = false;
  #syncs = 0;
  /** Whether the folder's entry for the file is on the disk too. */
  #isNamed = false;
  isDirty = false;
  /** Calls whose records here are not in the store yet. */
  readonly open = new Set<string>();

  constructor(path: string) {
    this.path = path;
    this.#file = Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
  }

  get bytes(): number {
    return this.#bytes;
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
      // After a write that failed in the middle nothing behind it could be read.
      this.#sealed = true;
      throw thrown;
    }
    this.#bytes += record.length;
    this.isDirty = true;
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

  /** Whether the file may go: all of it is in the store, and nobody waits for the disk. */
  get isDone(): boolean {
    return this.open.size === 0 && !this.isDirty && this.#syncs === 0 && !this.#isRewriting;
  }

  /**
   * Leaves out the records of calls that are in the store. The segment must be sealed; a crash in
   * the middle leaves it as it was.
   */
  async rewrite(): Promise<void> {
    this.#isRewriting = true;
    try {
      // Who waits for the disk waits for the old file.
      await this.sync();
      if (this.open.size > 0) await this.#replace();
    } finally {
      this.#isRewriting = false;
    }
  }

  async #replace(): Promise<void> {
    const path = `${this.path}${rewrittenSuffix}`;
    const fresh = await Deno.open(path, { write: true, create: true, truncate: true, mode: 0o600 });
    let bytes = 0;
    {
      using old = await Deno.open(this.path);
      for await (const record of readRecords(old)) {
        if (!this.open.has(record.id)) continue;
        const encoded = encodeRecord(record);
        for (let at = 0; at < encoded.length;) at += await fresh.write(encoded.subarray(at));
        bytes += encoded.length;
      }
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
  }

  close(): void {
    this.#file.close();
  }

  remove(): void {
    this.#file.close();
    Deno.removeSync(this.path);
  }
}
