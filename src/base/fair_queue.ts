/**
 * Takes turns by key: whoever shares a key waits in line, and lines are served one after the other,
 * so that one caller's crowd holds nobody else up for longer than the work under way.
 */
export interface FairQueue {
  /** Runs `work` when its turn has come. Throws what `refuse` gives where too many wait already. */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Waits for a turn; the function that it resolves with ends it, and may be called again. Rejects
   * with the signal's reason when that fires first.
   */
  enter(key: string, signal?: AbortSignal): Promise<() => void>;
  /** At work now, for measures. */
  readonly inside: number;
  readonly waiting: number;
}

export interface FairQueueOptions {
  /** At work at once, in all and of one key. */
  atOnce: number;
  atOncePerKey: number;
  /** Of one key; beyond that nobody is taken in. Default: without bound. */
  waitingPerKey?: number;
  /** What is thrown then. */
  refuse?: () => Error;
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  return new Turns(options);
}

type Admit = () => void;

class Turns implements FairQueue {
  readonly #options: FairQueueOptions;
  /** Who waits, by key, in the order in which keys have their turn. */
  readonly #lines = new Map<string, Set<Admit>>();
  readonly #inside = new Map<string, number>();
  #all = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get inside(): number {
    return this.#all;
  }

  get waiting(): number {
    let waiting = 0;
    for (const line of this.#lines.values()) waiting += line.size;
    return waiting;
  }

  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const leave = await this.enter(key, signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  async enter(key: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    // Nobody waits whose turn could have come, so whoever finds room takes nobody's place.
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
    const { waitingPerKey = Infinity, refuse = full } = this.#options;
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
      // Its next one waits until all others have had their turn.
      this.#lines.delete(key);
      if (line.size > 0) this.#lines.set(key, line);
      this.#admit(key);
      first!();
    }
  }
}

function full(): Error {
  return new Error("too many wait already");
}
