/** Random histories of whole calls, on several processes that are killed; a run by hand. */
import assert from "@std/assert";
import { newAccount } from "../store/samples.ts";
import { onPostgres } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { Random, seeds } from "../support/random.ts";
import type { CallRow } from "./whole_calls/call_rows.ts";
import { makeErrand } from "./whole_calls/calls.ts";
import { pausesOfCalls } from "./whole_calls/check.ts";
import { checkClosures } from "./whole_calls/check_model.ts";
import { carryOut } from "./whole_calls/history.ts";
import { checkHooks, type HookDeed, startHookReceiver } from "./whole_calls/hooks.ts";
import { moneyOperations } from "./whole_calls/money_operations.ts";

/** `WHOLE_CALLS=10 deno task test tests/faults/whole_calls_test.ts`: each takes about a minute. */
const histories = Number(Deno.env.get("WHOLE_CALLS") ?? 0);
const { available, reason } = postgresAvailability();

Deno.test("a seed repeats what its callers ask for", () => {
  const errandsOf = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 100 }, (_, number) => makeErrand(random, seed, number));
  };
  assert.deepEqual(errandsOf(205), errandsOf(205));
  assert.notDeepEqual(errandsOf(205), errandsOf(206));
});

Deno.test("after a pause, only calls of the process that was paused are excused", () => {
  const starts = [{ name: "process1", pauses: [{ fromMs: 1, toMs: 9_000 }] }, {
    name: "process2",
    pauses: [],
  }];
  const requests = ["process1", "process2"].map((name) => ({
    ...{ marker: `asked by ${name}`, sender: `sk-secret-${name}`, atMs: 10_000 },
  }));
  const errands = ["process1", "process2"].map((process) => ({
    attempts: [{ process, headers: { "x-transaction-id": `answered by ${process}` } }],
  }));
  const pausesOf = pausesOfCalls(
    { world: { places: [{ starts }], vendors: { requests } }, errands } as never,
  );
  const closures = [{ what: "a revoked key", fromMs: 0, toMs: Infinity, of: {} }];
  const isFound = (call: Partial<CallRow>) => {
    const row = { id: "another", createdMs: 10_000, chargedNanos: 1n, ...call } as CallRow;
    return checkClosures([row], { closures }, pausesOf).length > 0;
  };
  assert.equal(isFound({ id: "answered by process1" }), false);
  assert.equal(isFound({ id: "answered by process2" }), true);
  assert.equal(isFound({ marker: "asked by process1" }), false);
  assert.equal(isFound({ marker: "asked by process2" }), true);
  assert.equal(isFound({}), false, "any process may have made it");
  assert.equal(
    isFound({ id: "answered by process1", createdMs: 8_000 }),
    true,
    "before it went on",
  );
  assert.equal(isFound({ id: "answered by process1", createdMs: 15_000 }), true, "long after");
});

Deno.test("credit isn't taken back while an earlier grant may still be made", async () => {
  const asked: string[] = [];
  await using server = Deno.serve({ port: 0, onListen() {} }, (request) => {
    asked.push(request.headers.get("x-request-id")!);
    return new Response("", { status: 400 });
  });
  const service = { baseUrl: `http://127.0.0.1:${server.addr.port}` };
  const credits = [{ id: "earlier", accountId: 1, nanos: 5_000_000_000n, isAnswered: false }];
  const keys = new Map(["admin", "team"].map((name) => [name, { key: name, accountId: 1 }]));
  const [, takeBack] = moneyOperations["take all credit back"]!;
  await takeBack({
    world: { running: () => [{ name: "process1", service }], keys },
    deeds: { money: { credits, closures: [], isClosing: false }, unexpected: [] },
    ...{ random: new Random(1), seed: 1, errands: [] },
  } as never);
  assert.deepEqual(asked, ["earlier"]);
});

onPostgres("webhooks that are lost, left or unsent are found", async (database) => {
  await using receiver = startHookReceiver();
  const urlOf = (name: string) => `${receiver.url}/${name}`;
  const accountId = await newAccount(database);
  const add = async (name: string) => {
    await database.query(
      `insert into webhooks (id, account_id, url, events, sealed, key_version)
       values (gen_random_uuid()::text, $2, $1, '{}', '', 1)`,
      [urlOf(name), accountId],
    );
    await database.query(
      `insert into audit_log (account_id, at, actor, action, subject, detail)
       values ($1, now(), '{}', 'webhook.added', '', '')`,
      [accountId],
    );
  };
  for (const name of ["there", "left", "unknown"]) await add(name);
  const hook: HookDeed = { url: urlOf("there"), id: "there", tests: 0 };
  const problemsOf = (...hooks: HookDeed[]) => checkHooks(database, receiver, hooks);
  const unknown: HookDeed = { url: urlOf("unknown"), tests: 0 };
  const left: HookDeed = { url: urlOf("left"), id: "left", tests: 0, removal: "asked" };
  assert.deepEqual(await problemsOf(hook, unknown, left), []);
  assert.match((await problemsOf(hook, unknown)).join(), /^unexplained .*left/);
  const found = async (...hooks: HookDeed[]) => (await problemsOf(hook, ...hooks)).join();
  assert.match(await found(unknown, { ...left, removal: "answered" }), /^\{.*left.* is \[\{/);
  assert.match(await found(unknown, left, { ...hook, url: urlOf("lost") }), /lost.* is \[\]$/);
  const tested = { ...hook, tests: 1 };
  assert.match((await problemsOf(tested, unknown, left)).join(), /^0 events came of .*there/);
  const headers = { "webhook-id": "one" };
  await (await fetch(hook.url, { method: "POST", headers })).body?.cancel();
  assert.deepEqual(await problemsOf(tested, unknown, left), []);
  await database.query(
    `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     select 'one', id, '', 'webhook.test', '{}', now(), now(), now() from webhooks limit 1`,
    [],
  );
  assert.match(await found(unknown, left), /^not sent .*one/);
  await database.query("delete from audit_log", []);
  assert.match(await found(unknown, left), /webhooks and their notes .*0.*3/);
});

for (const seed of seeds(histories)) {
  Deno.test(`history ${seed}: callers, vendors, records and sums agree`, async () => {
    assert.ok(available, reason);
    const { problems, summary } = await carryOut(seed);
    console.log(`${summary}: ${problems.length} problems`);
    assert.deepEqual(problems.slice(0, 20), []);
  });
}
