import { type SetTimer, within } from "../base/deadline.ts";

export interface WorkQueueOptions<Claim> {
  /** Returns the id of a piece of work. */
  idOf: (claim: Claim) => string;
  /** How many more pieces this process may claim in addition to these. */
  room: (working: readonly Claim[]) => number;
  /** Claims up to `most` pieces, none of those that this process works on; empty: none waits. */
  claim: (most: number, working: readonly Claim[]) => Promise<readonly Claim[]>;
  /** Keeps claims alive; returns the ids of those that this process still holds. */
  renew: (working: readonly Claim[]) => Promise<ReadonlySet<string>>;
  /**
   * Works on a piece until it has ended or `stop` is aborted, and records in the store which of the
   * two happened. If it throws, the next claim waits for the next tick.
   */
  work: (claim: Claim, stop: AbortController) => Promise<void>;
  /**
   * Whether the end of a piece may free others, such as those of its account, to be claimed at
   * once.
   */
  claimsAfterEach: boolean;
  setTimer?: SetTimer;
}

/** How long a claim at which the store hangs may hold up the next renewal. */
const longestClaimMs = 5_000;

interface Working<Claim> {
  claim: Claim;
  stop: AbortController;
  ended: Promise<void>;
}

/**
 * One process's share of the work in the store, which any process may claim: deletions, exports,
 * evaluations, background calls. What a dead process held is claimed by others when its claims have
 * expired.
 */
export class WorkQueue<Claim> {
  readonly #options: WorkQueueOptions<Claim>;
  readonly #working = new Map<string, Working<Claim>>();
  #claiming: Promise<void> | undefined;
  #isWoken = false;
  #isClosed = false;

  constructor(options: WorkQueueOptions<Claim>) {
    this.#options = options;
  }

  /** What this process works on, in the order in which it began. */
  get working(): readonly Claim[] {
    return [...this.#working.values()].map(({ claim }) => claim);
  }

  get size(): number {
    return this.#working.size;
  }

  find(id: string): Claim | undefined {
    return this.#working.get(id)?.claim;
  }

  /** Renews claims, stops what was lost and claims what waits; a background job. */
  async tick(): Promise<void> {
    if (this.#working.size > 0) {
      const working = [...this.#working.values()];
      const held = await this.#options.renew(working.map(({ claim }) => claim));
      for (const { claim, stop } of working) if (!held.has(this.#options.idOf(claim))) stop.abort();
    }
    await within(longestClaimMs, this.claim(), undefined, this.#options.setTimer);
  }

  /** Work was added: claims it at once. The next tick reports what fails here. */
  wake(): void {
    this.claim().catch(() => {});
  }

  /**
   * Claims waiting work while there is room. Runs once at a time, and once more for calls
   * meanwhile.
   */
  async claim(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#claiming) {
      this.#isWoken = true;
      return await this.#claiming;
    }
    const claiming = this.#claimAll();
    this.#claiming = claiming;
    try {
      await claiming;
    } finally {
      if (this.#claiming === claiming) this.#claiming = undefined;
    }
  }

  async #claimAll(): Promise<void> {
    const { room, claim } = this.#options;
    do {
      this.#isWoken = false;
      while (!this.#isClosed) {
        const most = room(this.working);
        const claims = most > 0 ? await claim(most, this.working) : [];
        if (claims.length === 0) break;
        for (const one of claims) this.add(one);
      }
    } while (this.#isWoken && !this.#isClosed);
    // Not in a later turn: a caller from here on begins another run.
    this.#claiming = undefined;
  }

  /** Works on what this process has claimed already; resolves or throws as the work does. */
  add(claim: Claim): Promise<void> {
    const stop = new AbortController();
    // Still claimed in the store: the work gives it back.
    if (this.#isClosed) stop.abort();
    const id = this.#options.idOf(claim);
    const working: Working<Claim> = { claim, stop, ended: Promise.resolve() };
    this.#working.set(id, working);
    const ended = this.#options.work(claim, stop).finally(() => this.#working.delete(id));
    working.ended = ended.then(() => {
      if (this.#options.claimsAfterEach) this.wake();
    }, () => {});
    return ended;
  }

  /** Stops work on a piece; another may be claimed in its place. */
  stop(id: string): void {
    this.#working.get(id)?.stop.abort();
  }

  /** Resolves when this process no longer works on the piece; undefined where it doesn't. */
  endOf(id: string): Promise<void> | undefined {
    return this.#working.get(id)?.ended;
  }

  /** Claims nothing more and waits for work under way, at most `ms`. */
  async drain(ms: number): Promise<void> {
    this.#isClosed = true;
    await this.#end(ms);
  }

  /**
   * Stops work under way and waits for it, at most `ms`; what takes longer is left until its claim
   * expires.
   */
  async close(ms: number): Promise<void> {
    this.#isClosed = true;
    for (const { stop } of this.#working.values()) stop.abort();
    await this.#end(ms);
  }

  async #end(ms: number): Promise<void> {
    const ended = this.#allEnded();
    await (ms === Infinity ? ended : within(ms, ended, undefined, this.#options.setTimer));
  }

  /** Waits for the claim under way, too, since what it still claims is given back at once. */
  async #allEnded(): Promise<void> {
    await this.#claiming?.catch(() => {});
    await Promise.all([...this.#working.values()].map(({ ended }) => ended));
  }
}
