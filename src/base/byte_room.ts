import type { Link } from "./linked_set.ts";

/** The request whose body takes memory. */
export interface PermitOwner {
  /** Whose share it takes. */
  key: string;
  /** The announced size of the body. */
  bytes?: number | undefined;
  /** Cancels the wait for room. */
  signal?: AbortSignal | undefined;
  /**
   * Called when a slow body is dropped for others; from then on `take` rejects with `PermitLost`.
   * Absent: it is never dropped.
   */
  lost?: () => void;
}

export interface MemoryPermit {
  /**
   * Await it before the first piece: an announced large body waits, unread, behind earlier ones.
   * Takes nothing, and rejects as `take` does.
   */
  ready(): Promise<void> | undefined;
  /**
   * Takes room for a piece that has arrived; undefined if there is room at once. Read the next piece
   * only afterwards. Rejects with `PermitLost`, or with the signal's reason.
   */
  take(bytes: number): Promise<void> | undefined;
  /** The whole body has arrived. */
  complete(): void;
  /** No counted bytes are held, as for small bodies. */
  readonly isEmpty: boolean;
  /** Frees everything; idempotent. */
  release(): void;
}

/** The body was too slow or too large while others waited. */
export class PermitLost extends Error {
  constructor() {
    super("A slow body was dropped for others");
  }
}

/** The side of the gate that bodies use. */
export interface BodyGate {
  nowMs(): number;
  take(body: Body, bytes: number): Promise<void> | undefined;
  completed(body: Body): void;
  drop(body: Body): void;
}

/** The first bytes of each body, which are not counted. */
export const freeBytes = 64 * 1024;
/** Bodies up to this size are not counted once they have arrived. */
export const smallBytes = 256 * 1024;
/** A body beyond its share that is slower than this may be dropped. */
export const minBytesPerSecond = 64 * 1024;
const minRateAfterMs = 10_000;
/** Pace is measured over one to two windows. */
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

export class Body implements MemoryPermit {
  /** Bytes held from the account's share. */
  held = 0;
  /** Bytes held beyond it. */
  extra = 0;
  resting = 0;
  /** All bytes that have arrived, uncounted ones included. */
  arrived = 0;
  completedMs = Infinity;
  /** Its entry among the bodies of its account that hold room or wait for it. */
  link: Link<Body> | undefined;
  /** It was beyond, but too slow: from now on it is served from its share. */
  isDemoted = false;
  #wait: Wait | undefined;
  #waitedMs = 0;
  #beyond: Mark | undefined;
  #isOver = false;
  #isLost = false;
  /** The state at the last two checks; time spent waiting for room is subtracted. */
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
    // If it was dropped while waiting, whoever dropped it rejects the wait.
    if (!this.#isOver) wait.resolve();
  }

  goBeyond(nowMs: number): void {
    this.extra += this.wanted;
    this.#beyond = { atMs: nowMs - this.#waitedAt(nowMs), arrived: this.arrived };
  }

  /** Judged by the last seconds; time spent waiting for room doesn't count. */
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
    return ms >= minRateAfterMs &&
      this.arrived - this.#beyond.arrived < minBytesPerSecond * ms / 1000;
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
