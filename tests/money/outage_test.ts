import assert from "@std/assert";
import { createLedger } from "../../src/store/ledger.ts";
import { openPostgres } from "../../src/store/postgres.ts";
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
  let service = await startService({ env });
  const key = service.firstKey;
  const own = `${key};sk-of-the-caller`;
  let paid = 0;
  let free = 0;
  /** One call after the other; gives what they came to. */
  const call = async (count: number, credential = key): Promise<Outcome[]> => {
    const outcomes: Outcome[] = [];
    for (let one = 0; one < count; one++) {
      const outcome = await outcomeOf(await asked(service, credential).post(chatPath, chatBody()));
      if (outcome.status === 200) credential === key ? paid++ : free++;
      outcomes.push(outcome);
    }
    return outcomes;
  };
  /** Calls until the lease is used up; gives how many it paid for. */
  const useUp = async (): Promise<number> => {
    for (let admitted = 0; admitted < 500; admitted++) {
      const [{ status, type, code }] = await call(1) as [Outcome];
      if (status === 200) continue;
      // Nobody knows that the balance is empty: this is no 402.
      assert.deepEqual([status, type, code], [503, "overloaded_error", "store_unavailable"]);
      return admitted;
    }
    throw new Error("the lease has no end");
  };

  assert.ok((await call(20)).every(({ status }) => status === 200));
  await server.stop("immediate");
  const first = await useUp();
  assert.ok(first >= 3, `the lease paid for ${first} calls\n${warnings(service)}`);
  assert.ok((await call(10, own)).every(({ status }) => status === 200), "own keys need no lease");
  assert.equal((await fetch(`${service.baseUrl}/livez`)).status, 200);
  assert.equal((await fetch(`${service.baseUrl}/readyz`)).status, 503);
  await server.start();
  await untilPaid(service, key, () => paid++);
  assert.ok((await call(10)).every(({ status }) => status === 200));
  await recorded(service, key, paid, free);

  // Again, and this time the process dies before it could post anything.
  await server.stop("immediate");
  const second = await useUp();
  assert.ok(second >= 3, `the lease paid for ${second} calls\n${warnings(service)}`);
  await call(5, own);
  service.kill("SIGKILL");
  await service.status;
  await server.start();
  service = await startService({ env });
  await recorded(service, key, paid, free);
  assert.ok((await call(5)).every(({ status }) => status === 200));
  await recorded(service, key, paid, free);
  assert.equal(await service.stop(), 0);

  const opened = await openPostgres(database.url);
  const ledger = createLedger(opened);
  assert.deepEqual(await ledger.check(), []);
  const balance = 10_000_000_000n - BigInt(paid) * 10_000_000n;
  assert.equal((await ledger.show(1)).balanceNanos, balance);
  assert.equal((await ledger.available([1])).get(1), balance, "nothing is leased any more");
  await opened.close();
  await database.drop();
  await server.stop();
  console.log(`leases paid for ${first} and ${second} calls while the store was away`);
}

/** What the log says of failures. */
function warnings(service: ServiceProcess): string {
  return service.output().split("\n").filter((line) => / (warn|error) |status=5/.test(line)).join(
    "\n",
  );
}

/** Resolves when a managed call is answered again. */
async function untilPaid(service: ServiceProcess, key: string, paid: () => void): Promise<void> {
  const back = performance.now();
  for (;;) {
    const { status } = await outcomeOf(await asked(service, key).post(chatPath, chatBody()));
    if (status === 200) return paid();
    assert.equal(status, 503);
    assert.ok(performance.now() - back < 10_000, "calls are answered soon after the store is back");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Each answer is one record with its charge, and nothing else is. */
async function recorded(
  service: ServiceProcess,
  key: string,
  paid: number,
  free: number,
): Promise<void> {
  const rows = await asked(service, key).rows();
  const of = (mode: string) => rows.filter((row) => row.mode === mode);
  assert.deepEqual([of("managed").length, of("dual_key").length], [paid, free]);
  assert.ok(of("managed").every((row) => row.charged_usd === "0.010000000"));
  assert.ok(of("dual_key").every((row) => row.charged_usd === "0.000000000"));
  assert.equal(new Set(rows.map((row) => row.transaction_id)).size, paid + free);
}
