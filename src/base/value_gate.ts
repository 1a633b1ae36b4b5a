import { type SetTimer, systemSetTimer } from "./deadline.ts";

/**
 * Room is released after this time even if its owner still waits for a vendor. Chat calls release it
 * earlier, as soon as they hold no parsed values; other operations don't.
 */
const maxHoldMs = 10_000;

export function createValueGate(capacity: number, setTimer: SetTimer = systemSetTimer): ValueGate {
  return new ValueGate(capacity, setTimer);
}

interface Waiter {
  values: number;
  admit: () => void;
}

/** A weighted semaphore over JSON values: parsed, they take many times the memory of their text. */
export class ValueGate {
  readonly #capacity: number;
  readonly #setTimer: SetTimer;
  /** By key, in round-robin order. */
  readonly #lines = new Map<string, Set<Waiter>>();
  #inside = 0;

  constructor(capacity: number, setTimer: SetTimer) {
    this.#capacity = capacity;
    this.#setTimer = setTimer;
  }

  /** Values admitted. */
  get inside(): number {
    return this.#inside;
  }

  /**
   * Waits for room for so many values; resolves with an idempotent function that releases it. Each
   * key has its own line, and lines are served round-robin. More than the capacity counts as the
   * capacity. Rejects with the signal's reason if that fires first.
   */
  async enter(
    asked: number,
    { key, signal }: { key: string; signal?: AbortSignal },
  ): Promise<() => void> {
    signal?.throwIfAborted();
    const values = Math.min(asked, this.#capacity);
    if (this.#lines.size > 0 || !this.#fits(values)) await this.#wait(values, key, signal);
    else this.#inside += values;
    return this.#held(values);
  }

  #fits(values: number): boolean {
    return this.#inside + values <= this.#capacity;
  }

  #wait(values: number, key: string, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      const line = this.#lines.get(key);
      line?.delete(waiter);
      if (line?.size === 0) this.#lines.delete(key);
      reject(signal?.reason);
      this.#serve();
    };
    const admit = () => {
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    const waiter = { values, admit };
    const line = this.#lines.get(key);
    if (line) line.add(waiter);
    else this.#lines.set(key, new Set([waiter]));
    signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  /** Releases the room of an admitted waiter. */
  #held(values: number): () => void {
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      cancel();
      this.#inside -= values;
      this.#serve();
    };
    const cancel = this.#setTimer(maxHoldMs, release);
    return release;
  }

  #serve(): void {
    for (const [key, line] of this.#lines) {
      const [first] = line;
      // No waiter overtakes a large one, which could otherwise starve.
      if (!first || !this.#fits(first.values)) return;
      line.delete(first);
      // The key goes to the end of the round.
      this.#lines.delete(key);
      if (line.size > 0) this.#lines.set(key, line);
      this.#inside += first.values;
      first.admit();
    }
  }
}
