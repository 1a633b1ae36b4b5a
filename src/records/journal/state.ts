import { released } from "../../base/gc_hint.ts";
import { Fault } from "../../shared/fault.ts";
import type { SelectableCall, SettledCall } from "../../shared/interaction.ts";
import type { Media } from "../../shared/media.ts";
import type { Segment } from "./segment.ts";
import { endedCalls } from "./calls.ts";
import type { IsErased } from "./journal.ts";

/** Returns the fault while no call can begin. */
export function refused(note: string, cause?: unknown): Fault {
  return new Fault("overloaded", { note, cause, retryAfterSeconds: 1 });
}

/** An end record that is not synced yet. */
export interface PendingEnd {
  interaction: SettledCall;
  isSpilled: boolean;
  resolve: () => void;
  reject: (thrown: unknown) => void;
}

/** A call in flight, or one that has ended and waits for the store. */
export interface OpenCall {
  /** The file of the begin record, later of the end record. */
  segment: Segment;
  accountId: number;
  /** The call's bytes in that file. */
  bytes: number;
  /** The request in its begin record; undefined once it has ended. */
  request: string | null | undefined;
  /** What deletions select a call in flight by. */
  selectable?: SelectableCall;
  /** The media of its begin record. */
  media?: readonly Media[] | undefined;
  /** Whether only the journal has its record, although it could be stored: its account is locked. */
  isUnloaded?: boolean | undefined;
}

/** All open calls, and how many bytes of the files they need. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();
  readonly #held = new Map<number, number>();
  #bytes = 0;

  /** Bytes of the records of all open calls. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the records of an account's calls in flight, and of its unloaded ones. */
  heldBytes(accountId: number): number {
    return this.#held.get(accountId) ?? 0;
  }

  has(id: string): boolean {
    return this.#calls.has(id);
  }

  get(id: string): OpenCall | undefined {
    return this.#calls.get(id);
  }

  /** Adds a call in flight, whose begin record has this many bytes. */
  begin(interaction: SettledCall, segment: Segment, bytes: number): void {
    const { transactionId, accountId, createdAt, sessionId, userId } = interaction;
    const { requestText: request, media } = interaction;
    const selectable = { transactionId, accountId, createdAt, sessionId, userId };
    this.set(transactionId, { segment, accountId, bytes, request, selectable, media });
  }

  set(id: string, call: OpenCall): void {
    this.delete(id);
    this.#calls.set(id, call);
    call.segment.changes++;
    this.#count(call, call.bytes);
  }

  delete(id: string): void {
    const call = this.#calls.get(id);
    if (!call) return;
    this.#calls.delete(id);
    call.segment.changes++;
    this.#count(call, -call.bytes);
  }

  /** Notes that only the journal has this call's record; false if it doesn't have it. */
  unload(id: string): boolean {
    const call = this.#calls.get(id);
    if (!call || call.request !== undefined) return false;
    this.#count(call, -call.bytes);
    call.isUnloaded = true;
    this.#count(call, call.bytes);
    return true;
  }

  /** Yields the ids of the calls that need the file. */
  *in(segment: Segment): Generator<string> {
    for (const [id, call] of this.#calls) if (call.segment === segment) yield id;
  }

  /** Returns the files with begin records of calls in flight that a deletion covers. */
  filesToErase(isErased: IsErased): ReadonlySet<Segment> {
    const files = new Set<Segment>();
    for (const { segment, request, selectable } of this.#calls.values()) {
      if (request === undefined || !selectable || files.has(segment)) continue;
      if (isErased(selectable)) files.add(segment);
    }
    return files;
  }

  #count({ accountId, request, isUnloaded }: OpenCall, bytes: number): void {
    this.#bytes += bytes;
    if (request === undefined && !isUnloaded) return;
    const all = this.heldBytes(accountId) + bytes;
    if (all > 0) this.#held.set(accountId, all);
    else this.#held.delete(accountId);
  }
}

/** Where in the journal the spilled records are, which are stored nowhere else. */
export class SpilledRecords {
  #count = 0;
  /** The file of the record that was spilled last; no later one is in an older file. */
  #last: Segment | undefined;

  get count(): number {
    return this.#count;
  }

  /**
   * Whether the next end record can be written to this file. Spilled records are read back file by
   * file, and must come in the order in which their calls ended.
   */
  mayEndIn(segment: Segment): boolean {
    return this.#count === 0 || segment.path >= this.#last!.path;
  }

  /** Adds the end record that was appended last. */
  add(segment: Segment): void {
    if (segment.spilled === 0) segment.spilledFrom = segment.ends - 1;
    segment.spilled++;
    this.#count++;
    this.#last = segment;
  }

  /**
   * Reads the spilled records of the oldest file, and counts the end records that can't be read.
   */
  async read(segments: readonly Segment[]): Promise<SpilledFile | undefined> {
    const segment = segments.find(({ spilled }) => spilled > 0);
    if (!segment) return undefined;
    const { spilledFrom: from, ends: to, spilled: due } = segment;
    const bytes = await segment.read();
    const ended = await Array.fromAsync(endedCalls(bytes));
    released(bytes);
    const isWhole = ended.length >= to;
    const rows = ended.slice(isWhole ? from : 0, to);
    return { segment, to, due, rows, missing: isWhole ? 0 : to - ended.length };
  }

  /** Notes that a file's spilled records are in memory again. */
  remove({ segment, due, to }: SpilledFile): void {
    segment.spilled -= due;
    segment.spilledFrom = to;
    this.#count -= due;
  }
}

interface SpilledFile {
  segment: Segment;
  /** Number of the file's end records when it was read. */
  to: number;
  due: number;
  rows: SettledCall[];
  missing: number;
}
