/** Callers who don't read what they asked for, beside others (security.md 6). */
import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import { type FakeExchange, type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { postRaw, type RawCall } from "../support/service_raw.ts";
import { event, scriptedModel, streamEvents, wholeAnswer } from "../support/service_scripted.ts";
import { type Books, checkBooks, readBooks } from "./books.ts";
import type { Answer } from "./load.ts";

/** How often the journal goes round; more by `JOURNAL_ROUNDS`. */
const rounds = Number(Deno.env.get("JOURNAL_ROUNDS") ?? 2);
const journalMaxBytes = 3_000_000;
const stalledStreams = 4;
const { available, reason } = postgresAvailability();

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  const named = `(${kind}${runs ? "" : `; skipped: ${reason}`})`;
  Deno.test({
    name: `beside streams that nobody reads the journal goes round, also over a kill -9 ${named}`,
    ignore: !runs,
    fn: () => withWorld(kind, { IDLE_TIMEOUT_MS: "600000" }, besideStalled),
  });
  Deno.test({
    name: `a stream whose caller takes nothing is ended, and leaves nothing over ${named}`,
    ignore: !runs,
    fn: () => withWorld(kind, { IDLE_TIMEOUT_MS: "4000" }, endedUnread),
  });
}

interface World {
  env: Record<string, string>;
  vendor: FakeVendor;
  books(): Promise<Books>;
}

async function besideStalled({ env, books }: World): Promise<void> {
  const answers: Answer[] = [];
  let key = "";
  {
    await using service = await startService({ env });
    key = service.firstKey;
    const stalled = await stall(service, key);
    answers.push(...await goRound(service, key));
    service.kill("SIGKILL");
    await service.status;
    for (const call of stalled) call.leave();
  }
  await using service = await startService({ env });
  const stalled = await stall(service, key);
  answers.push(...await goRound(service, key));
  for (const call of stalled) call.leave();
  assert.equal(await service.stop(), 0);
  const all = await books();
  checkBooks(all, answers);
  const counted = (status: string) => all.rows.filter((row) => row.status === status).length;
  assert.deepEqual(
    [counted("completed"), counted("interrupted"), counted("cancelled"), counted("failed")],
    [answers.length, stalledStreams, stalledStreams, 0],
  );
}

async function endedUnread({ env, vendor, books }: World): Promise<void> {
  await using service = await startService({ env });
  const key = service.firstKey;
  const stalled = await stall(service, key);
  const drained = await stall(service, await drainingKey(env));
  const streams = () => vendor.requests.filter(({ method }) => method === "POST").length;
  await until("all have begun", () => streams() === 2 * stalledStreams);
  const [answer] = await Promise.all([
    call(service, key),
    // Those of calls that ended, the drained ones too, are kept for a while.
    until(
      "the vendor's connections are closed",
      () => vendor.openConnections <= stalledStreams + 2,
    ),
  ]);
  await until("all have ended, and the journal is empty", async () => {
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    // One that is left before it has ended may be read to its end.
    return cancelledCalls(metrics) === 2 * stalledStreams &&
      /^gateway_records_waiting 0$/m.test(metrics) &&
      journalBytes(metrics) < journalMaxBytes / 8;
  });
  for (const call of [...stalled, ...drained]) call.leave();
  assert.equal(await service.stop(), 0);
  const all = await books();
  checkBooks(all, [answer]);
  const cancelled = all.rows.filter(({ status }) => status === "cancelled");
  assert.equal(cancelled.length, 2 * stalledStreams);
  for (const { chargedNanos } of cancelled) assert.ok(chargedNanos > 0n, "what came is charged");
}

async function withWorld(
  kind: "embedded" | "postgres",
  more: Record<string, string>,
  test: (world: World) => Promise<void>,
): Promise<void> {
  const dataDir = temporaryDirectory("unread");
  const database = kind === "postgres" ? await createMigrated() : undefined;
  const vendor = await startFakeVendor(answerAs);
  const env = {
    DATA_DIR: dataDir,
    JOURNAL_MAX_BYTES: String(journalMaxBytes),
    VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
    ...(database ? { DATABASE_URL: database.url } : {}),
    ...more,
  };
  try {
    await test({ env, vendor, books: () => readBooks(dataDir, database?.url) });
  } finally {
    await vendor.close();
    await database?.drop();
  }
}

function cancelledCalls(metrics: string): number {
  const found = metrics.matchAll(/^gateway_calls_total\{[^}]*status="cancelled"[^}]*\} (\d+)$/gm);
  return [...found].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

const longText = "words and more words ".repeat(1500);

/** Whole answers at once; streams of a good many bytes, as fast as they are taken. */
async function answerAs(exchange: FakeExchange): Promise<void> {
  if (exchange.request.method === "GET") {
    return await exchange.answer(200, { object: "list", data: [] });
  }
  if (!exchange.request.body.includes('"stream":true')) {
    const [choice] = wholeAnswer.choices;
    const message = { ...choice.message, content: longText };
    return await exchange.answer(200, { ...wholeAnswer, choices: [{ ...choice, message }] });
  }
  let isOpen = true;
  exchange.closed.then(() => isOpen = false);
  await exchange.head(200, { "content-type": "text/event-stream" });
  await exchange.write(streamEvents[0]!);
  const many = event({ choices: [{ index: 0, delta: { content: longText } }] }).repeat(2);
  for (let sent = 0; isOpen && sent < 16 * 1024 * 1024; sent += many.length) {
    await exchange.write(many);
  }
  for (const piece of streamEvents.slice(3)) await exchange.write(piece);
  await exchange.end();
}

const body = (stream: boolean) =>
  JSON.stringify({
    model: scriptedModel,
    messages: [{ role: "user", content: "Tell me all." }],
    ...(stream ? { stream } : {}),
  });

const path = "/vendor-b/v1/chat/completions";

/** Streams that are asked for and not read. */
async function stall(service: ServiceProcess, key: string): Promise<RawCall[]> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return await Promise.all(
    Array.from(
      { length: stalledStreams },
      () => postRaw(service.baseUrl, path, headers, body(true)),
    ),
  );
}

/** How long the journal may be full: its store stands still now and then, but it is not pinned. */
const fullMs = 20_000;

/** Calls of others until they have written the journal `rounds` times over; each is answered. */
async function goRound(service: ServiceProcess, key: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  const run = async () => {
    while (answers.length * longText.length < rounds * journalMaxBytes) {
      answers.push(await call(service, key));
    }
  };
  await Promise.all([run(), run(), run()]);
  return answers;
}

async function call(
  service: ServiceProcess,
  key: string,
  until = performance.now() + fullMs,
): Promise<Answer> {
  const response = await fetch(service.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: body(false),
  });
  const text = await response.text();
  if (response.status === 503 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return await call(service, key, until);
  }
  assert.equal(response.status, 200, text);
  const transactionId = response.headers.get("x-transaction-id");
  return { path, status: 200, transactionId, isFull: true, code: "" };
}

async function drainingKey(env: Record<string, string>): Promise<string> {
  const made = await callControl(env.DATA_DIR!, [
    ...["key", "create", "--name", "drains", "--on-disconnect", "drain"],
  ]);
  return (made?.json as { key: string }).key;
}

function journalBytes(metrics: string): number {
  return Number(/^gateway_journal_bytes (\d+)$/m.exec(metrics)?.[1] ?? Infinity);
}

async function until(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!await done()) {
    assert.ok(performance.now() < deadline, `not within 60 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
