import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { startService } from "../support/process.ts";
import {
  asked,
  chatBody,
  chatPath,
  flatPrices,
  type Outcome,
  outcomeOf,
  postgresSite,
  type Site,
  startPayingVendor,
} from "../support/money.ts";
import { untilAdmitted } from "../support/until_admitted.ts";

/** What a budget's command answers; amounts as in the public JSON. */
interface Shown {
  id: string;
  on: string;
  limit_usd: string;
  spent_usd: string;
}

async function admin<T>(site: Site, ...args: string[]): Promise<T> {
  const { code, stdout } = await runAdminHere({ args: [...args, "--json"], env: site.env });
  assert.equal(code, 0, stdout);
  return JSON.parse(stdout) as T;
}

async function atOnce(at: ReturnType<typeof asked>, count: number, text?: string) {
  return await Promise.all(
    Array.from(
      { length: count },
      () => untilAdmitted(() => at.post(chatPath, chatBody(text))).then(outcomeOf),
    ),
  );
}

/** How many were answered; all others were refused for the budget. */
function answered(outcomes: readonly Outcome[]): number {
  for (const { status, code, type, message } of outcomes) {
    if (status === 200) continue;
    assert.deepEqual([status, type, code], [402, "billing_error", "spend_cap_exceeded"], message);
    assert.match(message!, /^The budget on account per month of 0\.370000000 USD does not cover/);
  }
  return outcomes.filter(({ status }) => status === 200).length;
}

/** Until the condition holds; what is held idle goes back in about six seconds. */
async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (let attempt = 0;; attempt++) {
    const value = await read();
    if (holds(value)) return value;
    assert.ok(attempt < 240, `never came: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

postgresSite(
  "two processes never answer more than the budget, and exactly that in the end, a kill between",
  async (site) => {
    await using vendor = await startPayingVendor();
    const settings = {
      ...vendor.env,
      PRICES_FILE: await flatPrices("0.01"),
      LEASE_SECONDS: "5",
    };
    const first = await startService({ env: { ...site.env, ...settings } });
    const others = site.another();
    // Its cap has room for all calls, and is held and charged beside the budget.
    const made = ["key", "create", "--name", "capped", "--cap-month-usd", "5"] as const;
    const { key } = await admin<{ key: string }>(site, ...made);
    const one = asked(first, key);
    const before = answered(await atOnce(one, 3));
    await one.rows();
    const set = await admin<Shown>(
      ...[site, "budget", "set", "--on", "account", "--per", "month", "--usd", "0.37"] as const,
    );
    assert.deepEqual(
      [set.on, set.spent_usd],
      ["account", "0.030000000"],
      "what was charged before",
    );
    // Another process has set it; the first has learned of both budgets once it refuses a probe.
    await admin(site, "budget", "set", "--on", "user:probe", "--per", "day", "--usd", "0");
    let paid = before;
    await until(async () => {
      const probe = await one.post(chatPath, chatBody("Hi", { user: "probe" })).then(outcomeOf);
      if (probe.status === 200) paid++;
      return probe;
    }, ({ message = "" }) => message.startsWith("The budget on user:probe per day of 0.000000000"));
    const second = await startService({ env: { ...others, ...settings } });
    const two = asked(second, key);
    paid += answered((await Promise.all([atOnce(one, 100), atOnce(two, 100)])).flat());
    assert.ok(paid <= 37, `${paid}`);
    // One dies while calls run that hold what is left of the budget.
    const held = atOnce(two, 3, "[hold]").catch(() => []);
    second.kill("SIGKILL");
    await second.status;
    await held;
    vendor.release();
    const again = await startService({ env: { ...others, ...settings } });
    await until(async () => {
      const results = (await Promise.all([atOnce(one, 5), atOnce(asked(again, key), 5)])).flat();
      paid += answered(results);
      await one.rows();
      await asked(again, key).rows();
      const [budget] = await admin<Shown[]>(site, "budget", "list");
      assert.ok(Number(budget!.spent_usd) <= 0.37, budget!.spent_usd);
      return budget!.spent_usd;
    }, (spent) => spent === "0.370000000");
    assert.equal(answered(await atOnce(one, 20)), 0);
    // What the dead process's calls were charged counts, and nothing was charged beside the budget.
    const rows = await one.rows();
    const charged = rows.reduce((sum, row) => sum + Math.round(Number(row.charged_usd) * 100), 0);
    assert.equal(charged, 37);
    console.log(`${paid} answers and ${charged} cents`);
    for (const service of [first, again]) assert.equal(await service.stop(), 0);
    const [left] = await site.query((database) =>
      database.query(
        `select (select sum(leased_nanos)::bigint from budget_periods) as budgets,
           (select coalesce(sum(amount_nanos), 0)::bigint from key_leases) as caps,
           (select sum(charged_nanos)::bigint from key_spend) as spent`,
        [],
      )
    );
    assert.deepEqual(left, { budgets: 0n, caps: 0n, spent: 370_000_000n }, "nothing is leased");
  },
);
