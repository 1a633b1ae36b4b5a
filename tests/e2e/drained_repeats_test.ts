/** Repeats of a call whose caller left while its key drains: beside another process, a stop, a kill. */
import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import { readBooks } from "../faults/books.ts";
import { anyDatabase } from "../support/any_database.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startService } from "../support/process.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { scriptedModel, streamEvents, wholeAnswer } from "../support/service_scripted.ts";

const { available, reason } = postgresAvailability();
const shown = streamEvents.filter((event) => !event.includes("usage")).join("");

/** Answers the first call half, and the rest of it when told to; all others at once. */
async function startPausingVendor({ stream = true } = {}) {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let asked = 0;
  const vendor = await startFakeVendor(async (exchange: FakeExchange): Promise<void> => {
    if (exchange.request.method === "GET") return exchange.answer(200, { data: [] });
    asked++;
    const text = JSON.stringify(wholeAnswer);
    const [head, ...rest] = stream ? streamEvents : [text.slice(0, 20), text.slice(20)];
    const type = stream ? "text/event-stream" : "application/json";
    await exchange.head(200, { "content-type": type });
    await exchange.write(head!);
    if (asked === 1) begun.resolve();
    if (asked === 1) await Promise.race([goOn.promise, exchange.closed]);
    for (const event of rest) await exchange.write(event).catch(() => {});
    await exchange.end().catch(() => {});
  });
  return {
    env: { VENDOR_B_BASE_URL: vendor.url, VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789" },
    begun: begun.promise,
    goOn: goOn.resolve,
    asked: () => asked,
    [Symbol.asyncDispose]: () => vendor.close(),
  };
}

async function drainingKey(dataDir: string): Promise<string> {
  const made = await callControl(dataDir, [
    ...["key", "create", "--name", "drains", "--on-disconnect", "drain"],
  ]);
  return (made!.json as { key: string }).key;
}

function ask(
  baseUrl: string,
  key: string,
  { stream = true, signal }: { stream?: boolean; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${baseUrl}/vendor-b/v1/chat/completions`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${key}`,
      "content-type": "application/json",
      "x-request-id": "order-17",
    },
    body: JSON.stringify({
      model: scriptedModel,
      messages: [{ role: "user", content: "How are you today?" }],
      stream,
    }),
    signal: signal ?? null,
  });
}

/** Leaves amid the stream; returns the call's id. */
async function leave(baseUrl: string, key: string): Promise<string> {
  const connection = new AbortController();
  const first = await ask(baseUrl, key, { signal: connection.signal });
  await first.body!.getReader().read();
  connection.abort();
  return first.headers.get("x-transaction-id")!;
}

async function answerOf(response: Response) {
  const { headers } = response;
  return {
    id: headers.get("x-transaction-id"),
    isReplay: headers.get("x-idempotent-replay") === "true",
    text: await response.text(),
  };
}

Deno.test({
  name: `a repeat at another process waits for an answer that is drained${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: async () => {
    const database = await createMigrated();
    await using vendor = await startPausingVendor();
    const env = { ...vendor.env, DATABASE_URL: database.url };
    {
      await using one = await startTestService({ env });
      await using two = await startTestService({ env });
      const { key } = await one.createKey("--on-disconnect", "drain");
      const id = await leave(one.baseUrl, key);
      const repeated = ask(two.baseUrl, key).then(answerOf);
      const still = new Promise<string>((resolve) => setTimeout(resolve, 500, "still there"));
      assert.equal(await Promise.race([repeated.then(() => "answered"), still]), "still there");
      vendor.goOn();
      assert.deepEqual(await repeated, { id, isReplay: true, text: shown });
      assert.equal(vendor.asked(), 1);
    }
    await database.drop();
  },
});

Deno.test("a stop waits for a stream that is drained, and the next start has it for a repeat", async () => {
  const dataDir = temporaryDirectory("drained");
  await using vendor = await startPausingVendor();
  await using database = await anyDatabase();
  const env = { ...database.env, ...vendor.env, DATA_DIR: dataDir };
  await using service = await startService({ env });
  const key = await drainingKey(dataDir);
  const id = await leave(service.baseUrl, key);
  await stopAmidAnswer(service, vendor);
  const { rows, settles } = await readBooks(dataDir, database.env.DATABASE_URL);
  assert.deepEqual(rows.map((row) => [row.id, row.status]), [[id, "completed"]]);
  assert.equal(settles[0]?.chargedNanos, 60_000n, "what the vendor reported at the end");
  await using next = await startService({ env });
  const again = await answerOf(await ask(next.baseUrl, key));
  assert.deepEqual([again, vendor.asked()], [{ id, isReplay: true, text: shown }, 1]);
});

Deno.test("a stop waits for a whole answer that is drained, and the next start has it for a repeat", async () => {
  const dataDir = temporaryDirectory("drained");
  await using vendor = await startPausingVendor({ stream: false });
  await using database = await anyDatabase();
  const env = { ...database.env, ...vendor.env, DATA_DIR: dataDir };
  await using service = await startService({ env });
  const key = await drainingKey(dataDir);
  const connection = new AbortController();
  const first = ask(service.baseUrl, key, { stream: false, signal: connection.signal });
  await Promise.race([vendor.begun, first]);
  connection.abort();
  await assert.rejects(first);
  await stopAmidAnswer(service, vendor);
  const { rows, settles } = await readBooks(dataDir, database.env.DATABASE_URL);
  assert.deepEqual(rows.map((row) => row.status), ["completed"]);
  assert.equal(settles[0]?.chargedNanos, 60_000n);
  await using next = await startService({ env });
  const again = await answerOf(await ask(next.baseUrl, key, { stream: false }));
  assert.deepEqual([again.id, again.isReplay, vendor.asked()], [rows[0]?.id, true, 1]);
});

/** Stops the service, whose vendor goes on when a stop that doesn't wait for it is long over. */
async function stopAmidAnswer(
  service: Pick<Awaited<ReturnType<typeof startService>>, "kill" | "status">,
  vendor: Pick<Awaited<ReturnType<typeof startPausingVendor>>, "goOn">,
): Promise<void> {
  service.kill("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 500));
  vendor.goOn();
  assert.equal((await service.status).code, 0);
}

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  Deno.test({
    name: `a process that is killed while it drains an answer leaves the id free (${kind}${
      runs ? "" : `; skipped: ${reason}`
    })`,
    ignore: !runs,
    fn: async () => {
      const dataDir = temporaryDirectory("drained");
      await using vendor = await startPausingVendor();
      const database = kind === "postgres" ? await createMigrated() : undefined;
      const databaseEnv: Record<string, string> = database ? { DATABASE_URL: database.url } : {};
      const env = { ...databaseEnv, ...vendor.env, DATA_DIR: dataDir };
      await using killed = await startService({ env });
      const key = await drainingKey(dataDir);
      const id = await leave(killed.baseUrl, key);
      const waiting = ask(killed.baseUrl, key).then(answerOf).catch(() => "broken off");
      killed.kill("SIGKILL");
      await killed.status;
      assert.equal(await waiting, "broken off");
      await using next = await startService({ env });
      const again = await answerOf(await ask(next.baseUrl, key));
      assert.deepEqual([again.isReplay, again.text, vendor.asked()], [false, shown, 2]);
      assert.equal(await next.stop(), 0);
      const { rows, settles } = await readBooks(dataDir, database?.url);
      const statuses = new Map(rows.map((row) => [row.id, [row.status, row.chargedNanos]]));
      assert.deepEqual(statuses.get(again.id!), ["completed", 60_000n]);
      assert.deepEqual(statuses.get(id), ["interrupted", 0n]);
      assert.equal(settles.filter(({ chargedNanos }) => chargedNanos > 0n).length, 1);
      await database?.drop();
    },
  });
}
