import type { Steps } from "../../base/steps.ts";
import type { JournalOptions } from "./journal.ts";
import type { EncodedRecord } from "./records.ts";
import { Segment } from "./segment.ts";

/** The files that this process writes, in one folder. */
export class SegmentList {
  readonly #directory: string;
  readonly #createFile: JournalOptions["createFile"];
  /** From this size on, a file gets no more records. */
  readonly fullBytes: number;
  #next: number;
  #segments: readonly Segment[] = [];
  #bytes = 0;
  /** Resolves when the space of all removed files is free. */
  #freeing: Promise<void> = Promise.resolve();
  /** The last append failed, or the file for it could not be created. */
  lastAppendFailed = false;

  constructor(
    directory: string,
    next: number,
    { fullBytes, createFile }: Pick<JournalOptions, "createFile"> & { fullBytes: number },
  ) {
    this.#directory = directory;
    this.#next = next;
    this.fullBytes = fullBytes;
    this.#createFile = createFile;
  }

  /** Oldest first; records are appended to the last one. */
  get all(): readonly Segment[] {
    return this.#segments;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the file for the next record, a new one if need be. */
  writable(): Segment {
    const last = this.#segments.at(-1);
    if (last && last.bytes < this.fullBytes && last.isWritable) return last;
    const name = `${String(this.#next++).padStart(12, "0")}.journal`;
    const before = this.lastAppendFailed;
    this.lastAppendFailed = true;
    const segment = new Segment(`${this.#directory}/${name}`, this.#createFile);
    this.lastAppendFailed = before;
    this.#segments = [...this.#segments, segment];
    return segment;
  }

  *appendSteps(record: EncodedRecord, segment: Segment): Steps<void> {
    this.#bytes += record.length;
    try {
      yield* segment.appendSteps(record);
      this.lastAppendFailed = false;
    } catch (thrown) {
      this.lastAppendFailed = true;
      this.#bytes -= record.length;
      throw thrown;
    }
  }

  /** Resolves when all appended records are on disk; to whether any had not been before. */
  async sync(): Promise<boolean> {
    const dirty = this.#segments.filter((segment) => segment.mayBeUnsynced);
    await Promise.all(dirty.map((segment) => segment.sync()));
    return dirty.length > 0;
  }

  /** Notes that a file was rewritten with this many bytes less. */
  saved(bytes: number): void {
    this.#bytes -= bytes;
  }

  /**
   * Removes finished files, the oldest first. In order only: an end record that is removed before its
   * begin record would make the call look interrupted. The newest stays until it is full. Throws as
   * `drop` does.
   */
  dropFinished(): void {
    while (this.#segments.length > 1 && this.#segments[0]!.isDone) this.drop(this.#segments[0]!);
    const only = this.#segments.length === 1 ? this.#segments[0] : undefined;
    const least = this.lastAppendFailed ? 1 : this.fullBytes;
    if (only?.isDone && only.bytes >= least) this.drop(only);
  }

  /** Throws if the file can't be removed; then it stays in the list. */
  drop(segment: Segment): void {
    const freed = segment.remove();
    this.#freeing = this.#freeing.then(() => freed);
    this.#segments = this.#segments.filter((one) => one !== segment);
    this.#bytes -= segment.bytes;
  }

  /** Resolves when the space of all removed files is free. */
  freed(): Promise<void> {
    return this.#freeing;
  }

  /** Removes finished files, the oldest first and the newest too, and closes the others. */
  async close(): Promise<void> {
    while (this.#segments[0]?.isDone) this.drop(this.#segments[0]);
    await Promise.all(this.#segments.map((segment) => segment.close()));
    this.#segments = [];
    await this.freed();
  }
}
