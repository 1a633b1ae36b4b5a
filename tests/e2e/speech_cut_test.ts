/** Our process ends in the middle of audio: by a signal to stop, and killed. */
import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import { type Simulators, startSimulators } from "../../demo/simulators.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { calls, type Row, startTestService } from "../support/service.ts";

const input = "[long:20] [drip:20] Good morning from the lake.";

/** A family's own path, in bytes and in events, and the unified one. */
const ways = [
  ["/vendor-b/v1/audio/speech", { model: "tts-1", voice: "alloy", input, response_format: "wav" }],
  [
    "/vendor-b/v1/audio/speech",
    { model: "gpt-4o-mini-tts", voice: "alloy", input, stream_format: "sse" },
  ],
  ["/tts/v1/generate", { model: "vendor-b/gpt-4o-mini-tts", input, stream: true }],
] as const;

const { available, reason } = postgresAvailability();

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  Deno.test({
    name:
      `speech outlives SIGTERM; after SIGKILL it is one row, interrupted and not charged (${kind}${
        runs ? "" : `; skipped: ${reason}`
      })`,
    ignore: !runs,
    fn: () => cut(kind),
  });
}

async function cut(kind: "embedded" | "postgres"): Promise<void> {
  const database = kind === "postgres" ? await createMigrated() : undefined;
  const simulators = await startSimulators();
  const env = { ...environment(simulators), ...(database ? { DATABASE_URL: database.url } : {}) };
  try {
    const key = await drained(env);
    await killed(env, key);
  } finally {
    await simulators.close();
    await database?.drop();
  }
}

function environment(simulators: Simulators): Record<string, string> {
  const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
  const DATA_DIR = temporaryDirectory("speech-cut");
  return { DATA_DIR, VENDOR_B_BASE_URL: baseUrl, VENDOR_B_API_KEY: apiKey };
}

/** Gives the first start's key. */
async function drained(env: Record<string, string>): Promise<string> {
  await using service = await startService({ env });
  const key = service.firstKey;
  const heard = await begun(service, key);
  service.kill("SIGTERM");
  for (const { rest } of heard) assert.ok(await rest() > 20_000);
  assert.equal((await service.status).code, 0);
  return key;
}

async function killed(env: Record<string, string>, key: string): Promise<void> {
  const ended = await (async () => {
    await using service = await startService({ env });
    const whole = await rowsOf(service, key);
    assert.deepEqual(whole.map(({ status }) => status), ["completed", "completed", "completed"]);
    for (const row of whole) assert.ok(Number(row.charged_usd) > 0);
    const heard = await begun(service, key);
    service.kill("SIGKILL");
    for (const { rest } of heard) await assert.rejects(rest());
    await service.status;
    return { whole, ids: heard.map(({ id }) => id) };
  })();
  await using service = await startTestService({ env });
  const rows = await rowsOf(service, key);
  const found = rows.filter(({ transaction_id }) => ended.ids.includes(String(transaction_id)));
  assert.deepEqual(
    found.map(({ status, charged_usd, billing_basis, http_status }) => [
      ...[status, charged_usd, billing_basis, http_status],
    ]),
    Array(3).fill(["interrupted", "0.000000000", "none", null]),
  );
  assert.equal(rows.length, 6, "each call is one row");
  // What was said is kept, and the balance has lost what whole calls cost and no more.
  for (const row of found) assert.match(JSON.stringify(row.request), /Good morning from the lake/);
  const charged = nanos(ended.whole.map((row) => row.charged_usd));
  const { balance_usd, reserved_usd } = await credits(env.DATA_DIR!);
  assert.equal(nanos([balance_usd]), nanos(["10"]) - charged);
  assert.equal(nanos([reserved_usd]), 0);
  await service.stop();
}

/** Calls of which the first sound has been heard. */
async function begun(service: ServiceProcess, key: string) {
  const { post } = calls({ baseUrl: service.baseUrl, key });
  return await Promise.all(ways.map(async ([path, body]) => {
    const answer = await post(path, body);
    assert.equal(answer.status, 200);
    const reader = answer.body!.getReader();
    let heard = (await reader.read()).value!.length;
    return {
      id: answer.headers.get("x-transaction-id")!,
      async rest() {
        for (let one = await reader.read(); !one.done; one = await reader.read()) {
          heard += one.value.length;
        }
        return heard;
      },
    };
  }));
}

function rowsOf(service: { readonly baseUrl: string }, key: string): Promise<Row[]> {
  return calls({ baseUrl: service.baseUrl, key }).rows();
}

function nanos(amounts: readonly unknown[]): number {
  return amounts.reduce((sum: number, usd) => sum + Math.round(Number(usd) * 1e9), 0);
}

async function credits(dataDir: string): Promise<{ balance_usd: string; reserved_usd: string }> {
  const result = await callControl(dataDir, ["credits", "show"]);
  return result!.json as { balance_usd: string; reserved_usd: string };
}
