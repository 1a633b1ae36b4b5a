import assert from "@std/assert";
import { closeInOrder } from "./lifecycle.ts";

type Closing = Parameters<typeof closeInOrder>;

/** What a stop has called so far, where the closings of leases never end and records drain so. */
async function stopped(drain: () => Promise<void>): Promise<string[]> {
  const called: string[] = [];
  const noted = (name: string, result: () => Promise<void>) => () => {
    called.push(name);
    return result();
  };
  const hangs = (name: string) => ({ close: noted(name, () => new Promise(() => {})) });
  const ends = { close: noted("other", () => Promise.resolve()), stop: () => {} };
  const drains = { drain: () => Promise.resolve() };
  const records = noted("records", () => Promise.resolve());
  const services = {
    records: { recorder: { drain, close: records, waiting: 1 } },
    rateLimiter: hangs("rate"),
    credit: { reservations: hangs("credit"), spendCaps: hangs("caps") },
    budgets: { budgetHolds: hangs("budgets") },
    ...{ idempotency: drains, responseCache: drains, exports: ends, refusalRecorder: ends },
    ...{ erasure: { deletions: ends }, evals: { evalRunner: ends }, loopWatch: ends },
    ...{ background: { backgroundRunner: ends }, webhooks: { webhookSender: ends } },
    log: { warn: () => {} },
  };
  const stack = new AsyncDisposableStack();
  const all = services as unknown as Closing[1];
  closeInOrder(stack, all, { start: () => {}, stop: () => {} });
  void stack.disposeAsync().catch(() => {});
  // Nothing here waits for anything but promises, so that all has happened after some turns.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  return called.filter((name) => name !== "other");
}

Deno.test("a stop returns all leases at once, so that a store that hangs is waited for once", async () => {
  const called = await stopped(() => Promise.resolve());
  assert.deepEqual(called.toSorted(), ["budgets", "caps", "credit", "rate"]);
});

Deno.test("a store that has not taken the records is asked to take no leases", async () => {
  const called = await stopped(() => Promise.reject(new Error("away")));
  assert.deepEqual(called, ["records"]);
});
