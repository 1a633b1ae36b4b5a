import { Fault, messageOf } from "../domain/fault.ts";
import type { Interaction } from "../domain/interaction.ts";
import { interactionFromJson, interactionToJson } from "./interaction_json.ts";
import { encodeRecord, type JournalRecord, readRecords } from "./journal_records.ts";
import { rewrittenSuffix, Segment } from "./journal_segment.ts";

/**
 * The write-ahead journal of one process: what calls began and how they ended, on the disk before
 * the store has it. Belongs to whoever holds the claim on `DATA_DIR`.
 */
export interface Journal {
  /**
   * Notes that a call begins, without waiting for the disk. The record is what the store gets
   * should the process die before the call's end. Throws `overloaded` when it is full or the disk
   * takes no more.
   */
  begin(interaction: Interaction): void;
  /**
   * Notes how a call ended. Resolves when that survives a crash (`always`: of the machine;
   * `interval`: of the process); rejects when the disk doesn't take it.
   */
  end(interaction: Interaction): Promise<void>;
  /** These calls' records are in the store: files that hold nothing else go. */
  stored(transactionIds: readonly string[]): void;
  /**
   * Rewrites the files without the records of calls that are in the store, so that what is erased
   * there is not left here. Calls under way keep theirs.
   */
  tidy(): Promise<void>;
  /**
   * Hands what earlier processes left to `write`, oldest first, in batches; their files go once
   * all is written. Calls that began and did not end come as they began. Safe to repeat.
   */
  replay(write: (interactions: readonly Interaction[]) => Promise<void>): Promise<Replayed>;
  /** Bytes on the disk that this process has written and not removed. */
  readonly bytes: number;
  /** Waits for the disk. Files whose calls are all in the store go. */
  close(): Promise<void>;
}

/** What a replay found. */
export interface Replayed {
  ended: number;
  interrupted: number;
}

export interface JournalOptions {
  sync: "always" | "interval";
  /** No call may begin while this much is on the disk. */
  maxBytes?: number;
  /** A file of this size is followed by another. */
  segmentBytes?: number;
}

const defaultSegmentBytes = 4 * 1024 * 1024;
/** A file that is done is left for another at this size, so that little stays on the disk. */
const tidyBytes = 256 * 1024;
const intervalMs = 10;
const batchSize = 500;

/** Opens the journal in a folder, which is made where it is missing. */
export async function openJournal(directory: string, options: JournalOptions): Promise<Journal> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  const left: string[] = [];
  for await (const { name } of Deno.readDir(directory)) {
    if (segmentName.test(name)) left.push(name);
    // A rewriting that was cut: the file that it was made of is there.
    if (name.endsWith(rewrittenSuffix)) await Deno.remove(`${directory}/${name}`);
  }
  // Their numbers have leading zeros.
  return new FileJournal(directory, left.sort(), options);
}

const segmentName = /^\d{12}\.journal$/;

interface Waiter {
  resolve: () => void;
  reject: (thrown: unknown) => void;
}

class FileJournal implements Journal {
  readonly #directory: string;
  readonly #options: JournalOptions;
  #left: readonly string[];
  #next: number;
  /** Oldest first; the last one is written to. */
  #segments: Segment[] = [];
  #waiters: Waiter[] = [];
  #syncing: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tidying: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(directory: string, left: readonly string[], options: JournalOptions) {
    this.#directory = directory;
    this.#left = left;
    this.#options = options;
    this.#next = Number(left.at(-1)?.slice(0, 12) ?? 0) + 1;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  begin(interaction: Interaction): void {
    if (this.bytes >= (this.#options.maxBytes ?? Infinity)) {
      throw new Fault("overloaded", { note: "the journal is full: is the store away?" });
    }
    try {
      this.#append("begin", interaction);
    } catch (thrown) {
      throw new Fault("overloaded", { note: `journal: ${messageOf(thrown)}`, cause: thrown });
    }
  }

  async end(interaction: Interaction): Promise<void> {
    this.#append("end", interaction);
    if (this.#options.sync === "interval") return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#startSync();
    });
  }

  stored(transactionIds: readonly string[]): void {
    for (const segment of this.#segments) {
      for (const id of transactionIds) segment.open.delete(id);
    }
    this.#prune();
  }

  tidy(): Promise<void> {
    const tidied = this.#tidying.catch(() => {}).then(() => this.#tidy());
    this.#tidying = tidied;
    return tidied;
  }

  async replay(
    write: (interactions: readonly Interaction[]) => Promise<void>,
  ): Promise<Replayed> {
    const begun = new Map<string, JournalRecord>();
    const replayed = { ended: 0, interrupted: 0 };
    let batch: Interaction[] = [];
    const flush = async () => {
      if (batch.length > 0) await write(batch);
      batch = [];
    };
    for (const name of this.#left) {
      for await (const record of recordsOf(`${this.#directory}/${name}`)) {
        if (record.kind === "begin") {
          begun.set(record.id, record);
          continue;
        }
        begun.delete(record.id);
        replayed.ended++;
        batch.push(interactionFromJson(record.body));
        if (batch.length >= batchSize) await flush();
      }
    }
    for (const { body } of begun.values()) {
      replayed.interrupted++;
      batch.push(interactionFromJson(body));
      if (batch.length >= batchSize) await flush();
    }
    await flush();
    for (const name of this.#left) await Deno.remove(`${this.#directory}/${name}`);
    this.#left = [];
    return replayed;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#tidying.catch(() => {});
    await this.#syncing;
    await this.#sync().catch(() => {});
    // In order, as ever: the end of a call must not go before its beginning.
    while (this.#segments[0]?.isDone) this.#segments.shift()?.remove();
    for (const segment of this.#segments) segment.close();
    this.#segments = [];
  }

  #append(kind: JournalRecord["kind"], interaction: Interaction): void {
    if (this.#closed) throw new Error("the journal is closed");
    const id = interaction.transactionId;
    const record = encodeRecord({ kind, id, body: interactionToJson(interaction) });
    const segment = this.#writable();
    segment.append(record);
    segment.open.add(id);
    if (this.#options.sync !== "interval") return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#startSync();
    }, intervalMs);
  }

  #writable(): Segment {
    const last = this.#segments.at(-1);
    const limit = this.#options.segmentBytes ?? defaultSegmentBytes;
    const isFull = last !== undefined && last.bytes >= limit;
    if (last && !isFull && !last.isSealed) return last;
    const name = `${String(this.#next++).padStart(12, "0")}.journal`;
    const segment = new Segment(`${this.#directory}/${name}`);
    this.#segments.push(segment);
    return segment;
  }

  /** Oldest first: an end must never be there without its beginning having gone before. */
  async #tidy(): Promise<void> {
    const written = this.#segments.filter(({ bytes }) => bytes > 0);
    for (const segment of written) segment.seal();
    for (const segment of written) {
      if (this.#closed) return;
      // It may have gone by itself meanwhile.
      if (!this.#segments.includes(segment)) continue;
      await segment.rewrite();
      if (!segment.isDone) continue;
      // Should an older file still hold the beginning: the call is in the store, and stays as it is.
      this.#segments = this.#segments.filter((one) => one !== segment);
      segment.remove();
    }
  }

  #startSync(): void {
    this.#syncing ??= this.#syncWaiting().finally(() => {
      this.#syncing = undefined;
      this.#prune();
    });
  }

  /** One wait for the disk serves all who came before it began. */
  async #syncWaiting(): Promise<void> {
    do {
      const group = this.#waiters.splice(0);
      try {
        await this.#sync();
        for (const waiter of group) waiter.resolve();
      } catch (thrown) {
        for (const waiter of group) waiter.reject(thrown);
      }
    } while (this.#waiters.length > 0);
  }

  async #sync(): Promise<void> {
    const dirty = this.#segments.filter((segment) => segment.isDirty);
    await Promise.all(dirty.map((segment) => segment.sync()));
  }

  /**
   * Removes files from the oldest on. Only in order: an end that went before its beginning would
   * make the call look interrupted.
   */
  #prune(): void {
    if (this.#closed) return;
    while (this.#segments.length > 1 && this.#segments[0]!.isDone) {
      this.#segments.shift()!.remove();
    }
    const only = this.#segments.length === 1 ? this.#segments[0] : undefined;
    if (only === undefined || !only.isDone || only.bytes < tidyBytes) return;
    this.#segments = [];
    only.remove();
  }
}

async function* recordsOf(path: string): AsyncGenerator<JournalRecord> {
  const file = await Deno.open(path);
  try {
    yield* readRecords(file);
  } finally {
    file.close();
  }
}
