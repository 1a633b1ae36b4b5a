import assert from "@std/assert";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createMigrated } from "../support/databases.ts";
import { fillDisk, freeDisk } from "../support/full_disk.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import {
  asked,
  chatBody,
  chatPath,
  flatPrices,
  type Outcome,
  outcomeOf,
  startPayingVendor,
} from "../support/money.ts";
import { promisedMs } from "../support/quiet.ts";

const { available, reason } = postgresAvailability();

Deno.test({
  name: `while PostgreSQL is away calls go on from the lease, and the sum is right afterwards${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: goesOn,
});

async function goesOn(): Promise<void> {
  const server = await startPostgres({ private: true });
  const database = await server.createDatabase();
  await using vendor = await startPayingVendor();
  const env = {
    ...vendor.env,
    DATA_DIR: temporaryDirectory("outage"),
    DATABASE_URL: database.url,
    PRICES_FILE: await flatPrices("0.01"),
  };
  const client = new Client(await startService({ env }));

  assert.ok((await client.call(20)).every(({ status }) => status === 200));
  await server.stop("immediate");
  const first = await client.useUp();
  assert.ok((await client.call(10, "own")).every(({ status }) => status === 200), "needs no lease");
  const { baseUrl } = client.service;
  assert.equal((await fetch(`${baseUrl}/livez`)).status, 200);
  assert.equal((await fetch(`${baseUrl}/readyz`)).status, 503);
  await server.start();
  await client.untilPaid();
  assert.ok((await client.call(10)).every(({ status }) => status === 200));
  await client.checkRows();

  // Again, and this time the process dies before it could post anything.
  await server.stop("immediate");
  const second = await client.useUp();
  await client.call(5, "own");
  client.service.kill("SIGKILL");
  await client.service.status;
  await server.start();
  client.service = await startService({ env });
  await client.checkRows();
  assert.ok((await client.call(5)).every(({ status }) => status === 200));
  await client.checkRows();
  assert.equal(await client.service.stop(), 0);

  const opened = await openPostgres(database.url);
  const ledger = createLedger(opened);
  assert.deepEqual(await ledger.check(), []);
  const balance = 10_000_000_000n - BigInt(client.paid) * 10_000_000n;
  assert.equal((await ledger.show(1)).balanceNanos, balance);
  assert.equal((await ledger.available([1])).get(1), balance, "nothing is leased any more");
  await opened.close();
  await database.drop();
  await server.stop();
  console.log(`leases paid for ${first} and ${second} calls while the store was away`);
}

Deno.test({
  name: `while PostgreSQL's disk is full calls go on from the lease, repeatable ones too${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  async fn() {
    const database = await createMigrated();
    await using vendor = await startPayingVendor();
    const env = {
      ...vendor.env,
      DATA_DIR: temporaryDirectory("full-disk"),
      DATABASE_URL: database.url,
      PRICES_FILE: await flatPrices("0.01"),
    };
    const client = new Client(await startService({ env }));
    assert.ok((await client.call(20)).every(({ status }) => status === 200));
    const opened = await openPostgres(database.url);
    const tables = ["ledger_entries", "account_balances", "replays"];
    await fillDisk(opened, tables);
    assert.ok((await client.call(3, "own", "x")).every(({ status }) => status === 200));
    await client.useUp();
    await freeDisk(opened, tables);
    await client.untilPaid();
    await client.checkRows();
    assert.equal(await client.service.stop(), 0);
    assert.deepEqual(await createLedger(opened).check(), []);
    await opened.close();
    await database.drop();
  },
});

/** Calls that cost a cent or, with an own vendor key, nothing; counts those that were answered. */
class Client {
  readonly #key: string;
  paid = 0;
  #free = 0;

  constructor(public service: ServiceProcess) {
    this.#key = service.firstKey;
  }

  /** One after the other; gives what they came to. */
  async call(
    count: number,
    mode: "managed" | "own" = "managed",
    requestId?: string,
  ): Promise<Outcome[]> {
    const credential = mode === "own" ? `${this.#key};sk-of-the-caller` : this.#key;
    const outcomes: Outcome[] = [];
    for (let one = 0; one < count; one++) {
      const headers = requestId === undefined ? {} : { "x-request-id": `${requestId}-${one}` };
      const answer = await asked(this.service, credential).post(chatPath, chatBody(), headers);
      const outcome = await outcomeOf(answer);
      if (outcome.status === 200 && mode === "managed") this.paid++;
      if (outcome.status === 200 && mode === "own") this.#free++;
      outcomes.push(outcome);
    }
    return outcomes;
  }

  /** Calls until the lease is used up; gives how many it paid for. */
  async useUp(): Promise<number> {
    for (let admitted = 0; admitted < 500; admitted++) {
      const [{ status, type, code }] = await this.call(1) as [Outcome];
      if (status === 200) continue;
      // No process knows that the balance is empty: this is not a 402.
      assert.deepEqual([status, type, code], [503, "overloaded_error", "store_unavailable"]);
      const failures = this.service.output().split("\n").filter((line) => / warn /.test(line));
      assert.ok(admitted >= 3, `the lease paid for ${admitted} calls\n${failures.join("\n")}`);
      return admitted;
    }
    throw new Error("the lease has no end");
  }

  /** Resolves when a managed call is answered again. */
  async untilPaid(): Promise<void> {
    const back = performance.now();
    for (;;) {
      const [{ status }] = await this.call(1) as [Outcome];
      if (status === 200) return;
      assert.equal(status, 503);
      assert.ok(performance.now() - back < promisedMs(10_000), "calls are answered soon");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Each answer is one record with its charge, and nothing else is. */
  async checkRows(): Promise<void> {
    const rows = await asked(this.service, this.#key).rows();
    const of = (mode: string) => rows.filter((row) => row.mode === mode);
    assert.deepEqual([of("managed").length, of("dual_key").length], [this.paid, this.#free]);
    assert.ok(of("managed").every((row) => row.charged_usd === "0.010000000"));
    assert.ok(of("dual_key").every((row) => row.charged_usd === "0.000000000"));
    assert.equal(new Set(rows.map((row) => row.transaction_id)).size, this.paid + this.#free);
  }
}
