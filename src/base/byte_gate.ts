import { type Clock, systemClock } from "./clock.ts";
import {
  Body,
  type BodyGate,
  freeBytes,
  leastBytesPerSecond,
  type MemoryPermit,
  type PermitOwner,
  smallBytes,
} from "./byte_room.ts";
import { type SetTimer, systemSetTimer } from "./deadline.ts";

/**
 * Bounds the bytes of bodies that are in memory at once, by what has arrived, whatever was
 * announced. Nobody can take it all:
 *
 * - An account takes at most as much as a third of what is then still free, which is a quarter of
 *   the whole for one alone and leaves some to whoever comes next, however many came before.
 * - One body at a time may go beyond that. It takes nothing of the others' room, so that a body
 *   larger than any share is served, and two that wait for each other can't be.
 * - Within an account older bodies come first, with what they have yet to bring; a slow one only
 *   with what it has brought.
 */
export interface ByteGate {
  /** A body that begins; nothing is taken yet. Give it back with `release`, whatever happens. */
  open(owner: PermitOwner): MemoryPermit;
  /** Bytes that are in, for measures. */
  readonly inside: number;
}

export interface ByteGateOptions {
  capacityBytes: number;
  /** Told how many bytes were given back at once. */
  released?: (bytes: number) => void;
  clock?: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
}

export function createByteGate(options: ByteGateOptions): ByteGate {
  return new Gate(options);
}

/** What a body is thought to bring that doesn't say. */
const likelyBytes = 4 * 1024 * 1024;
/** Nothing is kept free for bodies that bring less. */
const briskBytesPerSecond = 256 * 1024;
/** A body that was worked on for so long only waits for its vendor, and counts apart. */
const restAfterMs = 3_000;
/** So long nobody has to make way for who waits. */
const makeWayAfterMs = 1_000;
/** Bodies that bring less make way first. */
const silentBytesPerSecond = 16 * 1024;
/** How often it is looked who became slow, while somebody waits. */
const lookMs = 250;

interface Account {
  readonly key: string;
  held: number;
  resting: number;
  /** Those that have taken room, or wait for some, oldest first. */
  readonly bodies: Set<Body>;
}

class Gate implements ByteGate, BodyGate {
  readonly #capacity: number;
  readonly #released: (bytes: number) => void;
  readonly #setTimer: SetTimer;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** In the order in which their turn comes. */
  readonly #accounts = new Map<string, Account>();
  /** Taken from the shares. */
  #held = 0;
  #resting = 0;
  /** The one body that may go beyond its account's share. */
  #beyond: Body | undefined;
  #waiting = 0;
  #cancelLook: (() => void) | undefined;

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

  /** The body's bytes are in its `arrived` already. */
  take(body: Body, bytes: number): Promise<void> | undefined {
    const account = this.#accountOf(body);
    account.bodies.add(body);
    if (this.#beyond === body) {
      body.extra += bytes;
      return undefined;
    }
    const nowMs = this.nowMs();
    let due = 0;
    for (const older of account.bodies) {
      if (older === body) break;
      due += this.#dueOf(older, nowMs);
    }
    if (this.#fits(account, body, due + bytes)) return void this.#hold(account, body, bytes);
    const waited = body.wait(bytes, nowMs);
    this.#waiting++;
    this.#serve();
    this.#startLooking();
    // The place beyond may have been free.
    return body.isWaiting ? waited : undefined;
  }

  completed(body: Body): void {
    // What it was yet to bring was kept free for it.
    if (this.#waiting > 0 && this.#accounts.get(body.owner.key)?.bodies.has(body)) this.#serve();
  }

  /** Its room is free again, and it waits no more. */
  drop(body: Body): void {
    const account = this.#accounts.get(body.owner.key);
    if (!account?.bodies.delete(body)) return;
    const bytes = body.held + body.extra + body.resting;
    account.held -= body.held;
    account.resting -= body.resting;
    this.#held -= body.held;
    this.#resting -= body.resting;
    body.held = body.extra = body.resting = 0;
    if (this.#beyond === body) this.#beyond = undefined;
    if (body.isWaiting) this.left(body);
    if (account.bodies.size === 0) this.#accounts.delete(account.key);
    if (body.arrived > smallBytes) this.#released(bytes);
    this.#serve();
  }

  /** A body that waited does so no more. */
  left(body: Body): void {
    body.admit(this.nowMs());
    if (--this.#waiting > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }

  #accountOf({ owner: { key } }: Body): Account {
    let account = this.#accounts.get(key);
    if (!account) {
      account = { key, held: 0, resting: 0, bodies: new Set() };
      this.#accounts.set(key, account);
    }
    return account;
  }

  /** A third of what is free afterwards, or a quarter of what the others left. */
  #limitOf(account: Account): number {
    return (this.#capacity - this.#held + account.held) / 4;
  }

  #fits(account: Account, body: Body, bytes: number): boolean {
    return !this.#isOutsize(body) && account.held + bytes <= this.#limitOf(account);
  }

  /** No share could ever hold it: it waits for the place beyond, and fills none in vain. */
  #isOutsize({ owner, isDemoted }: Body): boolean {
    return !isDemoted && owner.bytes !== undefined && owner.bytes - freeBytes > this.#capacity / 4;
  }

  /** What an account keeps free for a body that is getting on. */
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

  /** Lets in whoever has room now; accounts take turns, and their bodies come oldest first. */
  #serve(): void {
    if (this.#waiting === 0) return;
    const nowMs = this.nowMs();
    for (const account of [...this.#accounts.values()]) {
      let due = 0;
      let isServed = false;
      for (const body of account.bodies) {
        if (body.isWaiting && this.#fits(account, body, due + body.wanted)) {
          this.#hold(account, body, body.wanted);
          this.left(body);
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
      for (const body of account.bodies) {
        if (!body.isWaiting) continue;
        this.#beyond = body;
        body.goBeyond(nowMs);
        this.left(body);
        this.#toTheEnd(account);
        return;
      }
    }
  }

  #toTheEnd(account: Account): void {
    this.#accounts.delete(account.key);
    this.#accounts.set(account.key, account);
  }

  #startLooking(): void {
    if (this.#waiting > 0) this.#cancelLook ??= this.#setTimer(lookMs, () => this.#look());
  }

  /** Time makes room as well: bodies become slow, or only wait for their vendor any more. */
  #look(): void {
    this.#cancelLook = undefined;
    const nowMs = this.nowMs();
    if (this.#beyond) this.#hurry(this.#beyond, nowMs);
    for (const account of this.#accounts.values()) {
      for (const body of account.bodies) {
        if (nowMs - body.completedMs >= restAfterMs) this.#rest(account, body);
      }
    }
    this.#makeRoom(nowMs);
    this.#serve();
    this.#startLooking();
  }

  /**
   * Slow bodies make way for who waits: those of the account that holds the most for one that has
   * less than an even share, else those of its own. What has arrived of them would stay for as long
   * as their senders like.
   */
  #makeRoom(nowMs: number): void {
    const accounts = [...this.#accounts.values()];
    const even = this.#capacity / (accounts.length + 3);
    for (const account of accounts) {
      const first = [...account.bodies].find((body) => body.isWaiting && !this.#isOutsize(body));
      if (!first || first.waitedMs(nowMs) < makeWayAfterMs) continue;
      const most = accounts.reduce((most, one) => one.held > most.held ? one : most);
      if (account.held + first.wanted > even) {
        dropSlow(account, this.#limitOf(account) - first.wanted, nowMs);
      } else dropSlow(most, even, nowMs);
    }
  }

  /** A slow body goes back into its account's share, always where it took nothing, or makes way. */
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
   * A body at work takes several times its size; one that waits for its vendor takes that no more.
   * There is twice the room for those, a quarter of it for each account, or one body.
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

/** Until the account holds no more than that, or has no slow body left. */
function dropSlow(account: Account, heldBytes: number, nowMs: number): void {
  for (const pace of [silentBytesPerSecond, leastBytesPerSecond]) {
    for (const body of [...account.bodies]) {
      if (account.held <= heldBytes) return;
      const isIdle = !body.isComplete && !body.isWaiting && body.held > 0;
      if (isIdle && body.owner.lost && body.isSlow(nowMs, pace)) body.lose();
    }
  }
}
