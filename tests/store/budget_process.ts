import assert from "@std/assert";
import { commandLine } from "../../src/audit/audit.ts";
import { FakeClock } from "../../src/base/clock.ts";
import { createUuidv7 } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import { chargedInScope, readBudgetScope } from "../../src/budgets/budget.ts";
import { createBudgets } from "../../src/budgets/wire.ts";
import type { LimitHold } from "../../src/credit/limited_balances.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { interaction } from "./samples.ts";

/** When the processes of these tests begin. */
export const noon = new Date("2026-11-21T12:00:00Z");

export interface AtCall {
  accountId: number;
  app?: string;
  userId?: string;
  nanos: bigint;
  at?: Date;
}

/** One process: its budgets, and the calls that it records. */
export async function budgetProcess(
  database: Database,
  clock = new FakeClock(noon),
  processId = "one",
) {
  const newId = createUuidv7(clock);
  const records = createRecords(database);
  const services = createBudgets({
    ...{ database, processId, leaseSeconds: 150, clock, newId },
    log: createLog(() => {}, clock.now),
    chargedSince: chargedInScope(createAnalyticsStore(database)),
  });
  await services.budgetCache.refresh();
  const { budgets, budgetHolds } = services;
  const caller = ({ accountId, app, userId }: AtCall) => ({
    ...{ accountId, app: app ?? null, userId: userId ?? null },
  });
  const begin = (call: AtCall) =>
    budgetHolds.reserve(caller(call), {
      upperBoundNanos: call.nanos,
      at: call.at ?? clock.now(),
    });
  /** The call ends and is recorded, as often as is asked. */
  const end = async (call: AtCall, hold: LimitHold, charged = call.nanos, times = 1) => {
    hold.settle(charged);
    const row: SettledCall = {
      ...interaction(call.accountId, newId(), {
        ...{ app: call.app ?? null, userId: call.userId ?? null, chargedNanos: charged },
        createdAt: call.at ?? clock.now(),
      }),
      limitLeaseIds: hold.leaseIds,
    };
    for (let time = 0; time < times; time++) await records.insert([row]);
    return row;
  };
  return {
    ...{ ...services, clock, begin, end },
    call: async (call: AtCall) => await end(call, await begin(call)),
    set: (accountId: number, on: string, per: "day" | "month", limitNanos: bigint) =>
      budgets.set(
        { accountId, scope: readBudgetScope(on), per, limitNanos, raised: null },
        commandLine,
      ),
    spent: async () => (await budgets.list()).map(({ spentNanos }) => spentNanos),
    held: async () =>
      (await database.query("select leased_nanos as n from budget_periods order by n desc", []))
        .map(({ n }) => n),
  };
}

export function isOverBudget(pattern: RegExp) {
  return (thrown: unknown) =>
    thrown instanceof Fault && thrown.code === "spend_cap_exceeded" && pattern.test(thrown.message);
}

/** How many of 200 calls at once are let through, spread over these processes. */
export async function burstOf(
  processes: readonly Awaited<ReturnType<typeof budgetProcess>>[],
  call: AtCall,
) {
  const holds = await Promise.all(
    Array.from({ length: 200 }, (_, one) =>
      processes[one % processes.length]!.begin(call).then(
        (hold) => ({ hold, by: processes[one % processes.length]! }),
        (thrown) => {
          assert.ok(isOverBudget(/^The budget on /)(thrown), `${thrown}`);
          return undefined;
        },
      )),
  );
  return holds.filter((one) => one !== undefined);
}
