import type { Buffer } from "node:buffer";
import { pushAll } from "../../base/lists.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { released } from "../../base/gc_hint.ts";
import { finish, type Steps } from "../../base/steps.ts";
import { turnEnd, Turns } from "../../base/turns.ts";
import { Fault, messageOf } from "../../shared/fault.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import type { IsErased, Journal, JournalObserver, JournalOptions } from "./journal.ts";
import { FailureReports } from "./failure_reports.ts";
import { begunCall, encodeEnd, endedCalls, recordOf } from "./calls.ts";
import { removeReplayed, type Replayed, replayFiles, type WriteReplayed } from "./recovery.ts";
import {
  createRoom,
  type EncodedRecord,
  encodeRecord,
  type JournalRecord,
  recordUnits,
} from "./records.ts";
import type { ExpiredRecords, RecordLimits } from "../../erasure/retention.ts";
import { RejectedRecords } from "./rejected.ts";
import { refuseCrowding, Relief } from "./relief.ts";
import { type OpenCall, OpenCalls, type PendingEnd, refused, SpilledRecords } from "./state.ts";
import type { Segment } from "./segment.ts";
import { SegmentList } from "./segment_list.ts";

/**
 * A file is replaced only once it has this size, so as much may stay on disk of calls that the
 * store already has. Replacing a file delays a call: the old file is removed, and the new one needs
 * its first blocks and its name in the folder.
 */
const defaultSegmentBytes = 4 * 1024 * 1024;
const intervalMs = 10;
/** How long a large record is written before other calls go on. */
const turnMs = 2;

/** The journal as numbered files in a folder. */
export class FileJournal implements Journal {
  readonly #directory: string;
  readonly #options: JournalOptions;
  readonly #clock: Clock;
  readonly #rejected: RejectedRecords;
  readonly #maxBytes: number;
  #observer: JournalObserver | undefined;
  #left: readonly string[];
  readonly #segments: SegmentList;
  readonly #openCalls = new OpenCalls();
  /** Where the records of calls are encoded; each piece is written before the next one. */
  readonly #room: Buffer;
  /**
   * From this size on, to write a request twice costs more than to sync a second file, and to write
   * it at once would hold up other calls.
   */
  readonly #largeBytes: number;
  #lastEnded: PendingEnd | undefined;
  readonly #spilled = new SpilledRecords();
  #unsynced: PendingEnd[] = [];
  /** Files with begin records whose end record, in another file, is not synced yet. */
  #beginFilesToRelease: Segment[] = [];
  /** End records whose write failed. */
  #unwritten: PendingEnd[] = [];
  /** The failed end records were written again, but are not synced yet. */
  #isConfirming = false;
  readonly #failures: FailureReports;
  #syncing: Promise<void> | undefined;
  #compacting: Promise<void> = Promise.resolve();
  readonly #relief: Relief;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(directory: string, left: readonly string[], next: number, options: JournalOptions) {
    this.#directory = directory;
    this.#left = left;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#failures = new FailureReports(this.#clock);
    this.#rejected = new RejectedRecords(directory);
    this.#maxBytes = options.maxBytes ?? Infinity;
    // Files are removed as a whole: a small journal has smaller files.
    const fullBytes = Math.min(options.segmentBytes ?? defaultSegmentBytes, this.#maxBytes / 8);
    this.#segments = new SegmentList(directory, next, { ...options, fullBytes });
    this.#room = createRoom(options.pieceBytes);
    this.#largeBytes = 4 * this.#room.length;
    this.#relief = this.#createRelief();
  }

  get bytes(): number {
    return this.#segments.bytes;
  }

  get segments(): number {
    return this.#segments.all.length;
  }

  get spilled(): number {
    return this.#spilled.count;
  }

  observe(observer: JournalObserver): void {
    this.#observer = observer;
  }

  admit(): void {
    if (this.bytes >= this.#maxBytes) {
      throw refused("the journal is full; is the database unavailable?");
    }
    if (this.#unwritten.length > 0 || this.#isConfirming) {
      this.#writeAgain();
      throw refused("the journal waits for the disk");
    }
    // If the folder is gone, no call begins, so there is no failed end record that would refuse
    // calls: try to create the file here.
    if (this.#segments.lastAppendFailed) this.#orRefuse(() => this.#writable());
  }

  begin(interaction: SettledCall): void | Promise<void> {
    this.#admitFor(interaction);
    const record = recordOf("begin", interaction);
    if (recordUnits(record) >= this.#largeBytes) {
      return new Turns(this.#clock, turnMs).finish(this.#beginSteps(interaction, record));
    }
    const encoded = finish(encodeRecord(record, this.#room));
    const segment = this.#orRefuse(() => this.#append(encoded));
    segment.open++;
    this.#openCalls.begin(interaction, segment, encoded.length);
  }

  #admitFor({ accountId }: SettledCall): void {
    this.admit();
    refuseCrowding(accountId, {
      bytes: this.bytes,
      maxBytes: this.#maxBytes,
      openCalls: this.#openCalls,
    });
  }

  /** Writes a large begin record while other calls go on, whose records go to the next file. */
  *#beginSteps(interaction: SettledCall, record: JournalRecord): Steps<void> {
    const segment = this.#orRefuse(() => this.#writable());
    const { promise, resolve } = Promise.withResolvers<void>();
    segment.writing = promise;
    segment.open++;
    try {
      const encoded = yield* encodeRecord(record, this.#room);
      // Other calls may have filled the journal meanwhile; those from now on count this one.
      this.#admitFor(interaction);
      this.#openCalls.begin(interaction, segment, encoded.length);
      yield* this.#segments.appendSteps(encoded, segment);
    } catch (thrown) {
      this.#openCalls.delete(interaction.transactionId);
      segment.open--;
      throw thrown instanceof Fault ? thrown : this.#refusal(thrown);
    } finally {
      // Not a turn later: the next record would go to another file.
      segment.writing = undefined;
      resolve();
    }
  }

  #orRefuse<T>(write: () => T): T {
    try {
      return write();
    } catch (thrown) {
      throw this.#refusal(thrown);
    }
  }

  #refusal(thrown: unknown): Fault {
    this.#failed(thrown);
    return refused(`journal: ${messageOf(thrown)}`, thrown);
  }

  end(interaction: SettledCall): Promise<void> {
    return this.#end(interaction, this.#options.sync === "always");
  }

  takeOver(interaction: SettledCall): Promise<void> {
    return this.#end(interaction, true);
  }

  async #end(interaction: SettledCall, untilSynced: boolean): Promise<void> {
    const confirmed = Promise.withResolvers<void>();
    const { resolve, reject } = confirmed;
    // A rejection that nobody awaits would end the process; `#failed` reports it.
    confirmed.promise.catch(() => {});
    const ended = { interaction, isSpilled: false, resolve, reject };
    try {
      this.#appendEnd(ended);
    } catch (thrown) {
      this.#unwritten.push(ended);
      this.#failed(thrown);
      throw thrown;
    }
    if (untilSynced) await confirmed.promise;
  }

  stored(transactionIds: readonly string[]): void {
    for (const id of transactionIds) {
      const openCall = this.#openCalls.get(id);
      if (!openCall) continue;
      this.#openCalls.delete(id);
      openCall.segment.open--;
    }
    if (this.#unwritten.length > 0) {
      const ids = new Set(transactionIds);
      this.#unwritten = this.#unwritten.filter(({ interaction }) =>
        !ids.has(interaction.transactionId)
      );
    }
    this.#prune();
  }

  compact(isErased: IsErased = () => false): Promise<void> {
    return this.#inTurn(() => this.#compact(isErased));
  }

  spill(transactionId: string): boolean {
    const openCall = this.#openCalls.get(transactionId);
    const last = this.#lastEnded;
    if (!openCall || last?.interaction.transactionId !== transactionId) return false;
    this.#spillAt(last, openCall.segment);
    return true;
  }

  async readSpilled(): Promise<SettledCall[]> {
    const file = await this.#spilled.read(this.#segments.all);
    if (!file) return [];
    const { segment, to, missing } = file;
    const found: SettledCall[] = [];
    const bytes = segment.bytes / Math.max(1, to);
    for (const row of file.rows) {
      const { transactionId, accountId } = row;
      if (this.#openCalls.has(transactionId)) {
        // The record was written again after a failed sync; the copy that was read before is
        // enough.
        segment.open--;
      } else {
        this.#openCalls.set(transactionId, { segment, accountId, bytes, request: undefined });
        found.push(row);
      }
    }
    if (missing > 0) this.#noteLost(segment, missing);
    this.#spilled.remove(file);
    return found;
  }

  unload(transactionId: string): boolean {
    return this.#openCalls.unload(transactionId);
  }

  async reload(
    transactionIds: readonly string[],
  ): Promise<ReadonlyMap<string, SettledCall | undefined>> {
    const fileOf = (id: string) => this.#openCalls.get(id)?.segment;
    const segment = transactionIds[0] === undefined ? undefined : fileOf(transactionIds[0]);
    const ids = new Set(transactionIds.filter((id) => fileOf(id) === segment));
    const found = new Map<string, SettledCall | undefined>(
      segment ? await this.#readEnded(segment, ids) : [],
    );
    for (const { interaction } of this.#unwritten) {
      if (ids.has(interaction.transactionId)) found.set(interaction.transactionId, interaction);
    }
    // Relief may have moved some meanwhile.
    const lost = [...ids].filter((id) => !found.has(id) && fileOf(id) === segment);
    for (const id of lost) {
      found.set(id, undefined);
      this.#openCalls.delete(id);
    }
    if (segment && lost.length > 0) this.#noteLost(segment, lost.length);
    return found;
  }

  reject(interaction: SettledCall, reason: string): Promise<void> {
    return this.#rejected.keep(interaction, reason);
  }

  eraseRejected(isErased: (interaction: SettledCall) => boolean): Promise<number> {
    return this.#rejected.erase(isErased);
  }

  removeUnreadable(): Promise<void> {
    return this.#rejected.removeUnreadable();
  }

  expire(limits: RecordLimits): Promise<ExpiredRecords> {
    return this.#rejected.expire(limits);
  }

  async replay(write: WriteReplayed): Promise<Replayed> {
    const paths = this.#left.map((name) => `${this.#directory}/${name}`);
    const { replayed, done } = await replayFiles(paths, write);
    for (const path of paths.slice(0, done)) await this.#removeReplayed(path);
    this.#left = this.#left.slice(done);
    return replayed;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#rejected.settled;
    await this.#compacting.catch(() => {});
    await Promise.all(this.#segments.all.map(({ writing }) => writing));
    await this.#syncing;
    await this.#sync().catch(() => {});
    await this.#segments.close();
  }

  async #readEnded(segment: Segment, ids: ReadonlySet<string>): Promise<Map<string, SettledCall>> {
    // Keeps the file from being removed.
    segment.open++;
    try {
      const bytes = await segment.read();
      const ended = new Map<string, SettledCall>();
      for await (const call of endedCalls(bytes, (id) => ids.has(id))) {
        ended.set(call.transactionId, call);
      }
      released(bytes);
      return ended;
    } finally {
      segment.open--;
    }
  }

  #noteLost(segment: Segment, records: number): void {
    this.#observer?.lost(records);
    // The file stays for the next start, or until relief needs the space.
    segment.open = Infinity;
  }

  #append(record: EncodedRecord, to = this.#writable()): Segment {
    finish(this.#segments.appendSteps(record, to));
    return to;
  }

  #appendEnd(ended: PendingEnd): void {
    const { interaction } = ended;
    const { transactionId: id, accountId } = interaction;
    const openCall = this.#openCalls.get(id);
    const file = this.#fileOfEnd(openCall);
    // In the same file as the begin record, an end record needs no request.
    const asBegun = openCall?.segment === file && openCall.request !== undefined &&
      openCall.request === interaction.requestText;
    const record = encodeEnd(interaction, asBegun ? openCall.media ?? [] : false, this.#room);
    const segment = this.#append(record, file);
    segment.ends++;
    this.#lastEnded = ended;
    if (openCall?.segment !== segment) {
      segment.open++;
      if (openCall) this.#beginFilesToRelease.push(openCall.segment);
    }
    const all = record.length + (asBegun ? openCall.bytes : 0);
    const { isUnloaded } = openCall ?? {};
    this.#openCalls.set(id, { segment, accountId, bytes: all, request: undefined, isUnloaded });
    // A hash table that the Map has replaced may refer to the old object for a while
    // (docs/decisions, 0368).
    if (openCall) openCall.request = openCall.media = undefined;
    if (ended.isSpilled) this.#spillAt(ended, segment);
    this.#unsynced.push(ended);
    if (this.#options.sync === "always") return this.#startSync();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#startSync();
    }, intervalMs);
  }

  /**
   * The newest file, or that of a large begin record, so that the request is not written twice. One
   * such record can fill a file, so the newest would be another one.
   */
  #fileOfEnd(openCall: OpenCall | undefined): Segment {
    const largeBytes = Math.min(this.#largeBytes, this.#segments.fullBytes / 2);
    if (openCall?.request === undefined || openCall.bytes < largeBytes) return this.#writable();
    const { segment } = openCall;
    const isPossible = !this.#closed && segment.isWritable && this.#spilled.mayEndIn(segment);
    return isPossible ? segment : this.#writable();
  }

  #spillAt(ended: PendingEnd, segment: Segment): void {
    ended.isSpilled = true;
    this.#openCalls.delete(ended.interaction.transactionId);
    this.#spilled.add(segment);
  }

  #writable(): Segment {
    if (this.#closed) throw new Error("the journal is closed");
    return this.#segments.writable();
  }

  #createRelief(): Relief {
    return new Relief({
      openCalls: this.#openCalls,
      clock: this.#clock,
      maxBytes: this.#maxBytes,
      bytes: () => this.bytes,
      segments: () => this.#segments.all,
      mayMove: () => !this.#closed && this.spilled === 0,
      append: (record) => this.#append(record),
      sync: () => Promise.resolve(this.#syncing).then(() => this.#sync()),
      prune: () => this.#prune(),
      quarantine: (segment) => this.#quarantine(segment),
      inTurn: (act) => void this.#inTurn(act),
    });
  }

  /** One rewrite of files at a time. */
  #inTurn(act: () => Promise<void>): Promise<void> {
    return this.#compacting = this.#compacting.catch(() => {}).then(act);
  }

  /** Removes a file and saves its unreadable bytes, as a start does. */
  async #quarantine(segment: Segment): Promise<void> {
    await this.#removeReplayed(segment.path);
    // The file may have been removed meanwhile, with its last call.
    if (this.#segments.all.includes(segment)) this.#segments.drop(segment);
  }

  async #removeReplayed(path: string): Promise<void> {
    const unreadable = await removeReplayed(path);
    if (unreadable) this.#observer?.unreadable(unreadable);
  }

  /** Oldest first: see `SegmentList.dropFinished`. */
  async #compact(isErased: IsErased): Promise<void> {
    const written = this.#segments.all.filter(({ bytes, writing }) => bytes > 0 || writing);
    for (const segment of written) segment.isSealed = true;
    const toErase = this.#openCalls.filesToErase(isErased);
    for (const segment of written) {
      await segment.writing;
      // The file may have been removed in the meantime.
      if (this.#closed || !this.#segments.all.includes(segment)) continue;
      if (segment.spilled > 0) {
        throw new Fault("store_unavailable", { note: "the journal holds what the store lacks" });
      }
      // With many long calls, each deletion would write the whole journal again.
      if (segment.tidiedAt === segment.changes && !toErase.has(segment)) continue;
      this.#segments.saved(await this.#tidy(segment, isErased));
      // The file may have been removed just after it was rewritten.
      if (!segment.isDone || !this.#segments.all.includes(segment)) continue;
      // An older file may still have a begin record of its calls: the store has those, and ignores
      // it.
      this.#segments.drop(segment);
    }
    await this.#segments.freed();
  }

  /** Rewrites a file with the needed records; returns the bytes saved. */
  async #tidy(segment: Segment, isErased: IsErased): Promise<number> {
    const { changes } = segment;
    let hasOthers = false;
    const saved = await segment.rewrite((record) => {
      const isNeeded = this.#isNeeded(record, isErased);
      // Its end record is in another file: nothing tells this file when it is stored.
      hasOthers ||= isNeeded && this.#openCalls.get(record.id)?.segment !== segment;
      return isNeeded;
    });
    segment.tidiedAt = hasOthers ? undefined : changes;
    return saved;
  }

  /** Whether a rewritten file has the record. A call in flight that is erased ends without one. */
  #isNeeded(record: JournalRecord, isErased: IsErased): boolean {
    const openCall = this.#openCalls.get(record.id);
    if (openCall?.request === undefined) return openCall !== undefined;
    if (!isErased(begunCall(record))) return true;
    this.#openCalls.delete(record.id);
    openCall.segment.open--;
    return false;
  }

  /** Retries failed end records; new calls can begin once these are synced. */
  #writeAgain(): void {
    if (this.#syncing) return;
    try {
      while (this.#unwritten.length > 0) {
        const ended = this.#unwritten[0]!;
        // While there are spilled records, all later ones are spilled too: they are read back
        // together.
        ended.isSpilled ||= this.spilled > 0;
        this.#appendEnd(ended);
        this.#unwritten.shift();
      }
      this.#isConfirming = true;
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): void {
    // Syncing lets finished files be removed, which frees space.
    this.#startSync();
    this.#failures.failed(messageOf(thrown), this.#observer);
  }

  #startSync(): void {
    this.#syncing ??= this.#syncWaiting();
  }

  /**
   * Group commit: one fsync confirms all records that were appended before it. It begins only after
   * the event loop has handled what has arrived; otherwise the first of several records would be
   * synced alone, and the others would wait for a second fsync. Nothing is awaited between the last
   * check for records and the end, so an append after that starts another sync.
   */
  async #syncWaiting(): Promise<void> {
    do {
      await turnEnd();
      const group = this.#unsynced.splice(0);
      try {
        await this.#sync();
        for (const { resolve } of group) resolve();
        if (this.#unwritten.length === 0 && !this.#segments.lastAppendFailed) {
          this.#failures.mended(this.#observer);
        }
        this.#isConfirming = false;
      } catch (thrown) {
        this.#isConfirming = false;
        this.#failed(thrown);
        // Records that are not in the store yet.
        const isLeft = ({ isSpilled, interaction }: PendingEnd) =>
          isSpilled || this.#openCalls.has(interaction.transactionId);
        pushAll(this.#unwritten, group.filter(isLeft));
        for (const { reject } of group) reject(thrown);
      }
    } while (this.#unsynced.length > 0);
    this.#syncing = undefined;
    this.#prune();
  }

  async #sync(): Promise<void> {
    const toRelease = this.#beginFilesToRelease.splice(0);
    const startedMs = this.#clock.monotonicMs();
    let wasDirty: boolean;
    try {
      wasDirty = await this.#segments.sync();
    } catch (thrown) {
      pushAll(this.#beginFilesToRelease, toRelease);
      throw thrown;
    }
    for (const segment of toRelease) segment.open--;
    if (!wasDirty) return;
    this.#observer?.synced((this.#clock.monotonicMs() - startedMs) / 1000);
  }

  #prune(): void {
    if (this.#closed) return;
    try {
      this.#segments.dropFinished();
    } catch {
      // Tried again with the next record. The next append that creates a file reports the failure.
    }
    this.#relief.check();
  }
}
