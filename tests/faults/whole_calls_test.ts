/** Random histories of whole calls, on several processes that are killed; a run by hand. */
import assert from "@std/assert";
import { postgresAvailability } from "../support/postgres.ts";
import { Random, seeds } from "../support/random.ts";
import type { CallRow } from "./whole_calls/call_rows.ts";
import { makeErrand } from "./whole_calls/calls.ts";
import { pausesOfCalls } from "./whole_calls/check.ts";
import { checkClosures } from "./whole_calls/check_model.ts";
import { carryOut } from "./whole_calls/history.ts";
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

for (const seed of seeds(histories)) {
  Deno.test(`history ${seed}: callers, vendors, records and sums agree`, async () => {
    assert.ok(available, reason);
    const { problems, summary } = await carryOut(seed);
    console.log(`${summary}: ${problems.length} problems`);
    assert.deepEqual(problems.slice(0, 20), []);
  });
}
