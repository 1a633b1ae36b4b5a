import { FakeClock } from "../../src/base/clock.ts";
import { createUuidv7 } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import type { LimitHold } from "../../src/credit/limited_balances.ts";
import { type CappedKey, createSpendCaps } from "../../src/credit/spend_cap.ts";
import { createKeyLeases } from "../../src/credit/store/key_leases.ts";
import { insertKeyCharges } from "../../src/credit/store/spend.ts";
import type { Database } from "../../src/database/database.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { interaction, newAccount } from "./samples.ts";

/** A call of a capped key that has been let through. */
interface CappedCall {
  readonly key: CappedKey;
  readonly hold: LimitHold;
  readonly at: Date;
  readonly transactionId: string;
}

/** One process: the caps that it holds, and the charges that it writes. */
export function capProcess(
  database: Database,
  clock = new FakeClock(new Date("2026-11-21T12:00:00Z")),
  processId = "one",
) {
  const newId = createUuidv7(clock);
  const leases = createKeyLeases(database);
  const caps = createSpendCaps({
    ...{ store: leases, clock, processId, newId, leaseSeconds: 150 },
    log: createLog(() => {}, clock.now),
    shared: database.kind === "postgres",
  });
  return {
    ...{ caps, clock, leases },
    async begin(key: CappedKey, upperBoundNanos: bigint, at = clock.now()): Promise<CappedCall> {
      const hold = await caps.reserve(key, { upperBoundNanos, at });
      return { key, hold, at, transactionId: newId() };
    },
    /** The call ends, and its charge is written, as often as is asked. */
    async end(call: CappedCall, chargedNanos: bigint, times = 1) {
      const { key, hold, at: createdAt, transactionId } = call;
      hold.settle(chargedNanos);
      const row = {
        ...interaction(1, transactionId, { apiKeyId: key.id, createdAt, chargedNanos }),
        ...{ leaseIds: hold.leaseIds, fromLeaseNanos: chargedNanos },
      };
      for (let time = 0; time < times; time++) {
        await database.transaction((tx) => insertKeyCharges(tx, [row]));
      }
    },
  };
}

export async function newCappedKey(
  database: Database,
  id: string,
  capDayNanos: bigint | null,
  capMonthNanos: bigint | null = null,
) {
  const accountId = await newAccount(database, `account of ${id}`);
  return await createApiKeys(database).insert({
    ...{ id, accountId, name: id, prefix: "dmt_abcd", hash: `hash of ${id}` },
    ...{ scopes: [], models: [], onDisconnect: "cancel", translationMode: "default" },
    ...{ capDayNanos, capMonthNanos, expiresAt: null },
  });
}
