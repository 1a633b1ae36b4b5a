import { Fault } from "../../shared/fault.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import type { Media } from "../../shared/media.ts";
import type { JournalWatcher } from "./journal.ts";
import type { Segment } from "./segment.ts";

/** No call may begin now. */
export function refused(note: string, cause?: unknown): Fault {
  return new Fault("overloaded", { note, cause, retryAfterSeconds: 1 });
}

/** An end that the disk has yet to confirm. */
export interface Ended {
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

  set(id: string, known: OpenCall): void {
    this.delete(id);
    this.#calls.set(id, known);
    this.#count(known, known.bytes);
  }

  delete(id: string): void {
    const known = this.#calls.get(id);
    if (!known) return;
    this.#calls.delete(id);
    this.#count(known, -known.bytes);
  }

  /** Calls that need the file. */
  *in(segment: Segment): Generator<string> {
    for (const [id, known] of this.#calls) if (known.segment === segment) yield id;
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
export const silentWatcher: JournalWatcher = {
  synced() {},
  failing() {},
  mended() {},
  lost() {},
  unreadable() {},
};
