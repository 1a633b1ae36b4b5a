import assert from "@std/assert";
import { AccountLease } from "./account_lease.ts";

const policy = { leaseMs: 150_000, idleMs: 5_000, aheadNanos: 100n };

/** A purse with a lease of 100, taken at 0. */
function filled(): AccountLease {
  const purse = new AccountLease(policy, 0);
  purse.noteCall(10n, 0);
  take(purse, 100n, 0);
  return purse;
}

function take(purse: AccountLease, grantedNanos: bigint, nowMs: number, more = {}): boolean {
  const lease = { id: "lease-1", extends: false, isNew: true, grantedNanos, ...more };
  return purse.taken(lease, nowMs, nowMs);
}

Deno.test("what a call reserves is held until it ends, then its charge is gone", () => {
  const purse = filled();
  const call = purse.reserve(40n, () => 0)!;
  assert.equal(purse.freeNanos(0), 60n);
  assert.equal(purse.inFlightNanos, 40n);
  assert.equal(purse.reserve(61n, () => 0), undefined);
  call.settle(15n);
  call.settle(15n);
  call.void();
  assert.equal(purse.freeNanos(0), 85n);
  assert.equal(purse.inFlightNanos, 0n);
});

Deno.test("a lease that the store makes anew holds only what it gave for it", () => {
  const purse = filled();
  take(purse, 30n, 10, { extends: true, isNew: true });
  assert.equal(purse.freeNanos(10), 30n);
  take(purse, 5n, 10, { extends: true, isNew: false });
  assert.equal(purse.freeNanos(10), 35n);
});

Deno.test("a lease ends a little before it does in the store, however late the answer came", () => {
  const purse = filled();
  assert.equal(purse.reserve(1n, () => 149_749) !== undefined, true);
  assert.equal(purse.reserve(1n, () => 149_750), undefined);
  const late = { id: "lease-2", extends: false, isNew: true, grantedNanos: 10n };
  assert.equal(purse.taken(late, 0, 149_750), false, "the answer is as old as a lease");
  assert.equal(purse.taken({ ...late, extends: true, isNew: false }, 149_000, 150_000), false);
  assert.equal(purse.taken(late, 149_000, 150_000), true);
});

Deno.test("a charge above its bound comes out of what is free, and never out of later credit", () => {
  const purse = filled();
  const [first, second] = [purse.reserve(40n, () => 0)!, purse.reserve(40n, () => 0)!];
  first.settle(50n);
  assert.equal(purse.freeNanos(0), 10n);
  second.settle(90n);
  assert.equal(purse.freeNanos(0), 0n);
});

Deno.test("near an empty balance what is free goes back, and nothing is taken ahead", () => {
  const purse = filled();
  purse.noteOthers(1000n);
  assert.equal(purse.takeSurplus(0, false), undefined);
  purse.noteOthers(99n);
  assert.deepEqual(purse.takeSurplus(0, false), { leaseId: "lease-1", nanos: 100n });
  assert.equal(purse.freeNanos(0), 0n);
  purse.noteOthers(39n);
  assert.equal(purse.demandAhead(0), undefined, "a quarter of it pays for no call");
});

Deno.test("a lease that holds nothing is not due, one with a call under way is", () => {
  const purse = filled();
  const call = purse.reserve(100n, () => 0)!;
  assert.equal(purse.held(29_999)?.isDue, false);
  assert.equal(purse.held(30_000)?.isDue, true);
  call.settle(100n);
  assert.equal(purse.held(30_000)?.isDue, false);
});

Deno.test("leases grow with the calls under way and with what is spent, and shrink again", () => {
  const purse = filled();
  assert.equal(purse.demand([10n], 0).aheadNanos, 10n - 100n + 100n);
  const call = purse.reserve(90n, () => 0)!;
  assert.equal(purse.demand([10n], 0).aheadNanos, 10n - 10n + 180n);
  call.settle(90n);
  // Two minutes at the pace of the first ten seconds.
  assert.equal(purse.demand([10n], 0).aheadNanos, 10n - 10n + 90n * 6n * 2n);
  assert.equal(purse.demand([10n], 60_000).aheadNanos, 10n - 10n + 180n);
  for (let minute = 1; minute < 20; minute++) purse.fade(minute * 30_000);
  assert.equal(purse.demand([10n], 0).aheadNanos, 10n - 10n + 100n);
});
