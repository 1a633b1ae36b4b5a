import assert from "@std/assert";
import { contracts } from "../../../contracts/mod.ts";
import { noUsage, type UsageQuery } from "../../usage/usage_sums.ts";
import { usageRoutes } from "./usage.ts";

const noSums = { ...noUsage, calls: 1n, failed: 0n };

/** Asks an endpoint of usage at a time; these nano-dollars were charged on these days. */
async function ask<Answer>(
  contract: unknown,
  { at, charged, query = {} }: {
    at: string;
    charged: Readonly<Record<string, bigint>>;
    query?: Record<string, unknown>;
  },
): Promise<Answer> {
  const days = (span: UsageQuery) =>
    Object.entries(charged).filter(([day]) => {
      const start = new Date(day);
      return start >= span.from && start < span.to;
    });
  const deps = {
    flushRecords: () => Promise.resolve(),
    credit: () => Promise.resolve({ balanceNanos: -2n, reservedNanos: 1n }),
    clock: { now: () => new Date(at) },
    usage: {
      steps: (span: UsageQuery) =>
        days(span).map(([day, chargedNanos]) => ({ ...noUsage, at: new Date(day), chargedNanos })),
      groups: (span: UsageQuery) =>
        days(span).map(([day, costNanos]) => ({
          ...{ ...noSums, value: "", day, erased: false, costNanos, chargedNanos: costNanos },
        })),
    },
  };
  const handlers = new Map<unknown, (input: unknown) => Promise<Answer>>();
  const app = { bind: (to: unknown, handle: never) => handlers.set(to, handle) };
  usageRoutes(app as never, deps as never);
  const caller = { principal: { account: { id: 1 } } };
  return await handlers.get(contract)!({ caller, query, header: () => undefined });
}

const charged = {
  "2026-10-31": 11n,
  "2026-11-01": 7n,
  "2026-11-30": 5n,
  "2026-12-01": 3n,
};

Deno.test("what was charged today and this month are UTC's day and calendar month", async () => {
  const sums: [at: string, today: string, month: string][] = [
    ["2026-11-01T00:00:00.000Z", "0.000000007", "0.000000007"],
    ["2026-11-15T12:00:00.000Z", "0.000000000", "0.000000007"],
    ["2026-11-30T23:59:59.999Z", "0.000000005", "0.000000012"],
    ["2026-12-01T00:00:00.000Z", "0.000000003", "0.000000003"],
  ];
  for (const [at, today, month] of sums) {
    assert.deepEqual(await ask(contracts.getCredits, { at, charged }), {
      balance_usd: "-0.000000002",
      reserved_usd: "0.000000001",
      charged_today_usd: today,
      charged_month_usd: month,
    });
  }
});

Deno.test("usage by day has the costliest days, in their order, and the sums of all", async () => {
  type Answer = { data: { day: string }[]; total: { cost_usd: string }; omitted: number };
  const { data, total, omitted } = await ask<Answer>(contracts.getUsage, {
    ...{ at: "2026-12-01T12:00:00Z", query: { group_by: "day", limit: 3 } },
    charged: { ...charged, "2026-11-29": 9n },
  });
  assert.deepEqual(data.map(({ day }) => day), ["2026-10-31", "2026-11-01", "2026-11-29"]);
  assert.deepEqual([total.cost_usd, omitted], ["0.000000035", 2]);
});
