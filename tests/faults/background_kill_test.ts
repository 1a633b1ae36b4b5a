import assert from "@std/assert";
import { startHeldVendor } from "../support/held_vendor.ts";
import { asked, eachSite, flatPrices, type Site, soundBalance } from "../support/money.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { untilAdmitted } from "../support/until_admitted.ts";

/** A long form: `KILLS=20 deno task test tests/faults`. */
const kills = Number(Deno.env.get("KILLS") ?? 2);
const callsBetween = 12;

eachSite(
  "background calls under kills: each is answered, recorded and charged once",
  async (site) => {
    await using vendor = await startHeldVendor();
    const env = {
      ...site.env,
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
      VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
      PRICES_FILE: await flatPrices("0.01"),
      BACKGROUND_CALLS_PER_ACCOUNT_MAX: "1000",
    };
    let service = await startService({ env });
    const key = service.firstKey;
    const started: Promise<Started>[] = [];
    for (let round = 0; round < kills; round++) {
      for (let at = 0; at < callsBetween; at++) {
        const requestId = `call-${round}-${at}`;
        started.push(untilTaken(() => service, key, requestId));
        await pause(Math.random() * 40);
      }
      await pause(400 + Math.random() * 600);
      service.kill("SIGKILL");
      await service.status;
      service = await startService({ env });
    }
    const all = await Promise.all(started);
    const count = kills * callsBetween;
    assert.equal(new Set(all.map(({ id }) => id)).size, count, "no id is given twice");
    for (const one of all) {
      const { status, error } = await untilEnded(service, key, one.id);
      assert.deepEqual([status, error], ["completed", null]);
      // A repeat has the same response, whatever died meanwhile.
      assert.deepEqual((await take(service, key, one.requestId))?.id, one.id);
    }
    const rows = await rowsOf(service, key, count);
    assert.deepEqual(
      rows.map((row) => String(row.transaction_id)).sort(),
      all.map(({ transactionId }) => transactionId).sort(),
    );
    assert.deepEqual(new Set(rows.map(({ status }) => status)), new Set(["completed"]));
    assert.equal(await service.stop(), 0);
    assert.equal(await soundBalance(site), 10_000_000_000n - BigInt(count) * 10_000_000n);
    await noneUnrecorded(site);
  },
);

interface Started {
  id: string;
  transactionId: string;
  requestId: string;
}

async function take(
  service: ServiceProcess,
  key: string,
  requestId: string,
): Promise<Started | undefined> {
  // Well below what a process lives: a call is asked for three times at most.
  const waitMs = Number(requestId.split("-")[2]) * 25;
  try {
    const body = {
      ...{ model: "vendor-b/gpt-4.1", input: `[wait:${waitMs}] ${requestId}` },
      background: true,
    };
    const answer = await untilAdmitted(() =>
      asked(service, key).post("/chat/v1/responses", body, { "x-request-id": requestId })
    );
    const { id } = await answer.json();
    assert.equal(answer.status, 200, id);
    return { id, transactionId: answer.headers.get("x-transaction-id")!, requestId };
  } catch (thrown) {
    if (thrown instanceof assert.AssertionError) throw thrown;
    return undefined;
  }
}

/** As a caller does whose connections break. */
async function untilTaken(
  service: () => ServiceProcess,
  key: string,
  requestId: string,
): Promise<Started> {
  // A start may take its time.
  for (let attempt = 0; attempt < 3000; attempt++) {
    const taken = await take(service(), key, requestId);
    if (taken) return taken;
    await pause(50);
  }
  throw new Error(`${requestId} was never answered`);
}

async function untilEnded(service: ServiceProcess, key: string, id: string) {
  for (let look = 0; look < 1500; look++) {
    const retrieve = () => asked(service, key).fetch(`/chat/v1/responses/${id}`);
    const response = await (await untilAdmitted(retrieve)).json();
    if (!["queued", "in_progress"].includes(response.status)) return response;
    await pause(20);
  }
  throw new Error(`${id} does not end`);
}

async function rowsOf(service: ServiceProcess, key: string, count: number) {
  for (let look = 0; look < 600; look++) {
    const rows = await asked(service, key).rows();
    if (rows.length >= count) return rows;
    await pause(100);
  }
  throw new Error(`there are no ${count} rows`);
}

async function noneUnrecorded(site: Site): Promise<void> {
  await site.query(async (database) => {
    const [row] = await database.query(
      `select count(*) as count from background_calls
       where request is not null or body is not null or claimed_by is not null`,
    );
    assert.equal(Number(row!.count), 0, "nothing of a request stays beside its record");
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
