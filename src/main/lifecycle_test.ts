import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { closeInOrder, storeLast } from "./lifecycle.ts";

const leases = ["budgets", "caps", "credit", "rate"];
const hangs = () => new Promise<void>(() => {});
const ends = () => Promise.resolve();

/** Services whose closings are noted; those of leases and of work never end if `isHanging`. */
function setUp(
  { ping = ends, drain = ends, isHanging = false }: {
    ping?: () => Promise<void>;
    drain?: () => Promise<void>;
    isHanging?: boolean;
  } = {},
) {
  const called: string[] = [];
  const noted = (name: string, end = isHanging ? hangs : ends) => ({
    close: () => (called.push(name), end()),
  });
  const recorder = { drain, close: ends, waiting: 1 };
  const services = {
    database: { ping },
    records: { recorder },
    rateLimiter: noted("rate"),
    credit: { reservations: noted("credit"), spendCaps: noted("caps") },
    budgets: { budgetHolds: noted("budgets") },
    ...{ exports: noted("exports"), erasure: { deletions: noted("deletions") } },
    ...{ evals: { evalRunner: noted("evals") }, refusalRecorder: noted("refusals") },
    ...{ background: { backgroundRunner: noted("background") } },
    ...{ webhooks: { webhookSender: noted("webhooks") }, loopWatch: { stop() {} } },
    log: { warn() {} },
  };
  return { called, services: services as unknown as Parameters<typeof closeInOrder>[1] };
}

/** Nothing here waits for anything but promises, which are settled after some turns. */
async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

Deno.test("a stop ends all work at once, and returns all leases at once", async () => {
  const { called, services } = setUp({ isHanging: true });
  const stack = new AsyncDisposableStack();
  closeInOrder(stack, services, { start() {}, stop() {} });
  void stack.disposeAsync();
  await settleDown();
  const work = ["background", "deletions", "evals", "exports", "refusals", "webhooks"];
  assert.deepEqual(called.toSorted(), work);
  called.length = 0;
  void storeLast(services, new FakeTimers().later);
  await settleDown();
  assert.deepEqual(called.toSorted(), leases);
});

Deno.test("leases are returned to a store that answers, also if it has not taken all records", async () => {
  for (const drain of [ends, hangs, () => Promise.reject(new Error("locked"))]) {
    const timers = new FakeTimers();
    const late = Promise.withResolvers<void>();
    const { called, services } = setUp({ ping: () => late.promise, drain });
    const end = storeLast(services, timers.later);
    timers.advance(1_999);
    await settleDown();
    assert.deepEqual(called, []);
    late.resolve();
    timers.advance(3_001);
    await end;
    assert.deepEqual(called.toSorted(), leases);
    assert.equal(timers.pending, 0);
  }
});

Deno.test("a store that hangs or is away is asked to take no leases", async () => {
  const hanging = setUp({ ping: hangs, drain: hangs });
  const timers = new FakeTimers();
  const end = storeLast(hanging.services, timers.later);
  // What waits for the records waits for the answer, too.
  timers.advance(5_000);
  await end;
  const away = setUp({ ping: () => Promise.reject(new Error("away")) });
  await storeLast(away.services, timers.later);
  assert.deepEqual([hanging.called, away.called], [[], []]);
});
