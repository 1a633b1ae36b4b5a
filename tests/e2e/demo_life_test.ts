/** What the demo is filled with is what recorded calls would have left. */
import assert from "@std/assert";
import { fillDemo } from "../../demo/life/fill.ts";
import { demoCalls } from "../../demo/life/calls.ts";
import { startSimulators } from "../../demo/simulators.ts";
import type { CohortStore } from "../../src/cohorts/cohort.ts";
import { bundledPrices, createPrices } from "../../src/pricing/table/prices.ts";
import { parseUsd } from "../../src/base/money.ts";
import { shared, simulatedEnvironment, startTestService } from "../support/service.ts";

const demo = shared(async () => {
  const simulators = await startSimulators();
  const env = simulatedEnvironment(simulators);
  let cohorts: CohortStore;
  const service = await startTestService({
    env,
    async onFirstStart(start) {
      cohorts = start.services.cohorts;
      await fillDemo(start);
      // Else its next start would remove it.
      assert.ok(
        !Array.from(Deno.readDirSync(start.services.config.dataDir)).some(({ name }) =>
          name === "filling"
        ),
      );
    },
  });
  const stop = async () => {
    await service.stop();
    await simulators.close();
  };
  return { ...service, cohorts: cohorts!, stop };
});

/** The evaluation's own calls are recorded beside the demo's. */
async function evalIsDone(): Promise<{ name: string }> {
  for (const until = Date.now() + 120_000; Date.now() < until;) {
    const { data } = await (await demo().fetch("/api/v1/evals?limit=5")).json();
    if (data[0].state === "done") return data[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the evaluation goes on");
}

const sumOf = (amounts: Iterable<unknown>) => {
  let sum = 0n;
  for (const amount of amounts) sum += parseUsd(String(amount), 9);
  return sum;
};

Deno.test("sixty days of calls, users, failures and cohorts; sums and ledger agree to the nano-dollar", async () => {
  await evalIsDone();
  const rows = await demo().rows({
    endpoint: "/chat/v1/chat/completions",
    app: [
      ...["shop-assistant", "support", "reports"],
    ],
  });
  const of = (column: string) => new Set(rows.map((row) => row[column]));
  assert.ok(rows.length > 1500, `${rows.length} calls`);
  assert.ok(
    new Set(rows.map((row) => String(row.timestamp ?? row.created_at).slice(0, 10))).size >= 59,
  );
  assert.ok(of("user_id").size > 30 && of("model").size === 5 && of("app").size === 3);
  assert.deepEqual([...of("cohort_id")].sort(), ["prompt-long", "prompt-short", null].sort());
  const failed = rows.filter(({ status }) => status === "failed");
  assert.ok(failed.length > 20 && failed.length < rows.length / 20);
  const all = await demo().rows();
  const charged = sumOf(all.map((row) => row.charged_usd));
  assert.ok(charged > 1_000_000_000n, "more than a dollar");
  const shown = (await demo().admin("credits", "show")).json as { balance_usd: string };
  assert.equal(parseUsd(shown.balance_usd, 9), 110_000_000_000n - charged);
  const from = new Date(Date.now() - 70 * 86_400_000).toISOString().slice(0, 10);
  const until = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const usage = await demo().fetch(
    `/api/v1/usage?start_date=${from}&end_date=${until}&group_by=app`,
  );
  const { data } = await usage.json() as { data: { charged_usd: string; calls: number }[] };
  assert.equal(usage.status, 200);
  assert.equal(sumOf(data.map((one) => one.charged_usd)), charged);
  assert.equal(data.reduce((sum, { calls }) => sum + calls, 0), all.length);
});

Deno.test("one call of the demo is explained by its price, a cohort has outcomes, an eval was made", async () => {
  assert.equal((await evalIsDone()).name, "A cheaper model for support");
  const cohort = await (await demo().fetch("/api/v1/cohort/prompt-short")).json();
  assert.ok(JSON.stringify(cohort).includes("orders"));
  assert.ok(cohort.interactions > cohort.completed);
  assert.equal(cohort.unknown_cost_interactions, 0, "calls that failed cost nothing");
  for (const days of [1, 3, 7]) {
    const since = new Date(Date.now() - days * 86_400_000);
    const [latest] = await demo().cohorts.readLatest(1, ["prompt-short"], { since, most: 1_000 });
    const { completed, outcomes } = latest!.sums;
    const orders = outcomes.find(({ type }) => type === "orders")?.count ?? 0n;
    assert.ok(orders <= completed, `${orders} orders of ${completed} calls in ${days} days`);
    assert.ok(orders > 0n || days < 7);
  }
  const [row] = await demo().rows({ app: "reports", status: "completed" });
  const whole = await (await demo().fetch(`/api/v1/interactions/${row!.transaction_id}`)).json();
  const lines = whole.lines as { cost_usd: string }[];
  assert.equal(sumOf(lines.map((line) => line.cost_usd)), sumOf([row!.cost_usd]));
});

Deno.test("the calls are the same each time, in order, and none is of tomorrow", () => {
  const prices = createPrices({ bundled: bundledPrices(), familyOf: (label) => ({ label }) });
  const deps = {
    ...{ accountId: 1, apiKeyId: "k", now: new Date("2026-11-23T12:00:00Z") },
    priceOf: (vendor: string, model: string, at: Date) => prices.find(vendor, model, at),
  };
  const calls = [...demoCalls(deps)];
  const shape = (list: typeof calls) =>
    list.map(({ model, costNanos, userId }) => [model, costNanos, userId]);
  assert.deepEqual(shape(calls), shape([...demoCalls(deps)]));
  assert.ok(calls.every(({ createdAt }) => createdAt <= deps.now));
  assert.ok(calls.every(({ status, costNanos }) => (status === "completed") === (costNanos! > 0n)));
  assert.ok(calls.every(({ costNanos }) => costNanos !== null), "what failed costs nothing");
});
