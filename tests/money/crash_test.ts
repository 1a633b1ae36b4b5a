import assert from "@std/assert";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { runAdminHere } from "../support/admin.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { promisedMs } from "../support/quiet.ts";
import type { Row } from "../support/service.ts";
import {
  asked,
  chatBody,
  chatPath,
  embeddedSiteFirst,
  flatPrices,
  outcomeOf,
  type PayingVendor,
  postgresSite,
  type Site,
  soundBalance,
  startPayingVendor,
} from "../support/money.ts";
import { untilAdmitted } from "../support/until_admitted.ts";

const cent = 10_000_000n;

async function settingsOf(vendor: PayingVendor): Promise<Record<string, string>> {
  // Enough for 15 calls that end and 50 that don't, and for nothing more.
  return { ...vendor.env, PRICES_FILE: await flatPrices("0.01"), STARTING_CREDIT_USD: "0.65" };
}

async function statuses(service: ServiceProcess, key: string, count: number): Promise<number[]> {
  const outcomes = await Promise.all(
    Array.from(
      { length: count },
      () => untilAdmitted(() => asked(service, key).post(chatPath, chatBody())).then(outcomeOf),
    ),
  );
  return outcomes.map(({ status }) => status).sort();
}

/** 15 calls that end, 50 streams that are in their middle, then the process is killed. */
async function killInTheMiddle(
  service: ServiceProcess,
  vendor: PayingVendor,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  // Its cap covers what the credit pays for, and no more: both are leased, and have to come back.
  const made = ["key", "create", "--name", "capped", "--cap-month-usd", "0.65", "--json"];
  const { stdout } = await runAdminHere({ args: made, env });
  const { key } = JSON.parse(stdout) as { key: string };
  assert.deepEqual(await statuses(service, key, 10), Array(10).fill(200));
  // What a read shows is written, and its charge posted.
  assert.equal((await asked(service, key).rows()).length, 10);
  const readers = await Promise.all(Array.from({ length: 50 }, async () => {
    const body = chatBody("[hold] Talk.", { stream: true });
    const answer = await untilAdmitted(() => asked(service, key).post(chatPath, body));
    assert.equal(answer.status, 200);
    const reader = answer.body!.getReader();
    assert.ok((await reader.read()).value!.length > 0, "the stream has begun");
    return reader;
  }));
  // These have hardly ended when it dies.
  assert.deepEqual(await statuses(service, key, 5), Array(5).fill(200));
  service.kill("SIGKILL");
  await service.status;
  for (const rest of await Promise.all(readers.map(restOf))) {
    assert.ok(!rest.includes("[DONE]"), "the callers' streams are cut");
  }
  vendor.release();
  return key;
}

/** What a stream still brings, until its end or until it breaks. */
async function restOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = "";
  try {
    for (let one = await reader.read(); !one.done; one = await reader.read()) {
      text += new TextDecoder().decode(one.value);
    }
  } catch {
    // The connection broke.
  }
  return text;
}

function checkRows(rows: readonly Row[]): void {
  assert.equal(rows.length, 65);
  assert.equal(new Set(rows.map((row) => row.transaction_id)).size, 65, "each once");
  const [cut, ended] = [true, false].map((isCut) =>
    rows.filter(({ status }) => (status === "interrupted") === isCut)
  ) as [Row[], Row[]];
  assert.equal(cut.length, 50);
  for (const row of cut) {
    assert.deepEqual(
      [row.http_status, row.charged_usd, row.billing_basis, row.stream, row.finish_reason],
      [null, "0.000000000", "none", true, null],
    );
    assert.match(JSON.stringify(row.request), /\[hold\] Talk/);
  }
  for (const row of ended) {
    assert.deepEqual([row.status, row.charged_usd], ["completed", "0.010000000"]);
  }
}

// `tests/faults/kill_test.ts` kills a process on PostgreSQL.
embeddedSiteFirst(
  "a process killed amid 50 streams loses and makes no credit, and has it all back at once",
  async (site) => {
    await using vendor = await startPayingVendor();
    const env = { ...site.env, ...await settingsOf(vendor) };
    let key: string;
    {
      await using service = await startService({ env });
      key = await killInTheMiddle(service, vendor, env);
    }
    await using restarted = await startService({ env });
    await restarted.printed(/ recovered the journal and leases of the last run .*leases=[1-9]/);
    checkRows(await asked(restarted, key).rows());
    // What the dead streams had set aside pays for 50 calls, and not for one more.
    assert.deepEqual(await statuses(restarted, key, 51), [...Array(50).fill(200), 402]);
    assert.equal(await restarted.stop(), 0);
    assert.equal(await soundBalance(site), 0n);
    // The embedded database starts slowly, and the result would be the same.
    if (site.kind === "embedded") return;
    await using again = await startService({ env });
    assert.equal((await asked(again, key).rows()).length, 65 + 50, "nothing is recorded twice");
    assert.equal(await again.stop(), 0);
    assert.equal(await soundBalance(site), 0n);
  },
);

postgresSite(
  "what a process held that does not come back is free after its leases have run out",
  async (site) => {
    await using vendor = await startPayingVendor();
    const settings = { ...await settingsOf(vendor), LEASE_SECONDS: "5" };
    await using dying = await startService({ env: { ...site.env, ...settings } });
    await using other = await startService({ env: { ...site.another(), ...settings } });
    const key = await killInTheMiddle(dying, vendor, site.env);
    const killed = performance.now();
    assert.deepEqual(await statuses(other, key, 1), [402], "the dead process's lease holds");
    let answered = 0;
    while (answered === 0) {
      const tookMs = performance.now() - killed;
      assert.ok(tookMs < 5_000 + promisedMs(30_000), "swept within 30 s after expiry");
      await new Promise((resolve) => setTimeout(resolve, 250));
      answered = (await statuses(other, key, 1))[0] === 200 ? 1 : 0;
    }
    const seconds = (performance.now() - killed) / 1000;
    // All that is not charged, and nothing that was: what had ended may have died unposted.
    const rest = await statuses(other, key, 60);
    answered += rest.filter((status) => status === 200).length;
    assert.ok(answered >= 50 && answered <= 55, `${answered}, ${await entriesOf(site)}`);
    const spent = BigInt(10 + 5 + answered) * cent;
    // It comes back late after all: charges in its journal are posted all the same.
    await using late = await startService({ env: { ...site.env, ...settings } });
    const rows = await asked(late, key).rows();
    assert.equal(rows.length, 65 + answered);
    checkRows(rows.filter(byFirst(rows)));
    assert.equal(await late.stop(), 0);
    assert.equal(await other.stop(), 0);
    assert.equal(await soundBalance(site), 65n * cent - spent);
    const left = await site.query((database) => createLedger(database).available([1]));
    assert.equal(left.get(1), 65n * cent - spent, "nothing is leased any more");
    console.log(`spendable again after ${seconds.toFixed(1)} s, ${answered} of 50 to 55 answered`);
  },
);

/** What the ledger has by kind, for the message of a failure. */
async function entriesOf(site: Site): Promise<string> {
  const rows = await site.query((database) =>
    database.query(
      `select kind, count(*)::int as entries, sum(amount_nanos)::text as nanos from ledger_entries
       group by kind`,
      [],
    )
  );
  return JSON.stringify(rows);
}

/** The calls of the process that died: the first 65. */
function byFirst(rows: readonly Row[]): (row: Row) => boolean {
  const times = rows.map((row) => String(row.created_at)).sort();
  return (row) => String(row.created_at) <= times[64]!;
}
