import assert from "@std/assert";
import { within } from "../../src/base/deadline.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { startSimulatedService } from "../support/service.ts";
import { anyDatabase } from "../support/any_database.ts";
import { startSimulators } from "../../demo/simulators.ts";
import { callControl } from "../../src/admin/control.ts";
import { readBooks } from "../faults/books.ts";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { streamEvents } from "../support/service_scripted.ts";
import { commandOf, type ServiceProcess, startService } from "../support/process.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { promisedMs } from "../support/quiet.ts";

const { available, reason } = postgresAvailability();

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  Deno.test({
    name:
      `SIGTERM lets a running stream end, writes its row and exits 0; idle, it ends at once (${kind}${
        runs ? "" : `; skipped: ${reason}`
      })`,
    ignore: !runs,
    fn: () => drains(kind, ["SIGTERM"]),
  });
}

Deno.test("a signal that the parent process forwards doesn't count as a second one; SIGINT ends an idle service too", async () => {
  await drains(available ? "postgres" : "embedded", ["SIGTERM", "SIGINT"]);
});

async function drains(
  kind: "embedded" | "postgres",
  signals: readonly ("SIGTERM" | "SIGINT")[],
): Promise<void> {
  const directory = temporaryDirectory("shutdown");
  const database = kind === "postgres" ? await createMigrated() : undefined;
  const simulators = await startSimulators();
  const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
  const env = {
    DATA_DIR: directory,
    VENDOR_B_BASE_URL: baseUrl,
    VENDOR_B_API_KEY: apiKey,
    ...(database ? { DATABASE_URL: database.url } : {}),
  };
  await using service = await startService({ env });
  const key = service.firstKey;
  const answer = await fetch(`${service.baseUrl}/openai/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "gpt-4.1",
      stream: true,
      messages: [{ role: "user", content: "[long:100] [drip:10] Talk." }],
    }),
  });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? "";
  for (const signal of signals) service.kill(signal);
  await untilRefused(service.baseUrl);
  for (let one = await reader.read(); !one.done; one = await reader.read()) text += one.value;
  assert.match(text, /data: \[DONE\]\n\n$/, "the stream came to its end");
  assert.equal((await service.status).code, 0);
  assert.doesNotMatch(service.output(), / error /);
  // The row was written before the end.
  await using next = await startService({ env });
  const rows = await fetch(`${next.baseUrl}/api/v1/exports`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ start_date: "2020-01-01T00:00:00Z" }),
  });
  const [row, ...more] = await rows.json();
  assert.equal(more.length, 0);
  assert.equal(row.transaction_id, answer.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.billing_basis, row.finish_reason], [
    "completed",
    "reported",
    "stop",
  ]);
  await endsAtOnce(next, signals.at(-1)!);
  await simulators.close();
  await database?.drop();
}

/** An idle service ends at once, whatever connections are kept open. */
async function endsAtOnce(service: ServiceProcess, signal: "SIGTERM" | "SIGINT"): Promise<void> {
  // The connection of this call is kept by the client.
  await (await fetch(`${service.baseUrl}/livez`)).text();
  const started = performance.now();
  service.kill(signal);
  assert.equal((await service.status).code, 0);
  assert.ok(performance.now() - started < promisedMs(5000), signal);
}

Deno.test("SIGTERM lets streams end, also one that is read on after its caller has left", async () => {
  const directory = temporaryDirectory("shutdown");
  const exchanges: FakeExchange[] = [];
  await using vendor = await startFakeVendor(async (exchange) => {
    if (exchange.request.method === "GET") return await exchange.answer(200, { data: [] });
    await exchange.head(200, { "content-type": "text/event-stream" });
    await exchange.write(streamEvents[0]! + streamEvents[1]!);
    exchanges.push(exchange);
  });
  await using database = await anyDatabase();
  const env = {
    ...database.env,
    DATA_DIR: directory,
    VENDOR_B_BASE_URL: vendor.url,
    VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
  };
  await using service = await startService({ env });
  const made = await callControl(directory, [
    ...["key", "create", "--name", "drains", "--on-disconnect", "drain"],
  ]);
  const { key } = made!.json as { key: string };
  const call = () =>
    fetch(`${service.baseUrl}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: "gpt-4.1",
        stream: true,
        messages: [{ role: "user", content: "Talk." }],
      }),
    });
  const [left, stays] = [await call(), await call()];
  await left.body!.cancel();
  await untilCalls(service.baseUrl, 1);
  service.kill("SIGTERM");
  await untilRefused(service.baseUrl);
  for (const event of streamEvents.slice(2)) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const exchange of exchanges) await exchange.write(event).catch(() => {});
  }
  for (const exchange of exchanges) await exchange.end().catch(() => {});
  assert.match(await stays.text(), /data: \[DONE\]\n\n$/);
  assert.equal((await service.status).code, 0);
  // Said when the stop began: at its end there is none.
  const said = /info stopping: .* requests=1 left_by_callers=1 background_calls=0 /;
  assert.match(service.output(), said);
  const { rows, settles } = await readBooks(directory, database.env.DATABASE_URL);
  const ids = [left, stays].map(({ headers }) => headers.get("x-transaction-id"));
  assert.deepEqual(rows.map(({ id }) => id).sort(), ids.sort());
  const charged = settles.map(({ chargedNanos }) => chargedNanos);
  assert.deepEqual(charged, [60_000n, 60_000n], "what the vendor reported at the end");
});

// A second of processor time: a parent and a worker start. No signal listener may be missing there.
Deno.test("SIGTERM ends a start that waits for its database, a parent's with its worker", async () => {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { args, env } = commandOf({}, Deno.env.get("TEST_BUNDLE"));
  const directory = temporaryDirectory("start");
  const address = `postgres://u:p@127.0.0.1:${database.addr.port}/d`;
  await using parent = new Deno.Command(Deno.execPath(), {
    args,
    env: { ...env, PORT: "0", DATA_DIR: directory, DATABASE_URL: address, WORKERS: "2" },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const printed = new Response(parent.stderr).text();
  using _waiting = await database.accept();
  parent.kill("SIGTERM");
  assert.equal((await parent.status).code, 0);
  assert.equal(await printed, "");
});

Deno.test("SIGHUP doesn't end a start with MODELS_FILE that waits for its database", async () => {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { args, env } = commandOf({}, Deno.env.get("TEST_BUNDLE"));
  const directory = temporaryDirectory("reload");
  const models = `${directory}/models.json`;
  await Deno.writeTextFile(models, "{}");
  const address = `postgres://u:p@127.0.0.1:${database.addr.port}/d`;
  await using starting = new Deno.Command(Deno.execPath(), {
    args,
    env: { ...env, PORT: "0", DATA_DIR: directory, DATABASE_URL: address, MODELS_FILE: models },
    stdout: "null",
    stderr: "null",
  }).spawn();
  using _waiting = await database.accept();
  starting.kill("SIGHUP");
  starting.kill("SIGTERM");
  const { code, signal } = await starting.status;
  assert.deepEqual([code, signal], [0, null]);
});

/** Resolves when the service has noticed that callers have left, and has so many calls. */
async function untilCalls(address: string, calls: number): Promise<void> {
  for (const deadline = performance.now() + promisedMs(5000);;) {
    const metrics = await (await fetch(`${address}/metrics`)).text();
    if (metrics.includes(`\ngateway_calls_under_way ${calls}\n`)) return;
    assert.ok(performance.now() < deadline, "the caller still counts");
  }
}

/** Resolves when no new connection is taken any more. */
async function untilRefused(address: string): Promise<void> {
  const { hostname, port } = new URL(address);
  const deadline = performance.now() + promisedMs(5000);
  for (;;) {
    try {
      (await Deno.connect({ hostname, port: Number(port) })).close();
    } catch {
      return;
    }
    assert.ok(performance.now() < deadline, "new connections are still taken");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

Deno.test({
  name: "neither the end nor the next start waits long for records of a locked account",
  ignore: !available,
  fn: async () => {
    const created = await createMigrated();
    const database = await openPostgres(created.url);
    try {
      const env = { DATABASE_URL: created.url, DATA_DIR: temporaryDirectory("locked") };
      const service = await startSimulatedService(env);
      await service.admin("account", "create", "--name", "locked");
      const locked = await service.createKey("--account", "locked");
      await service.admin("credits", "grant", "--account", "locked", "--usd", "10");
      const call = async (key: string, { post } = service) => {
        const body = { model: "gpt-4.1", messages: [{ role: "user", content: "hello" }] };
        const headers = { authorization: `Bearer ${key}` };
        const answer = await post("/openai/v1/chat/completions", body, headers);
        assert.equal(answer.status, 200, await answer.text());
      };
      await call(service.key);
      let made = 0;
      // The credit that a call leaves goes back after five seconds, and the next one needs it.
      for (let calledMs = -Infinity; performance.now() - calledMs > 2500;) {
        assert.ok(made < 10, "this machine is too slow");
        calledMs = performance.now();
        await call(locked.key);
        assert.equal((await service.rows({}, locked.key)).length, ++made);
      }
      const next = await database.transaction(async (tx) => {
        const lock = "select from account_balances where account_id = $1 for update";
        await tx.query(lock, [locked.account_id]);
        for (const key of [locked.key, service.key]) await call(key);
        const startMs = performance.now();
        await service.stop();
        const seconds = (performance.now() - startMs) / 1000;
        assert.ok(seconds < promisedMs(20_000) / 1000, `the end took ${seconds} s`);
        const rows = await database.query("select account_id from interactions");
        assert.equal(rows.length, made + 2);
        const leases = await database.query("select account_id from leases where amount_nanos > 0");
        assert.deepEqual(leases, [{ account_id: BigInt(locked.account_id) }]);
        const starting = startSimulatedService(env);
        const next = await within(promisedMs(20_000), starting, "late");
        if (next === "late") throw new Error("the start waits for the locked account");
        await call(service.key, next);
        assert.equal((await next.rows({}, service.key)).length, 3);
        return next;
      });
      assert.match(service.log.join("\n"), /did not take in time stay in the journal .*waiting=1/);
      assert.equal((await next.rows({}, locked.key)).length, made + 1);
      await next.stop();
      const { rows, settles } = await readBooks(env.DATA_DIR, created.url);
      assert.deepEqual([rows.length, settles.length], [made + 4, made + 4]);
    } finally {
      await database.close();
      await created.drop();
    }
  },
});
