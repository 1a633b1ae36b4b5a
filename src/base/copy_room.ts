import { accountShare } from "./byte_gate.ts";

/**
 * The memory for copies of streams, which repeats and the response cache get. No account can take
 * all of it: `accountShare`. An account that grows beyond its share loses its largest copies, the
 * newest of equal ones; the streams themselves go on.
 */
export class CopyRoom {
  readonly #capacityBytes: number;
  readonly #byAccount = new Map<number, AccountsCopies>();
  #bytes = 0;
  #dropped = 0;

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  /** Bytes held by all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many copies have been lost, for lack of room or since they were too large. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Opens a copy, which holds nothing yet; `drop` is called if it loses its room. */
  open(accountId: number, drop: () => void): CopyShare {
    const copy: Copy = { bytes: 0, drop };
    return {
      add: (bytes) => this.#add(accountId, copy, bytes),
      release: () => this.#remove(accountId, copy),
      lose: () => this.#lose(accountId, copy),
    };
  }

  #add(accountId: number, copy: Copy, bytes: number): void {
    let own = this.#byAccount.get(accountId);
    if (!own) this.#byAccount.set(accountId, own = { bytes: 0, copies: new Set() });
    own.copies.add(copy);
    copy.bytes += bytes;
    own.bytes += bytes;
    this.#bytes += bytes;
    while (own.bytes > accountShare(this.#capacityBytes, this.#bytes, own.bytes)) {
      this.#lose(accountId, largestOf(own.copies));
    }
  }

  #lose(accountId: number, copy: Copy): void {
    this.#dropped++;
    this.#remove(accountId, copy);
    copy.drop();
  }

  #remove(accountId: number, copy: Copy): void {
    const own = this.#byAccount.get(accountId);
    if (!own?.copies.delete(copy)) return;
    own.bytes -= copy.bytes;
    this.#bytes -= copy.bytes;
    copy.bytes = 0;
    if (own.copies.size === 0) this.#byAccount.delete(accountId);
  }
}

/** The memory of one copy. */
export interface CopyShare {
  /** Adds to what the copy holds. This may drop copies, this one too. */
  add(bytes: number): void;
  /** It holds nothing any more; idempotent. */
  release(): void;
  /** It is too large: it is dropped, as for lack of room. */
  lose(): void;
}

interface Copy {
  bytes: number;
  readonly drop: () => void;
}

interface AccountsCopies {
  bytes: number;
  /** Oldest first. */
  readonly copies: Set<Copy>;
}

function largestOf(copies: Iterable<Copy>): Copy {
  return [...copies].reduce((largest, copy) => copy.bytes >= largest.bytes ? copy : largest);
}
