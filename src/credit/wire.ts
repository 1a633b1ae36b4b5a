// A separate file, since only the composition root builds a subject with its store.
import type { Database } from "../database/database.ts";
import { createReservations, type ReservationsDeps } from "./reservations.ts";
import { createSpendCaps } from "./spend_cap.ts";
import { createSpend } from "./store/spend.ts";

export function createCredit(
  { database, ...deps }: Omit<ReservationsDeps, "shared"> & { database: Database },
) {
  return {
    reservations: createReservations({ ...deps, shared: database.kind === "postgres" }),
    spendCaps: createSpendCaps({ store: createSpend(database), clock: deps.clock }),
  };
}

/** What calls are paid from: credit, and the caps of keys. */
export type CreditServices = ReturnType<typeof createCredit>;
