// A separate file, since only the composition root builds a subject with its store.
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { Ledger } from "./ledger.ts";
import { createReservations } from "./reservations.ts";
import { createSpendCaps } from "./spend_cap.ts";
import { createSpend } from "./store/spend.ts";

export function createCredit({ database, ledger, processId, leaseSeconds, clock, log, newId }: {
  database: Database;
  ledger: Ledger;
  /** Identifies this process's leases across restarts. */
  processId: string;
  leaseSeconds: number;
  clock: Clock;
  log: Log;
  newId: () => string;
}) {
  const shared = database.kind === "postgres";
  return {
    reservations: createReservations({
      ...{ ledger, clock, log, newId, processId, leaseSeconds, shared },
    }),
    spendCaps: createSpendCaps({ store: createSpend(database), clock }),
  };
}

/** What calls are paid from: credit, and the caps of keys. */
export type CreditServices = ReturnType<typeof createCredit>;
