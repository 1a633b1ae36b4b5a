import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** Lets in values of bodies as memory is meant for them: what is made of a text is many times it. */
export interface ValueGate {
  /**
   * Waits until there is room for so many; the function that it resolves with gives the room back,
   * and may be called again. Who shares a `key` waits in line; lines take turns, so that one
   * caller's crowd doesn't hold up the others. More than the whole room counts as the whole.
   * Rejects with the signal's reason when that fires first.
   */
  enter(values: number, who: { key: string; signal?: AbortSignal }): Promise<() => void>;
  /** Values that are in. */
  readonly inside: number;
}

/**
 * After so long room is given to others, though its holder may still wait for a vendor: chat calls
 * give it back before, as soon as they hold no values, other operations don't.
 */
const maxHoldMs = 10_000;

export function createValueGate(capacity: number, setTimer: SetTimer = systemSetTimer): ValueGate {
  return new Gate(capacity, setTimer);
}

interface Waiter {
  values: number;
  admit: () => void;
}

class Gate implements ValueGate {
  readonly #capacity: number;
  readonly #setTimer: SetTimer;
  /** By key, in the order in which their turn comes. */
  readonly #lines = new Map<string, Set<Waiter>>();
  #inside = 0;

  constructor(capacity: number, setTimer: SetTimer) {
    this.#capacity = capacity;
    this.#setTimer = setTimer;
  }

  get inside(): number {
    return this.#inside;
  }

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

  /** The place of one who was let in. */
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
      // Whoever comes next waits behind the large one, which else might wait for ever.
      if (!first || !this.#fits(first.values)) return;
      line.delete(first);
      // The line goes behind the others, whose turn it is next.
      this.#lines.delete(key);
      if (line.size > 0) this.#lines.set(key, line);
      this.#inside += first.values;
      first.admit();
    }
  }
}
