import type { Reservation } from "./account_lease.ts";
import { LeasedBalances, type LeasedBalancesDeps } from "./leased_balances.ts";

/** What one call holds under limits. Only the first `settle` counts. */
export interface LimitHold {
  /** The leases that the charge comes out of. */
  readonly leaseIds: readonly string[];
  settle(chargedNanos: bigint): void;
}

/** A day or month of a limit: what is left of it is leased like a balance. */
export interface LimitedBalance {
  readonly id: string;
  readonly limitNanos: bigint;
}

const nothingHeld: LimitHold = { leaseIds: [], settle() {} };

/** Leased balances whose limits may change. */
export class LimitedBalances {
  readonly #balances: LeasedBalances<string>;
  /** Balance → the limit under which this process leased last. */
  readonly #limits = new Map<string, bigint>();

  constructor(deps: LeasedBalancesDeps<string>) {
    this.#balances = new LeasedBalances(deps);
  }

  /** The balances with their limits as last noted. */
  limits(): readonly LimitedBalance[] {
    return [...this.#limits].map(([id, limitNanos]) => ({ id, limitNanos }));
  }

  limitOf(id: string): bigint | undefined {
    return this.#limits.get(id);
  }

  /** Holds the amount under all limits, or under none when one of them refuses it. */
  async reserve(limits: readonly LimitedBalance[], boundNanos: bigint): Promise<LimitHold> {
    if (limits.length === 0) return nothingHeld;
    const held: Reservation[] = [];
    const settle = (chargedNanos: bigint) => held.forEach((one) => one.settle(chargedNanos));
    try {
      // One after the other: a call that the first refuses takes nothing out of the others.
      for (const limit of limits) {
        this.note(limit);
        held.push(await this.#balances.reserve(limit.id, boundNanos));
      }
    } catch (thrown) {
      settle(0n);
      throw thrown;
    }
    return { leaseIds: held.flatMap(({ leaseId }) => leaseId ?? []), settle };
  }

  /** Gives back what was leased under a higher limit, before anything more is reserved. */
  note({ id, limitNanos }: LimitedBalance): void {
    const before = this.#limits.get(id);
    this.#limits.set(id, limitNanos);
    if (before !== undefined && limitNanos < before) this.#balances.recall(id);
  }

  /** Renews leases and gives back what is idle; to be called every second. */
  async tick(): Promise<void> {
    await this.#balances.tick();
    const used = new Set(this.#balances.ids());
    for (const id of this.#limits.keys()) if (!used.has(id)) this.#limits.delete(id);
  }

  close(): Promise<void> {
    return this.#balances.close();
  }
}
