import { type Clock, systemClock } from "./clock.ts";
import {
  Body,
  type BodyGate,
  freeBytes,
  type MemoryPermit,
  minBytesPerSecond,
  type PermitOwner,
  smallBytes,
} from "./byte_room.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";
import { LinkedSet } from "./linked_set.ts";

/**
 * A weighted semaphore over the bytes of bodies in memory, fair between accounts. It counts bytes
 * that have arrived, not announced ones. No account can take all of it:
 *
 * - An account may hold a third of what then remains free: a quarter of the capacity if it is
 *   alone. So the next account always finds some room.
 * - One body at a time may exceed its account's share (it is *beyond*), without taking the others'
 *   room. So a body larger than any share is served, and two bodies can't deadlock.
 * - Within an account older bodies go first, including the bytes they have yet to send; of a slow
 *   one only the bytes that have arrived count.
 */
export interface ByteGate {
  /** Opens the permit of a new body; it holds nothing yet. Always call its `release`. */
  open(owner: PermitOwner): MemoryPermit;
  /** Bytes held, for metrics. */
  readonly inside: number;
}

export interface ByteGateOptions {
  capacityBytes: number;
  /** Called with the number of bytes that a body released. */
  released?: (bytes: number) => void;
  clock?: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
}

export function createByteGate(options: ByteGateOptions): ByteGate {
  return new Gate(options);
}

/** Assumed size of a body without `Content-Length`. */
const likelyBytes = 4 * 1024 * 1024;
/** For bodies slower than this no room is reserved. */
const briskBytesPerSecond = 256 * 1024;
/** This long after its arrival a body is assumed to wait for its vendor, and is counted separately. */
const restAfterMs = 3_000;
/** Slow bodies are dropped for a waiter only after it has waited this long. */
const makeWayAfterMs = 1_000;
/** Bodies slower than this are dropped first. */
const silentBytesPerSecond = 16 * 1024;
/** How often bodies are checked for being slow while others wait. */
const checkMs = 250;

interface Account {
  readonly key: string;
  held: number;
  resting: number;
  /** Bodies that hold room or wait for it, oldest first. */
  readonly bodies: LinkedSet<Body>;
}

class Gate implements ByteGate, BodyGate {
  readonly #capacity: number;
  readonly #released: (bytes: number) => void;
  readonly #setTimer: SetTimer;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** In round-robin order. */
  readonly #accounts = new Map<string, Account>();
  /** Bytes held from the accounts' shares. */
  #held = 0;
  #resting = 0;
  /** The one body that may exceed its account's share. */
  #beyond: Body | undefined;
  #waiting = 0;
  #cancelCheck: (() => void) | undefined;

  constructor(options: ByteGateOptions) {
    this.#capacity = options.capacityBytes;
    this.#released = options.released ?? (() => {});
    this.#setTimer = options.setTimer ?? systemSetTimer;
    this.#clock = options.clock ?? systemClock;
  }

  get inside(): number {
    return this.#held + this.#resting + (this.#beyond?.extra ?? 0);
  }

  open(owner: PermitOwner): MemoryPermit {
    return new Body(owner, this);
  }

  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /** `body.arrived` already includes these bytes. */
  take(body: Body, bytes: number): Promise<void> | undefined {
    const account = this.#accountOf(body);
    body.link ??= account.bodies.add(body);
    if (this.#beyond === body) {
      body.extra += bytes;
      return undefined;
    }
    const nowMs = this.nowMs();
    let due = 0;
    for (let older = body.link.previous; older !== undefined; older = older.previous) {
      due += this.#dueOf(older.value, nowMs);
    }
    if (this.#fits(account, body, due + bytes)) return void this.#hold(account, body, bytes);
    const waited = body.wait(bytes, nowMs);
    this.#waiting++;
    this.#serve();
    this.#startChecking();
    // `#serve` may have made it the body beyond.
    return body.isWaiting ? waited : undefined;
  }

  completed(body: Body): void {
    // The room reserved for its rest is free now.
    if (this.#waiting > 0 && body.link !== undefined) this.#serve();
  }

  /** Frees its room, and ends its wait. */
  drop(body: Body): void {
    const account = this.#accounts.get(body.owner.key);
    if (account === undefined || body.link === undefined) return;
    account.bodies.delete(body.link);
    body.link = undefined;
    const bytes = body.held + body.extra + body.resting;
    account.held -= body.held;
    account.resting -= body.resting;
    this.#held -= body.held;
    this.#resting -= body.resting;
    body.held = body.extra = body.resting = 0;
    if (this.#beyond === body) this.#beyond = undefined;
    if (body.isWaiting) this.endWait(body);
    if (account.bodies.size === 0) this.#accounts.delete(account.key);
    if (body.arrived > smallBytes) this.#released(bytes);
    this.#serve();
  }

  /** Ends the wait of a body. */
  endWait(body: Body): void {
    body.admit(this.nowMs());
    if (--this.#waiting > 0) return;
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  #accountOf({ owner: { key } }: Body): Account {
    let account = this.#accounts.get(key);
    if (!account) {
      account = { key, held: 0, resting: 0, bodies: new LinkedSet() };
      this.#accounts.set(key, account);
    }
    return account;
  }

  #limitOf(account: Account): number {
    return accountShare(this.#capacity, this.#held, account.held);
  }

  #fits(account: Account, body: Body, bytes: number): boolean {
    return !this.#isOutsize(body) && account.held + bytes <= this.#limitOf(account);
  }

  /**
   * Whether no share could ever hold the body. Such a body waits to become the one beyond, and
   * takes nothing from its account's share.
   */
  #isOutsize({ owner, isDemoted }: Body): boolean {
    return !isDemoted && owner.bytes !== undefined && owner.bytes - freeBytes > this.#capacity / 4;
  }

  /** Bytes that are reserved for the rest of a body that arrives fast enough. */
  #dueOf(body: Body, nowMs: number): number {
    if (body.isComplete || this.#beyond === body || this.#isOutsize(body)) return 0;
    if (body.isSlow(nowMs, briskBytesPerSecond)) return 0;
    return Math.max(0, (body.owner.bytes ?? likelyBytes) - body.arrived);
  }

  #hold(account: Account, body: Body, bytes: number): void {
    body.held += bytes;
    account.held += bytes;
    this.#held += bytes;
  }

  /** Admits waiting bodies that fit: accounts in turn, their bodies oldest first. */
  #serve(): void {
    if (this.#waiting === 0) return;
    const nowMs = this.nowMs();
    for (const account of [...this.#accounts.values()]) {
      let due = 0;
      let isServed = false;
      for (const body of account.bodies.values()) {
        if (body.isWaiting && this.#fits(account, body, due + body.wanted)) {
          this.#hold(account, body, body.wanted);
          this.endWait(body);
          isServed = true;
        }
        due += this.#dueOf(body, nowMs);
      }
      if (isServed) this.#toTheEnd(account);
    }
    this.#serveBeyond(nowMs);
  }

  #serveBeyond(nowMs: number): void {
    if (this.#beyond || this.#waiting === 0) return;
    for (const account of this.#accounts.values()) {
      for (const body of account.bodies.values()) {
        if (!body.isWaiting) continue;
        this.#beyond = body;
        body.goBeyond(nowMs);
        this.endWait(body);
        this.#toTheEnd(account);
        return;
      }
    }
  }

  #toTheEnd(account: Account): void {
    this.#accounts.delete(account.key);
    this.#accounts.set(account.key, account);
  }

  #startChecking(): void {
    if (this.#waiting > 0) this.#cancelCheck ??= this.#setTimer(checkMs, () => this.#checkBodies());
  }

  /**
   * Runs while bodies wait, since room becomes free with time too: bodies turn out to be slow, or
   * have arrived and only wait for their vendor.
   */
  #checkBodies(): void {
    this.#cancelCheck = undefined;
    const nowMs = this.nowMs();
    if (this.#beyond) this.#hurry(this.#beyond, nowMs);
    for (const account of this.#accounts.values()) {
      for (const body of account.bodies.values()) {
        if (nowMs - body.completedMs >= restAfterMs) this.#rest(account, body);
      }
    }
    this.#makeRoom(nowMs);
    this.#serve();
    this.#startChecking();
  }

  /**
   * Drops slow bodies for waiting ones: those of the account that holds most if the waiter's account
   * has less than an even share, else those of its own. Their senders could otherwise hold the room
   * for as long as they like.
   */
  #makeRoom(nowMs: number): void {
    const accounts = [...this.#accounts.values()];
    const even = this.#capacity / (accounts.length + 3);
    for (const account of accounts) {
      const first = account.bodies.values().find((body) =>
        body.isWaiting && !this.#isOutsize(body)
      );
      if (!first || first.waitedMs(nowMs) < makeWayAfterMs) continue;
      const most = accounts.reduce((most, one) => one.held > most.held ? one : most);
      if (account.held + first.wanted > even) {
        dropSlow(account, this.#limitOf(account) - first.wanted, nowMs);
      } else dropSlow(most, even, nowMs);
    }
  }

  /** A slow body beyond returns to its account's share if it fits, or is dropped. */
  #hurry(body: Body, nowMs: number): void {
    if (body.isComplete || !body.isSlow(nowMs, briskBytesPerSecond)) return;
    const account = this.#accountOf(body);
    const { extra } = body;
    if (extra === 0 || account.held + extra <= this.#limitOf(account)) {
      body.isDemoted = true;
      body.extra = 0;
      this.#beyond = undefined;
      this.#hold(account, body, extra);
    } else if (body.owner.lost && body.isTooSlowBeyond(nowMs)) {
      body.lose();
    }
  }

  /**
   * Processing a body takes several times its size; waiting for its vendor doesn't. Waiting bodies
   * have twice the capacity, of which an account may use a quarter, or one body.
   */
  #rest(account: Account, body: Body): void {
    const bytes = body.held + body.extra;
    const isFirst = account.resting === 0;
    if (bytes === 0 || this.#resting + bytes > 2 * this.#capacity) return;
    if (!isFirst && account.resting + bytes > this.#capacity / 2) return;
    account.held -= body.held;
    this.#held -= body.held;
    if (this.#beyond === body) this.#beyond = undefined;
    body.held = body.extra = 0;
    body.resting += bytes;
    account.resting += bytes;
    this.#resting += bytes;
  }
}

/**
 * Returns how much an account may hold: a quarter of what the others left, which is a third of what
 * then remains free.
 */
export function accountShare(capacity: number, allHeld: number, ownHeld: number): number {
  return (capacity - allHeld + ownHeld) / 4;
}

/** Drops slow bodies until the account holds at most `heldBytes`, or has none left. */
function dropSlow(account: Account, heldBytes: number, nowMs: number): void {
  for (const pace of [silentBytesPerSecond, minBytesPerSecond]) {
    for (const body of account.bodies.values()) {
      if (account.held <= heldBytes) return;
      const isIdle = !body.isComplete && !body.isWaiting && body.held > 0;
      if (isIdle && body.owner.lost && body.isSlow(nowMs, pace)) body.lose();
    }
  }
}
