import { type Later, systemLater } from "./watch.ts";

/** Lets in only as many bytes at once as memory is meant for; the rest waits its turn. */
export interface ValueGate {
  /**
   * Waits until there is room for so many bytes; the function that it resolves with gives the room
   * back, and may be called again. Who shares a `key` waits in line; lines take turns, so that one
   * caller's crowd doesn't hold up the others. More than the whole room counts as the whole.
   * Rejects with the signal's reason when that fires first.
   */
  enter(bytes: number, who: { key: string; signal?: AbortSignal }): Promise<() => void>;
  /** Bytes that are in, for measures. */
  readonly inside: number;
}

export interface ValueGateOptions {
  capacityBytes: number;
  /** After so long a place is given to others, though its holder may still be at work. */
  maxHoldMs: number;
  /** Told of each place that was given back. */
  released?: (bytes: number) => void;
  later?: Later;
}

export function createValueGate(options: ValueGateOptions): ValueGate {
  return new Gate(options);
}

interface Waiter {
  bytes: number;
  admit: () => void;
}

class Gate implements ValueGate {
  readonly #capacity: number;
  readonly #maxHoldMs: number;
  readonly #released: (bytes: number) => void;
  readonly #later: Later;
  /** By key, in the order in which their turn comes. */
  readonly #lines = new Map<string, Waiter[]>();
  #inside = 0;

  constructor(options: ValueGateOptions) {
    const { capacityBytes, maxHoldMs, released = () => {}, later = systemLater } = options;
    this.#released = released;
    this.#capacity = capacityBytes;
    this.#maxHoldMs = maxHoldMs;
    this.#later = later;
  }

  get inside(): number {
    return this.#inside;
  }

  async enter(
    asked: number,
    { key, signal }: { key: string; signal?: AbortSignal },
  ): Promise<() => void> {
    signal?.throwIfAborted();
    const bytes = Math.min(asked, this.#capacity);
    if (this.#lines.size > 0 || !this.#fits(bytes)) await this.#wait(bytes, key, signal);
    else this.#inside += bytes;
    return this.#held(bytes);
  }

  #fits(bytes: number): boolean {
    return this.#inside + bytes <= this.#capacity;
  }

  #wait(bytes: number, key: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const line = this.#lines.get(key) ?? [];
    const leave = () => {
      const rest = this.#lines.get(key)?.filter((one) => one !== waiter) ?? [];
      if (rest.length > 0) this.#lines.set(key, rest);
      else this.#lines.delete(key);
      reject(signal?.reason);
      this.#serve();
    };
    const admit = () => {
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    const waiter = { bytes, admit };
    this.#lines.set(key, [...line, waiter]);
    signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  /** The place of one who was let in. */
  #held(bytes: number): () => void {
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      cancel();
      this.#inside -= bytes;
      this.#released(bytes);
      this.#serve();
    };
    const cancel = this.#later(this.#maxHoldMs, release);
    return release;
  }

  #serve(): void {
    for (const [key, [first, ...rest]] of this.#lines) {
      // Whoever comes next waits behind the large one, which else might wait for ever.
      if (!first || !this.#fits(first.bytes)) return;
      this.#lines.delete(key);
      if (rest.length > 0) this.#lines.set(key, rest);
      this.#inside += first.bytes;
      first.admit();
    }
  }
}
