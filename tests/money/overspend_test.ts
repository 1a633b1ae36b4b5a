import assert from "@std/assert";
import { isDeepStrictEqual } from "node:util";
import { runAdminHere } from "../support/admin.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { startService } from "../support/process.ts";
import {
  asked,
  chatBody,
  chatPath,
  eachSite,
  flatPrices,
  type Outcome,
  outcomeOf,
  postgresSite,
  type Site,
  soundBalance,
  startPayingVendor,
} from "../support/money.ts";
import { untilAdmitted } from "../support/until_admitted.ts";

type Service = Parameters<typeof asked>[0];

/** Calls at once that cost a cent each. */
async function atOnce(service: Service, key: string, count: number): Promise<Outcome[]> {
  return await Promise.all(
    Array.from(
      { length: count },
      () => untilAdmitted(() => asked(service, key).post(chatPath, chatBody())).then(outcomeOf),
    ),
  );
}

function admitted(outcomes: readonly Outcome[]): number {
  for (const { status, code, type, message } of outcomes) {
    if (status === 200) continue;
    assert.deepEqual([status, type, code], [402, "billing_error", "insufficient_credits"]);
    assert.match(
      message!,
      /needs up to 0\.010000000 USD, and 0\.00\d{7} USD is left\. Grant credit, set a lower output limit/,
    );
  }
  return outcomes.filter(({ status }) => status === 200).length;
}

async function shown(site: Site): Promise<unknown> {
  const args = ["credits", "show", "--json"];
  const { code, stdout } = await runAdminHere({ args, env: site.env });
  assert.equal(code, 0);
  return JSON.parse(stdout);
}

eachSite(
  "of 200 calls at once on a balance for 37 exactly 37 are answered, and the sum is right",
  async (site) => {
    await using vendor = await startPayingVendor();
    const settings = {
      ...vendor.env,
      PRICES_FILE: await flatPrices("0.01"),
      STARTING_CREDIT_USD: "0.37",
    };
    await using service = await startService({ env: { ...site.env, ...settings } });
    const outcomes = await atOnce(service, service.firstKey, 200);
    assert.equal(admitted(outcomes), 37);
    assert.equal(outcomes.filter(({ status }) => status === 402).length, 163);
    assert.equal(vendor.calls, 37, "who is refused reaches no vendor");
    // An export drains what waits, and refused calls are no interactions.
    const rows = await asked(service, service.firstKey).rows();
    assert.deepEqual(rows.map((row) => row.charged_usd), Array(37).fill("0.010000000"));
    // What is under way in another process is known a second later.
    const settled = { balance_usd: "0.000000000", reserved_usd: "0.000000000" };
    for (let left = 60; !isDeepStrictEqual(await shown(site), settled); left--) {
      assert.ok(left > 0, JSON.stringify(await shown(site)));
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    assert.equal(await service.stop(), 0);
    assert.equal(await soundBalance(site), 0n);
  },
);

postgresSite(
  "three processes answer never more than 37, and 37 once the refused have retried",
  async (site) => {
    await using vendor = await startPayingVendor();
    const settings = {
      ...vendor.env,
      PRICES_FILE: await flatPrices("0.01"),
      STARTING_CREDIT_USD: "0.37",
    };
    const services = await Promise.all(
      [site.env, site.another(), site.another()].map((env) =>
        startService({ env: { ...env, ...settings } })
      ),
    );
    const key = services.find((one) => /dmt_/.test(one.output()))!.firstKey;
    let paid = 0;
    const rounds: number[] = [];
    // What one process holds goes back where another had to refuse: within two seconds or so.
    for (let round = 0; round < 8 && paid < 37; round++) {
      if (round > 0) await new Promise((resolve) => setTimeout(resolve, 1000));
      const outcomes = await Promise.all(services.map((one) => atOnce(one, key, 67)));
      const answered = admitted(outcomes.flat());
      rounds.push(answered);
      paid += answered;
      assert.ok(paid <= 37, `answered ${rounds}`);
    }
    assert.equal(paid, 37, `answered ${rounds}`);
    assert.equal(vendor.calls, 37);
    assert.equal(admitted(await atOnce(services[0]!, key, 20)), 0);
    for (const service of services) assert.equal(await service.stop(), 0);
    assert.equal(await soundBalance(site), 0n);
    const left = await site.query((database) => createLedger(database).available([1]));
    assert.equal(left.get(1), 0n, "nothing is leased any more");
    console.log(`three processes answered by rounds: ${rounds}`);
  },
);
