export interface PermitOwner {
  /** Whose share it is. */
  key: string;
  /** What the body is announced to have. */
  bytes?: number | undefined;
  /** Ends the wait for room. */
  signal?: AbortSignal | undefined;
  /**
   * Called when a slow body must make way; from then on `take` rejects with `RoomLost`. Absent: it
   * never has to.
   */
  lost?: () => void;
}

/** The room of one body. */
export interface MemoryPermit {
  /**
   * To be awaited before the first piece: a large body that says so waits unread for those that
   * came before it. Takes nothing, and rejects as `take` does.
   */
  ready(): Promise<void> | undefined;
  /**
   * Takes room for a piece that has arrived; undefined where there is some at once. The next piece
   * is to be read only then. Rejects with `RoomLost`, or with the signal's reason.
   */
  take(bytes: number): Promise<void> | undefined;
  /** All has arrived. */
  complete(): void;
  /** Nothing is taken, as by what is small. */
  readonly isEmpty: boolean;
  /** Gives everything back; may be called again. */
  release(): void;
}

/** The body came slowly, was larger than its account's share, and others waited. */
export class PermitLost extends Error {
  constructor() {
    super("A slow body had to make way for others");
  }
}

/** What a body asks of its gate. */
export interface BodyGate {
  nowMs(): number;
  take(body: Body, bytes: number): Promise<void> | undefined;
  completed(body: Body): void;
  drop(body: Body): void;
}

/** So much of each body takes no room. */
export const freeBytes = 64 * 1024;
/** Bodies up to this size take none once they have arrived. */
export const smallBytes = 256 * 1024;
/** A body beyond its share that brings less makes way for others, if it must. */
export const leastBytesPerSecond = 64 * 1024;
const leastAfterMs = 10_000;
/** A pace is that of so long, and up to twice as long. */
const windowMs = 1_000;

interface Mark {
  atMs: number;
  arrived: number;
}

interface Wait {
  bytes: number;
  sinceMs: number;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/** One body, as its gate sees it. */
export class Body implements MemoryPermit {
  /** Taken from the account's share. */
  held = 0;
  /** Taken beyond it. */
  extra = 0;
  resting = 0;
  /** All that has come, the free part included. */
  arrived = 0;
  completedMs = Infinity;
  /** Too slow to wait for the place beyond with nothing in hand. */
  isDemoted = false;
  #wait: Wait | undefined;
  #waitedMs = 0;
  #beyond: Mark | undefined;
  #isOver = false;
  #isLost = false;
  /** What had come one and two looks ago, at a time without that of waiting. */
  #recent: Mark;
  #before: Mark;

  constructor(readonly owner: PermitOwner, readonly gate: BodyGate) {
    this.#recent = this.#before = { atMs: gate.nowMs(), arrived: 0 };
  }

  get isEmpty(): boolean {
    return this.held + this.extra + this.resting === 0;
  }

  get isComplete(): boolean {
    return this.completedMs !== Infinity;
  }

  get isWaiting(): boolean {
    return this.#wait !== undefined;
  }

  get wanted(): number {
    return this.#wait?.bytes ?? 0;
  }

  waitedMs(nowMs: number): number {
    return this.#wait ? nowMs - this.#wait.sinceMs : 0;
  }

  ready(): Promise<void> | undefined {
    return (this.owner.bytes ?? 0) > smallBytes ? this.gate.take(this, 0) : undefined;
  }

  take(bytes: number): Promise<void> | undefined {
    if (this.#isLost) return Promise.reject(new PermitLost());
    if (this.#isOver) return undefined;
    const before = Math.max(freeBytes, this.arrived);
    this.arrived += bytes;
    const counted = this.arrived - before;
    return counted > 0 ? this.gate.take(this, counted) : undefined;
  }

  complete(): void {
    this.completedMs = this.gate.nowMs();
    if (this.arrived <= smallBytes) this.release();
    else this.gate.completed(this);
  }

  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.gate.drop(this);
  }

  wait(bytes: number, nowMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { signal } = this.owner;
    const leave = () => {
      const wait = this.#wait;
      this.release();
      wait?.reject(signal?.reason);
    };
    const settle = (act: () => void) => {
      signal?.removeEventListener("abort", leave);
      act();
    };
    this.#wait = {
      bytes,
      sinceMs: nowMs,
      resolve: () => settle(resolve),
      reject: (reason) => settle(() => reject(reason)),
    };
    if (signal?.aborted) queueMicrotask(leave);
    else signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  admit(nowMs: number): void {
    const wait = this.#wait;
    this.#wait = undefined;
    if (!wait) return;
    this.#waitedMs += nowMs - wait.sinceMs;
    // Who was dropped while waiting is told why by whoever dropped it.
    if (!this.#isOver) wait.resolve();
  }

  goBeyond(nowMs: number): void {
    this.extra += this.wanted;
    this.#beyond = { atMs: nowMs - this.#waitedAt(nowMs), arrived: this.arrived };
  }

  /** By the last seconds; waiting for room is no slowness of the caller's. */
  isSlow(nowMs: number, bytesPerSecond: number): boolean {
    const now = { atMs: nowMs - this.#waitedAt(nowMs), arrived: this.arrived };
    if (now.atMs - this.#recent.atMs >= windowMs) {
      this.#before = this.#recent;
      this.#recent = now;
    }
    const ms = now.atMs - this.#before.atMs;
    return ms >= windowMs && this.arrived - this.#before.arrived < bytesPerSecond * ms / 1000;
  }

  isTooSlowBeyond(nowMs: number): boolean {
    if (!this.#beyond) return false;
    const ms = nowMs - this.#waitedAt(nowMs) - this.#beyond.atMs;
    return ms >= leastAfterMs &&
      this.arrived - this.#beyond.arrived < leastBytesPerSecond * ms / 1000;
  }

  lose(): void {
    this.#isLost = true;
    this.release();
    this.owner.lost?.();
  }

  #waitedAt(nowMs: number): number {
    return this.#waitedMs + this.waitedMs(nowMs);
  }
}
