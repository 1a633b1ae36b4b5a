/** The file operations of a segment; tests inject failures. */
export interface SegmentFile {
  /**
   * Writes all or a piece of a record, which has `recordLength` bytes, at the end; returns the number
   * of bytes written.
   */
  writeSync(bytes: Uint8Array, recordLength?: number): number;
  truncateSync(length: number): void;
  syncData(): Promise<void>;
  /** Returns the file's first bytes, even after it was removed. */
  readSync(length: number): Uint8Array<ArrayBuffer>;
  close(): Promise<void>;
}

/** Makes a file that only its owner can read. */
export function createSegmentFile(path: string): SegmentFile {
  const options = { read: true, write: true, createNew: true, mode: 0o600 };
  return new ReservedFile(path, Deno.openSync(path, options));
}

/** The zeros that are written ahead at a time. */
const zeros = new Uint8Array(256 * 1024);

/**
 * A file with zeros after its records, which later records overwrite. When a file grows, the file
 * system has to write its length and blocks too, and a sync waits for the disk twice. A reader
 * after a crash skips the zeros.
 */
export class ReservedFile implements SegmentFile {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  #length: number;
  /** Where the zeros end. */
  #reserved: number;
  #isDiskFull = false;

  /** `length`: bytes that were written to the file before. */
  constructor(path: string, file: Deno.FsFile, length = 0) {
    this.#path = path;
    this.#file = file;
    this.#length = this.#reserved = length;
  }

  writeSync(bytes: Uint8Array, recordLength = bytes.length): number {
    // Writing zeros ahead of a large record would double its cost.
    if (recordLength < zeros.length) this.#reserve(this.#length + bytes.length);
    const written = this.#file.writeSync(bytes);
    this.#length += written;
    this.#reserved = Math.max(this.#reserved, this.#length);
    return written;
  }

  truncateSync(length: number): void {
    this.#file.truncateSync(length);
    this.#file.seekSync(length, Deno.SeekMode.Start);
    this.#length = this.#reserved = length;
  }

  async syncData(): Promise<void> {
    await this.#file.syncData();
    // A removed file still accepts writes, but no later start would find them.
    if (this.#isRemoved) throw new Error(`${this.#path} has been removed`);
  }

  readSync(length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(length);
    let at = 0;
    this.#file.seekSync(0, Deno.SeekMode.Start);
    try {
      for (let read; at < length && (read = this.#file.readSync(bytes.subarray(at)));) at += read;
    } finally {
      this.#file.seekSync(this.#length, Deno.SeekMode.Start);
    }
    return bytes.subarray(0, at);
  }

  /**
   * Freeing the blocks of a removed file takes the disk milliseconds, under load many, so another
   * thread does it first: the event loop would wait for the last close to do it.
   */
  async close(): Promise<void> {
    try {
      if (this.#isRemoved) await this.#file.truncate();
      else if (this.#reserved > this.#length) this.#file.truncateSync(this.#length);
    } catch {
      // Zeros do no harm.
    }
    this.#file.close();
  }

  get #isRemoved(): boolean {
    return this.#file.statSync().nlink === 0;
  }

  #reserve(end: number): void {
    if (end <= this.#reserved || this.#isDiskFull) return;
    try {
      this.#file.seekSync(this.#reserved, Deno.SeekMode.Start);
      while (this.#reserved < end) this.#reserved += this.#file.writeSync(zeros);
      this.#file.seekSync(this.#length, Deno.SeekMode.Start);
    } catch {
      // The record may still fit.
      this.#isDiskFull = true;
      this.truncateSync(this.#length);
    }
  }
}
