import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { createCreditSummaries, type CreditSummaryDeps } from "./credit_summary.ts";

const capped = { id: "key_1", accountId: 7, capDayNanos: 5n, capMonthNanos: null };

function summaries(deps: Partial<CreditSummaryDeps>) {
  const timers = new FakeTimers();
  const reads: number[] = [];
  const of = createCreditSummaries({
    credit: (accountId) => {
      reads.push(accountId);
      return Promise.resolve({ balanceNanos: BigInt(reads.length), reservedNanos: 0n });
    },
    spent: (keyIds) =>
      Promise.resolve(new Map(keyIds.map((id) => [id, { dayNanos: 2n, monthNanos: 32n }]))),
    clock: timers.clock,
    setTimer: timers.later,
    ...deps,
  });
  return { of, timers, reads };
}

Deno.test("who polls reads the store once a second", async () => {
  const { of, timers, reads } = summaries({});
  const first = await Promise.all([of(capped), of(capped)]);
  assert.deepEqual(first[0], { balanceNanos: 1n, dayNanos: 2n, monthNanos: 32n });
  assert.equal(first[1], first[0]);
  timers.advance(999);
  assert.equal((await of(capped))?.balanceNanos, 1n);
  timers.advance(1);
  assert.equal((await of(capped))?.balanceNanos, 2n);
  assert.deepEqual(reads, [7, 7]);
  assert.equal(timers.pending, 0);
});

Deno.test("a key without caps has no sums to read", async () => {
  const { of } = summaries({ spent: () => assert.fail("they were read") });
  const summary = await of({ ...capped, capDayNanos: null });
  assert.deepEqual(summary, { balanceNanos: 1n, dayNanos: 0n, monthNanos: 0n });
});

Deno.test("a store that is away or hangs says nothing, and holds nobody up", async () => {
  const away = summaries({ credit: () => Promise.reject(new Fault("store_unavailable")) });
  assert.equal(await away.of(capped), undefined);
  const hanging = summaries({ credit: () => new Promise(() => {}) });
  const waited = hanging.of(capped);
  hanging.timers.advance(1000);
  assert.equal(await waited, undefined);
});

Deno.test("summaries of 10,000 keys are held, and no more", async () => {
  const { of, reads } = summaries({});
  const poll = (key: number) => of({ ...capped, id: `key_${key}`, capDayNanos: null });
  for (let key = 0; key < 10_000; key++) await poll(key);
  await poll(0);
  assert.equal(reads.length, 10_000);
  await poll(10_000);
  await poll(0);
  assert.equal(reads.length, 10_002);
});
