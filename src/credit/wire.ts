// A separate file, since only the composition root builds a subject with its store.
import type { Database } from "../database/database.ts";
import { createReservations, type ReservationsDeps } from "./reservations.ts";
import { createSpendCaps } from "./spend_cap.ts";
import { createKeyLeases } from "./store/key_leases.ts";

export function createCredit(
  { database, ...deps }: Omit<ReservationsDeps, "shared"> & { database: Database },
) {
  const shared = database.kind === "postgres";
  const keyLeases = createKeyLeases(database);
  return {
    reservations: createReservations({ ...deps, shared }),
    spendCaps: createSpendCaps({ ...deps, shared, store: keyLeases }),
    /** Gives back what a process held of caps before it was restarted. */
    takeBackCaps: async (id: string) => void await keyLeases.takeBack(id),
    /** Gives back what dead processes held of caps. */
    sweepKeyLeases: async () => void await keyLeases.sweepExpired(),
  };
}

/** What calls are paid from: credit, and the caps of keys. */
export type CreditServices = ReturnType<typeof createCredit>;
