import assert from "@std/assert";
import { AccountLease } from "./account_lease.ts";

const policy = { leaseMs: 150_000, idleMs: 5_000, aheadNanos: 100n };

/** A lease of 100, taken at 0. */
function filled(): AccountLease {
  const lease = new AccountLease(policy, 0);
  lease.noteCall(10n, 0);
  take(lease, 100n, 0);
  return lease;
}

function take(lease: AccountLease, grantedNanos: bigint, nowMs: number, more = {}): boolean {
  const granted = { id: "lease-1", extends: false, isNew: true, grantedNanos, ...more };
  return lease.taken(granted, nowMs, nowMs);
}

Deno.test("what a call reserves is held until it ends, then its charge is gone", () => {
  const lease = filled();
  const call = lease.reserve(40n, 0)!;
  assert.equal(lease.freeNanos(0), 60n);
  assert.equal(lease.inFlightNanos, 40n);
  assert.equal(lease.reserve(61n, 0), undefined);
  call.settle(15n);
  call.settle(15n);
  call.settle(0n);
  assert.equal(lease.freeNanos(0), 85n);
  assert.equal(lease.inFlightNanos, 0n);
});

Deno.test("a lease that the store makes anew holds only what it gave for it", () => {
  const lease = filled();
  take(lease, 30n, 10, { extends: true, isNew: true });
  assert.equal(lease.freeNanos(10), 30n);
  take(lease, 5n, 10, { extends: true, isNew: false });
  assert.equal(lease.freeNanos(10), 35n);
});

Deno.test("a lease ends a little before it does in the store, however late the answer came", () => {
  const lease = filled();
  assert.equal(lease.reserve(1n, 149_749) !== undefined, true);
  assert.equal(lease.reserve(1n, 149_750), undefined);
  const late = { id: "lease-2", extends: false, isNew: true, grantedNanos: 10n };
  assert.equal(lease.taken(late, 0, 149_750), false, "the answer is as old as a lease");
  assert.equal(lease.taken({ ...late, extends: true, isNew: false }, 149_000, 150_000), false);
  assert.equal(lease.taken(late, 149_000, 150_000), true);
});

Deno.test("a charge above its bound comes out of what is free, and never out of later credit", () => {
  const lease = filled();
  const [first, second] = [lease.reserve(40n, 0)!, lease.reserve(40n, 0)!];
  first.settle(50n);
  assert.equal(lease.freeNanos(0), 10n);
  second.settle(90n);
  assert.equal(lease.freeNanos(0), 0n);
});

Deno.test("near an empty balance what is free goes back, and nothing is taken ahead", () => {
  const lease = filled();
  lease.noteOthers(1000n);
  assert.equal(lease.takeSurplus(0, false), undefined);
  lease.noteOthers(99n);
  assert.deepEqual(lease.takeSurplus(0, false), { leaseId: "lease-1", nanos: 100n });
  assert.equal(lease.freeNanos(0), 0n);
  lease.noteOthers(39n);
  assert.equal(lease.demandAhead(0), undefined, "a quarter of it pays for no call");
});

Deno.test("a lease that holds nothing is not due, one with a call under way is", () => {
  const lease = filled();
  const call = lease.reserve(100n, 0)!;
  assert.equal(lease.held(29_999)?.isDue, false);
  assert.equal(lease.held(30_000)?.isDue, true);
  call.settle(100n);
  assert.equal(lease.held(30_000)?.isDue, false);
});

Deno.test("leases grow with the calls under way and with what is spent, and shrink again", () => {
  const lease = filled();
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 100n + 100n);
  const call = lease.reserve(90n, 0)!;
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 10n + 180n);
  call.settle(90n);
  // Two minutes at the pace of the first ten seconds.
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 10n + 90n * 6n * 2n);
  assert.equal(lease.demand([10n], 60_000).aheadNanos, 10n - 10n + 180n);
  for (let minute = 1; minute < 20; minute++) lease.fade(minute * 30_000);
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 10n + 100n);
});
