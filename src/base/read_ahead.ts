import { accountShare } from "./byte_gate.ts";

/**
 * The memory for what streams are read ahead of their readers. No account can take all of it:
 * `accountShare`.
 */
export class ReadAhead {
  readonly #capacityBytes: number;
  readonly #byAccount = new Map<number, number>();
  #bytes = 0;

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  /** Bytes held by all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the share of one stream; it holds nothing yet. Always call its `release`. */
  open(accountId: number): AheadShare {
    let held = 0;
    let isOver = false;
    const hold = (bytes: number) => {
      if (isOver) return false;
      const change = bytes - held;
      held = bytes;
      return this.#change(accountId, change);
    };
    const release = () => {
      hold(0);
      isOver = true;
    };
    return { hold, release };
  }

  #change(accountId: number, bytes: number): boolean {
    const held = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (held > 0) this.#byAccount.set(accountId, held);
    else this.#byAccount.delete(accountId);
    this.#bytes += bytes;
    return held < accountShare(this.#capacityBytes, this.#bytes, held);
  }
}

/** What one stream is read ahead of its reader. */
export interface AheadShare {
  /** Notes how many bytes wait for the reader; returns whether there is room for more. */
  hold(bytes: number): boolean;
  /** None wait any more; idempotent. */
  release(): void;
}
