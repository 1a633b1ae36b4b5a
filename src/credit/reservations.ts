import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { nanosToUsd } from "../base/money.ts";
import type { Reservation } from "./account_lease.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { inFlightHint, LeasedBalances, type Shortage } from "./leased_balances.ts";
import type { Credit, Ledger } from "./ledger.ts";

export type { Reservation } from "./account_lease.ts";

/**
 * Admits calls against their accounts' credit. As long as the lease has room, that happens in
 * memory; leases are taken ahead, so that few calls wait for the store.
 */
export interface Reservations {
  /**
   * Reserves the most that a call can cost. Throws `insufficient_credits` when the balance doesn't
   * cover it, `store_unavailable` when the lease doesn't and the store is unreachable.
   */
  reserve(accountId: number, boundNanos: bigint): Promise<Reservation>;
  /** Returns the account's credit, with this process's calls under way as they are now. */
  show(accountId: number): Promise<Credit>;
  /** Gives back at once the credit that no call has reserved, since the balance has shrunk. */
  recall(accountId: number): void;
  /** Renews leases and gives back idle credit; to be called about every second. */
  tick(): Promise<void>;
  /** Gives back all free credit. Calls under way may still settle. */
  close(): Promise<void>;
}

export interface ReservationsDeps {
  ledger: Ledger;
  clock: Clock;
  log: Log;
  newId: () => string;
  /** Identifies this process's leases across restarts (`DATA_DIR`). */
  processId: string;
  leaseSeconds: number;
  /** Whether other processes lease from the same balances. */
  shared: boolean;
}

export function createReservations(deps: ReservationsDeps): Reservations {
  const { ledger, log, processId } = deps;
  const balances = new LeasedBalances<number>({
    ...{ ...deps, store: ledger },
    refusal: (_accountId, shortage) => insufficient(shortage),
    onFailure: (account, thrown) =>
      log.error("credit could not be leased or returned", {
        account,
        reason: messageOf(thrown),
      }),
  });
  return {
    reserve: (accountId, boundNanos) => balances.reserve(accountId, boundNanos),
    async show(accountId) {
      const others = await ledger.show(accountId, processId);
      const reservedNanos = others.reservedNanos + balances.inFlightNanos(accountId);
      return { ...others, reservedNanos };
    },
    recall: (accountId) => balances.recall(accountId),
    tick: () => balances.tick(),
    close: () => balances.close(),
  };
}

function insufficient(shortage: Shortage): Fault {
  return new Fault("insufficient_credits", {
    message: `The credit balance does not cover this call: it needs up to ${
      nanosToUsd(shortage.neededNanos)
    } USD, and ${
      nanosToUsd(shortage.leftNanos)
    } USD is left. Grant credit, set a lower output limit, or use a key made with --expected-output-tokens, which holds less.${
      inFlightHint(shortage)
    }`,
  });
}
