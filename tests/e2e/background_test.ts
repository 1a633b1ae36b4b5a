import assert from "@std/assert";
import type OpenAI from "openai";
import type { Response } from "openai/resources/responses/responses";
import type { FakeVendor } from "../support/fake_vendor.ts";
import { startHeldVendor } from "../support/held_vendor.ts";
import {
  asked,
  eachSite,
  flatPrices,
  postgresSite,
  type Site,
  soundBalance,
} from "../support/money.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { openai } from "../support/service_openai.ts";

const model = "vendor-b/gpt-4.1";
const centNanos = 10_000_000n;

eachSite(
  "background calls outlive kill -9, and each is charged and recorded once",
  async (site) => {
    await using vendor = await startHeldVendor();
    const env = await settings(site.env, vendor);
    let service = await startService({ env });
    const key = service.firstKey;
    let client = clientOf(service, key);
    const quick = await started(client, "quick");
    assert.equal((await until(client, quick.id)).status, "completed");
    const open: Started[] = [];
    for (let at = 0; at < 6; at++) open.push(await started(client, `[hold] number ${at}`));
    await vendor.reached("[hold]", 6);
    const gone = await started(client, "[hold] cancelled before");
    await vendor.reached("cancelled before", 1);
    await client.cancel(gone.id);
    const dual = clientOf(service, `${key};sk-callers-own-0123456789`);
    const secret = await started(dual, "[hold] with a key of my own");
    await vendor.reached("of my own", 1);
    service.kill("SIGKILL");
    await service.status;
    service = await startService({ env });
    client = clientOf(service, key);
    // A vendor key that came with a call is in no file, so the call can't go on.
    const ended = await until(client, secret.id);
    assert.equal(ended.status, "failed");
    assert.match(ended.error!.message, /vendor key sent with it/);
    // At the vendor again.
    await vendor.reached("[hold] number", 12);
    for (const one of open) {
      const { status } = await client.retrieve(one.id);
      assert.ok(status === "queued" || status === "in_progress", status);
    }
    await client.cancel(open[5]!.id);
    vendor.release();
    for (const one of open.slice(0, 5)) {
      const ended = await until(client, one.id);
      assert.deepEqual([ended.status, ended.id], ["completed", one.id], JSON.stringify(ended));
      assert.equal(ended.output_text, "Held and told.");
    }
    assert.equal((await client.retrieve(open[5]!.id)).status, "cancelled");
    assert.equal((await client.retrieve(gone.id)).status, "cancelled");
    // The answer that was begun with the killed process is continued as any other.
    const next = await client.create({ model, input: "And?", previous_response_id: open[0]!.id });
    assert.equal(next.status, "completed");
    const rows = await rowsOf(service, key, 10);
    for (const one of [quick, ...open, gone, secret]) {
      assert.equal(rows.filter((row) => row.transaction_id === one.transactionId).length, 1);
    }
    const counts = countBy(rows.map(({ status }) => String(status)));
    assert.deepEqual(counts, { completed: 7, cancelled: 2, failed: 1 });
    assert.equal(vendor.count("of my own"), 1);
    const refused = rows.find(({ status }) => status === "failed")!;
    assert.deepEqual([refused.mode, nanosOf(refused.charged_usd)], ["dual_key", 0n]);
    assert.equal(await service.stop(), 0);
    const charged = rows.reduce((sum, row) => sum + nanosOf(row.charged_usd), 0n);
    assert.equal(await soundBalance(site), 10_000_000_000n - charged);
    assert.ok(charged >= 7n * centNanos, "what was completed is charged");
  },
);

eachSite(
  "a graceful stop gives background calls back, and the next start ends them",
  async (site) => {
    await using vendor = await startHeldVendor();
    const env = await settings(site.env, vendor);
    let service = await startService({ env });
    const key = service.firstKey;
    let client = clientOf(service, key);
    const short = await started(client, "[wait:1500] ends while it stops");
    await vendor.reached("ends while", 1);
    assert.equal(await service.stop(), 0);
    service = await startService({ env });
    client = clientOf(service, key);
    const ended = await client.retrieve(short.id);
    assert.equal(ended.status, "completed", "there was time for it");
    assert.equal(vendor.count("ends while"), 1);
    const long = await started(client, "[hold] longer than a stop");
    await vendor.reached("longer than a stop", 1);
    // It takes as long as calls may take to end.
    service.kill("SIGTERM");
    await service.status;
    service = await startService({ env });
    client = clientOf(service, key);
    await vendor.reached("longer than a stop", 2);
    vendor.release();
    assert.equal((await until(client, long.id)).status, "completed");
    const rows = await rowsOf(service, key, 2);
    assert.deepEqual(rows.map(({ status }) => status), ["completed", "completed"]);
    assert.equal(await service.stop(), 0);
    assert.equal(await soundBalance(site), 10_000_000_000n - 2n * centNanos);
  },
);

postgresSite(
  "any replica shows and cancels a background call, and takes over what a dead one held",
  async (site) => {
    await using vendor = await startHeldVendor();
    const dying = await startService({ env: await settings(site.env, vendor) });
    const key = dying.firstKey;
    const other = await startService({ env: await settings(site.another(), vendor) });
    const [here, there] = [clientOf(dying, key), clientOf(other, key)];
    const cancelled = await started(here, "[hold] cancelled elsewhere");
    await vendor.reached("cancelled elsewhere", 1);
    const seen = await there.retrieve(cancelled.id);
    assert.equal(seen.status, "in_progress");
    assert.equal((await there.cancel(cancelled.id)).status, "cancelled");
    assert.equal((await here.retrieve(cancelled.id)).status, "cancelled");
    await vendor.left("cancelled elsewhere", 1);
    // Until its record is stored, the process that dies would still hold it.
    await rowsOf(dying, key, 1);
    const open: Started[] = [];
    for (let at = 0; at < 4; at++) open.push(await started(here, `[hold] number ${at}`));
    await vendor.reached("[hold] number", 4);
    dying.kill("SIGKILL");
    await dying.status;
    await halfAMinutePasses(site);
    await vendor.reached("[hold] number", 8);
    const back = await startService({ env: await settings(site.env, vendor) });
    vendor.release();
    for (const one of open) assert.equal((await until(there, one.id)).status, "completed");
    const rows = await rowsOf(back, key, 5);
    assert.deepEqual(countBy(rows.map(({ status }) => String(status))), {
      completed: 4,
      cancelled: 1,
    });
    assert.equal(vendor.count("[hold] number"), 8, "nobody asks a third time");
    for (const one of [back, other]) assert.equal(await one.stop(), 0);
    const charged = rows.reduce((sum, row) => sum + nanosOf(row.charged_usd), 0n);
    assert.equal(await soundBalance(site), 10_000_000_000n - charged);
  },
);

/** How long a dead process holds its work: too long for a test to wait. */
async function halfAMinutePasses(site: Site): Promise<void> {
  await site.query(async (database) => {
    const claims = await database.query(
      `select claimed_until - clock_timestamp() between interval '1 second' and interval '30 seconds'
         as is_held
       from background_calls where request is not null`,
    );
    assert.deepEqual(claims, Array(4).fill({ is_held: true }));
    await database.query(
      `update background_calls set claimed_until = claimed_until - interval '30 seconds'
       where request is not null`,
    );
  });
}

type Responses = OpenAI["responses"];

interface Started {
  id: string;
  transactionId: string | null;
}

function clientOf({ baseUrl }: ServiceProcess, key: string): Responses {
  return openai({ baseUrl, key }, "/chat/v1", { maxRetries: 0 }).responses;
}

async function started(client: Responses, input: string): Promise<Started> {
  const { data, response } = await client.create({ model, input, background: true })
    .withResponse();
  assert.equal(data.status, "queued");
  return { id: data.id, transactionId: response.headers.get("x-transaction-id") };
}

async function settings(
  env: Site["env"],
  vendor: FakeVendor,
): Promise<Record<string, string>> {
  return {
    ...env,
    VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
    PRICES_FILE: await flatPrices("0.01"),
  };
}

async function until(client: Responses, id: string): Promise<Response> {
  for (let look = 0; look < 3_000; look++) {
    const response = await client.retrieve(id);
    if (response.status !== "queued" && response.status !== "in_progress") return response;
    await pause(20);
  }
  throw new Error("the response does not end");
}

async function rowsOf(service: ServiceProcess, key: string, count: number) {
  for (let look = 0; look < 600; look++) {
    const rows = await asked(service, key).rows();
    if (rows.length >= count) {
      assert.equal(rows.length, count, JSON.stringify(rows.map(({ status }) => status)));
      return rows;
    }
    await pause(100);
  }
  throw new Error(`there are no ${count} rows`);
}

function nanosOf(usd: unknown): bigint {
  return BigInt(Math.round(Number(usd) * 1e9));
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
