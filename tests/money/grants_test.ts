import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { startService } from "../support/process.ts";
import { shared, startTestService } from "../support/service.ts";
import {
  asked,
  chatBody,
  chatPath,
  flatPrices,
  outcomeOf,
  postgresSite,
  soundBalance,
  startPayingVendor,
} from "../support/money.ts";

const service = shared(() => startTestService({ env: { STARTING_CREDIT_USD: "1" } }));

async function balance(account = "1"): Promise<string> {
  const { json } = await service().admin("credits", "show", "--account", account);
  return (json as { balance_usd: string }).balance_usd;
}

Deno.test("an amount that is none is refused with the option's name, and nothing is granted", async () => {
  const amounts = [
    ...[
      "",
      " ",
      "0",
      "0.000000000",
      "-5",
      "+5",
      "1e3",
      ".5",
      "5.",
      "1,000",
      "1.2.3",
      "$5",
      "5 USD",
    ],
    ...["0.0000000001", "NaN", "Infinity", "0x10", "１０", "5;drop table accounts", "1 000"],
    ...[
      "1000000000.000000001",
      "9".repeat(30),
      "9".repeat(199),
      "1".repeat(201),
      "0." + "1".repeat(80),
    ],
  ];
  for (const amount of amounts) {
    const { exitCode, lines, json } = await service().admin("credits", "grant", `--usd=${amount}`);
    assert.equal(exitCode, 2, JSON.stringify(amount));
    assert.match(lines[0]!, /^--usd/, amount);
    assert.ok(lines[0]!.length < 300, "a long amount is not repeated");
    assert.equal((json as { error: string }).error, lines[0]);
  }
  assert.equal(await balance(), "1.000000000");
});

Deno.test("an account that is none, a note too long and an option too many are refused", async () => {
  const had = await balance();
  const grant = ["credits", "grant", "--usd", "5"];
  for (
    const [exitCode, ...more] of [
      [1, "--account", "nobody"],
      [1, "--account", "999999999999999999999999"],
      [1, "--account=-1"],
      [1, "--account", "' or 1=1 --"],
      [2, "--note", "x".repeat(501)],
      [2, "--balance", "5"],
      [2, "extra"],
    ] as const
  ) {
    const result = await service().admin(...grant, ...more);
    assert.equal(result.exitCode, exitCode, `${more}: ${result.lines}`);
    assert.doesNotMatch(result.lines.join(), /syntax|bigint|relation|undefined|at file/, `${more}`);
  }
  assert.equal(await balance(), had);
});

Deno.test("a note may hold anything, and the smallest and the largest amount are exact", async () => {
  await service().admin("account", "create", "--name", "odd");
  const grant = ["credits", "grant", "--account", "odd"];
  const note = `"quotes", \\ and \u0000 and 😀`;
  for (const usd of ["0.000000001", "999999999.999999999"]) {
    const { exitCode, json } = await service().admin(...grant, "--usd", usd, "--note", note);
    assert.equal(exitCode, 0);
    assert.equal(Number((json as { granted_usd: string }).granted_usd), Number(usd));
  }
  assert.equal(await balance("odd"), "1000000000.000000000");
});

Deno.test("a balance beyond what the ledger holds is refused in words, and stays as it was", async () => {
  await service().admin("account", "create", "--name", "rich");
  const grant = ["credits", "grant", "--account", "rich", "--usd", "1000000000"];
  const results = [];
  for (let times = 0; times < 11; times++) results.push(await service().admin(...grant));
  const refused = results.filter(({ exitCode }) => exitCode !== 0);
  assert.ok(refused.length >= 1);
  for (const { exitCode, lines } of refused) {
    assert.equal(exitCode, 2);
    assert.match(lines[0]!, /^--usd: .*beyond what an account can hold/);
  }
  assert.equal(await balance("rich"), `${results.length - refused.length}000000000.000000000`);
});

postgresSite(
  "a grant by the command line is there for the next call of a running server",
  async (site) => {
    await using vendor = await startPayingVendor();
    const env = {
      ...site.env,
      ...vendor.env,
      PRICES_FILE: await flatPrices("0.01"),
      STARTING_CREDIT_USD: "0",
    };
    await using running = await startService({ env });
    const key = running.firstKey;
    const call = async () =>
      (await outcomeOf(await asked(running, key).post(chatPath, chatBody()))).status;
    assert.equal(await call(), 402);
    const grant = ["credits", "grant", "--usd", "0.02", "--json"];
    const granted = await runAdminHere({ args: grant, env });
    assert.equal(granted.code, 0, granted.stderr);
    assert.equal(JSON.parse(granted.stdout).balance_usd, "0.020000000");
    assert.deepEqual([await call(), await call(), await call()], [200, 200, 402]);
    assert.equal(await running.stop(), 0);
    assert.equal(await soundBalance(site), 0n);
    await site.query(async (database) => {
      assert.equal((await createLedger(database).available([1])).get(1), 0n);
    });
  },
);

postgresSite(
  "a grant that is asked for again after its process ended before it answered is made once",
  async (site) => {
    const env = { ...site.env, STARTING_CREDIT_USD: "0" };
    let authorization = "";
    const balanceAfterAsking = async () => {
      await using service = await startTestService({ env });
      authorization ||= `Bearer ${(await service.createKey("--scope", "admin")).key}`;
      const headers = { authorization, "x-request-id": "top-up" };
      const answer = await service.post("/api/v1/admin/credits/grants", { usd: "5" }, headers);
      assert.equal(answer.status, 200);
      return (await answer.json()).balance_usd;
    };
    // What such a process leaves: the grant, and no answer.
    const forget = () => site.query((database) => database.query("delete from replays", []));
    assert.equal(await balanceAfterAsking(), "5.000000000");
    await forget();
    assert.equal(await balanceAfterAsking(), "5.000000000");
    await site.query((database) =>
      database.query(
        `update ledger_entries set created_at = created_at - interval '25 hours', operation_id =
           left(operation_id, -10) || to_char(
             clock_timestamp() at time zone 'UTC' - interval '1 day', 'YYYY-MM-DD')
         where operation_id like 'grant %'`,
        [],
      )
    );
    await forget();
    assert.equal(await balanceAfterAsking(), "10.000000000", "after a day the id is free");
    assert.equal(await soundBalance(site), 10_000_000_000n);
  },
);
