export interface FairQueueOptions {
  /** How many may run at once, in all and per key. */
  atOnce: number;
  atOncePerKey: number;
  /** How many may wait per key. Default: unlimited. */
  waitingPerKey?: number;
  /** Makes the error for a request beyond that. */
  refuse?: () => Error;
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  return new FairQueue(options);
}

type Admit = () => void;

/**
 * A queue that is fair between keys: each key has its own line, and lines are served round-robin. One
 * key's crowd delays others at most by the work in progress.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Waiters by key, in round-robin order. */
  readonly #lines = new Map<string, Set<Admit>>();
  readonly #inside = new Map<string, number>();
  #all = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Running now, for metrics. */
  get inside(): number {
    return this.#all;
  }

  get waiting(): number {
    let waiting = 0;
    for (const line of this.#lines.values()) waiting += line.size;
    return waiting;
  }

  /** Runs `work` in its turn. Throws the error of `refuse` if too many wait already. */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const leave = await this.enter(key, signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /**
   * Waits for a turn; resolves with an idempotent function that ends it. Rejects with the signal's
   * reason if that fires first.
   */
  async enter(key: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    // No waiter could run now, so this doesn't jump the queue.
    if (this.#hasRoom(key)) this.#admit(key);
    else await this.#wait(key, signal);
    return this.#turnOf(key);
  }

  #hasRoom(key: string): boolean {
    const { atOnce, atOncePerKey } = this.#options;
    return this.#all < atOnce && (this.#inside.get(key) ?? 0) < atOncePerKey;
  }

  #admit(key: string): void {
    this.#all++;
    this.#inside.set(key, (this.#inside.get(key) ?? 0) + 1);
  }

  #wait(key: string, signal: AbortSignal | undefined): Promise<void> {
    const { waitingPerKey = Infinity, refuse = () => new Error("too many wait already") } =
      this.#options;
    const line = this.#lines.get(key) ?? new Set();
    if (line.size >= waitingPerKey) throw refuse();
    this.#lines.set(key, line);
    return new Promise((resolve, reject) => {
      const leave = () => {
        line.delete(admit);
        if (line.size === 0 && this.#lines.get(key) === line) this.#lines.delete(key);
        reject(signal?.reason);
      };
      const admit = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      line.add(admit);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #turnOf(key: string): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#all--;
      const left = this.#inside.get(key)! - 1;
      if (left > 0) this.#inside.set(key, left);
      else this.#inside.delete(key);
      this.#serve();
    };
  }

  #serve(): void {
    for (const [key, line] of this.#lines) {
      if (this.#all >= this.#options.atOnce) return;
      if (!this.#hasRoom(key)) continue;
      const [first] = line;
      line.delete(first!);
      // The key goes to the end of the round.
      this.#lines.delete(key);
      if (line.size > 0) this.#lines.set(key, line);
      this.#admit(key);
      first!();
    }
  }
}
