/** One file of the journal that this process writes; records are appended whole or not at all. */
export class Segment {
  readonly path: string;
  readonly #file: Deno.FsFile;
  #bytes = 0;
  #torn = false;
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

  /** After a write that failed in the middle nothing behind it could be read. */
  get isTorn(): boolean {
    return this.#torn;
  }

  append(record: Uint8Array): void {
    try {
      for (let written = 0; written < record.length;) {
        written += this.#file.writeSync(record.subarray(written));
      }
    } catch (thrown) {
      this.#torn = true;
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
      this.#torn = true;
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
    return this.open.size === 0 && !this.isDirty && this.#syncs === 0;
  }

  close(): void {
    this.#file.close();
  }

  remove(): void {
    this.#file.close();
    Deno.removeSync(this.path);
  }
}
