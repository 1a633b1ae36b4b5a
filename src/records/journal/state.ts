import { Fault } from "../../shared/fault.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import type { Media } from "../../shared/media.ts";
import type { JournalObserver } from "./journal.ts";
import type { Segment } from "./segment.ts";
import { CallReader } from "./calls.ts";
import { readSegment } from "./files.ts";

/** No call may begin now. */
export function refused(note: string, cause?: unknown): Fault {
  return new Fault("overloaded", { note, cause, retryAfterSeconds: 1 });
}

/** An end that the disk has yet to confirm. */
export interface PendingEnd {
  interaction: SettledCall;
  isSpilled: boolean;
  resolve: () => void;
  reject: (thrown: unknown) => void;
}

/** A call whose record is in memory too: under way, or ended and waiting for the store. */
export interface OpenCall {
  /** Where the call began, then where it ended. */
  segment: Segment;
  accountId: number;
  /** Of that file, how much is the call's. */
  bytes: number;
  /** Its begin record has this; undefined once it has ended. */
  request: string | null | undefined;
  /** That record's media. */
  media?: readonly Media[] | undefined;
}

/** All such calls, with what they need of the files. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();
  readonly #underWay = new Map<number, number>();
  #bytes = 0;

  /** Bytes of records that are needed. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Of those, the ones of an account's calls that have not ended. */
  underWayBytes(accountId: number): number {
    return this.#underWay.get(accountId) ?? 0;
  }

  has(id: string): boolean {
    return this.#calls.has(id);
  }

  get(id: string): OpenCall | undefined {
    return this.#calls.get(id);
  }

  set(id: string, call: OpenCall): void {
    this.delete(id);
    this.#calls.set(id, call);
    this.#count(call, call.bytes);
  }

  delete(id: string): void {
    const call = this.#calls.get(id);
    if (!call) return;
    this.#calls.delete(id);
    this.#count(call, -call.bytes);
  }

  /** Calls that need the file. */
  *in(segment: Segment): Generator<string> {
    for (const [id, call] of this.#calls) if (call.segment === segment) yield id;
  }

  #count({ accountId, request }: OpenCall, bytes: number): void {
    this.#bytes += bytes;
    if (request === undefined) return;
    const all = this.underWayBytes(accountId) + bytes;
    if (all > 0) this.#underWay.set(accountId, all);
    else this.#underWay.delete(accountId);
  }
}

/** Tells nobody. */
export const silentObserver: JournalObserver = {
  synced() {},
  failing() {},
  mended() {},
  lost() {},
  unreadable() {},
};

/** Where the records lie that are nowhere but in the journal. */
export class SpilledRecords {
  /** The oldest of them: all ends behind it are. */
  #from: { segment: Segment; end: number } | undefined;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The end that was appended last. */
  add(segment: Segment): void {
    segment.spilled++;
    this.#count++;
    this.#from ??= { segment, end: segment.ends - 1 };
  }

  /** Reads the oldest file's: as they ended, and how many ends are missing there. */
  async read(): Promise<SpilledFile | undefined> {
    if (!this.#from) return undefined;
    const { segment, end: from } = this.#from;
    const { ends: to, spilled: due } = segment;
    const { records } = readSegment(await segment.read());
    const calls = new CallReader();
    const ended = records.flatMap((record) => calls.take(record) ?? []);
    const isWhole = ended.length >= to;
    const rows = ended.slice(isWhole ? from : 0, to);
    return { segment, to, due, rows, missing: isWhole ? 0 : to - ended.length };
  }

  /** They are not here alone any more. */
  remove({ segment, due, to }: SpilledFile, segments: readonly Segment[]): void {
    segment.spilled -= due;
    this.#count -= due;
    this.#from = this.#next(segment, to, segments);
  }

  #next(segment: Segment, end: number, segments: readonly Segment[]) {
    if (this.#count === 0) return undefined;
    if (segment.spilled > 0) return { segment, end };
    const next = segments.slice(segments.indexOf(segment) + 1).find(({ spilled }) => spilled > 0);
    return next && { segment: next, end: 0 };
  }
}

interface SpilledFile {
  segment: Segment;
  /** Ends in it when it was read. */
  to: number;
  due: number;
  rows: SettledCall[];
  missing: number;
}
