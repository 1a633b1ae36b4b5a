import assert from "@std/assert";
import { maxNanos } from "../pricing/plausible.ts";
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

Deno.test("what a call costs above its bound comes out of what another has reserved, until that ends", () => {
  const lease = filled();
  const [first, second] = [lease.reserve(40n, 0)!, lease.reserve(60n, 0)!];
  first.settle(45n);
  assert.equal(lease.freeNanos(0), -5n);
  second.settle(0n);
  assert.equal(lease.freeNanos(0), 55n);
});

Deno.test("a lease that the store creates again holds only the amount that it granted", () => {
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

Deno.test("a charge far above its bound leaves nothing to others while a call is under way", () => {
  const lease = filled();
  const [first, second] = [lease.reserve(40n, 0)!, lease.reserve(40n, 0)!];
  first.settle(150n);
  assert.equal(lease.reserve(1n, 0), undefined);
  second.settle(0n);
  assert.equal(lease.freeNanos(0), 0n);
});

Deno.test("the least that is asked for is what the smallest of the waiting calls lacks", () => {
  const lease = filled();
  lease.reserve(95n, 0);
  const { atLeastNanos, wantedNanos } = lease.demand([30n, 10n, 20n], 0);
  assert.deepEqual([atLeastNanos, wantedNanos], [10n - 5n, 60n - 5n]);
});

Deno.test("a lease is filled up once less than three quarters of it are free", () => {
  const lease = filled();
  lease.reserve(25n, 0);
  assert.equal(lease.demandAhead(0), undefined);
  lease.reserve(1n, 0);
  assert.deepEqual(lease.demandAhead(0), {
    ...{ atLeastNanos: 0n, wantedNanos: 0n },
    aheadNanos: 100n - 74n,
  });
});

Deno.test("credit is taken ahead while a quarter of the rest pays for a call, or the rest is unknown", () => {
  const lease = new AccountLease(policy, 0);
  lease.noteCall(10n, 0);
  assert.equal(lease.demandAhead(0)?.aheadNanos, 100n);
  lease.noteOthers(40n);
  assert.equal(lease.demandAhead(0)?.aheadNanos, 100n);
  lease.noteOthers(39n);
  assert.equal(lease.demandAhead(0), undefined);
});

Deno.test("nothing is taken ahead where less is left for others than is free here", () => {
  const lease = filled();
  lease.noteCall(20n, 0);
  lease.noteOthers(99n);
  assert.equal(lease.demandAhead(0), undefined);
  lease.noteOthers(100n);
  assert.equal(lease.demandAhead(0)?.aheadNanos, 200n - 100n);
});

Deno.test("a demand is at most what an account can hold", () => {
  const { atLeastNanos, wantedNanos, aheadNanos } = filled().demand([2n * maxNanos], 0);
  assert.deepEqual([atLeastNanos, wantedNanos, aheadNanos], [maxNanos, maxNanos, maxNanos]);
});

Deno.test("enlarging a lease prolongs it, and an answer to an older request does not shorten it", () => {
  const lease = filled();
  take(lease, 5n, 50_000, { extends: true, isNew: false });
  take(lease, 5n, 10_000, { extends: true, isNew: false });
  assert.equal(lease.freeNanos(199_749), 110n);
  assert.equal(lease.held(79_999)?.isDue, false);
  assert.equal(lease.freeNanos(199_750), 0n);
});

Deno.test("renewing prolongs a lease, losing it ends it, and neither touches another lease", () => {
  const lease = filled();
  lease.renewed("lease-0", 50_000);
  lease.lost("lease-0");
  assert.equal(lease.freeNanos(149_749), 100n);
  assert.equal(lease.freeNanos(149_750), 0n);
  lease.renewed("lease-1", 50_000);
  assert.equal(lease.freeNanos(149_750), 100n);
  lease.lost("lease-1");
  assert.equal(lease.freeNanos(149_750), 0n);
});

Deno.test("without a lease there is nothing to renew or to give back", () => {
  const lease = new AccountLease(policy, 0);
  assert.equal(lease.held(0), undefined);
  assert.equal(lease.takeSurplus(0, true), undefined);
});

Deno.test("it is forgotten once it is idle, its lease has ended and no call is under way", () => {
  const lease = filled();
  const call = lease.reserve(10n, 0)!;
  assert.equal(lease.isEmpty(150_000), false, "a call is under way");
  call.settle(0n);
  assert.equal(lease.isEmpty(149_749), false, "its lease is live");
  lease.noteCall(10n, 149_750);
  assert.equal(lease.isEmpty(154_749), false, "it was used just now");
  assert.equal(lease.isEmpty(154_750), true);
});

Deno.test("a lease covers ten of the dearest recent calls, and an eighth less after each smaller one", () => {
  const lease = filled();
  const ahead = () => lease.demand([0n], 0).aheadNanos + lease.freeNanos(0);
  lease.noteCall(80n, 0);
  assert.equal(ahead(), 800n);
  lease.noteCall(8n, 0);
  assert.equal(ahead(), 700n);
  lease.noteCall(75n, 0);
  assert.equal(ahead(), 750n);
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

Deno.test("a lease that holds nothing is not due, one with a call under way or free credit is", () => {
  const lease = filled();
  const call = lease.reserve(100n, 0)!;
  assert.equal(lease.held(29_999)?.isDue, false);
  assert.equal(lease.held(30_000)?.isDue, true);
  call.settle(0n);
  assert.equal(lease.held(30_000)?.isDue, true, "free credit is held on to");
  lease.reserve(100n, 0)!.settle(100n);
  assert.equal(lease.held(30_000)?.isDue, false);
});

Deno.test("leases grow with the calls under way and with what is spent, and shrink again", () => {
  const lease = filled();
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 100n + 100n);
  const call = lease.reserve(90n, 0)!;
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 10n + 180n);
  call.settle(0n);
  lease.reserve(1n, 0)!.settle(0n);
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 100n + 180n, "the most there were at once");
  lease.reserve(90n, 0)!.settle(90n);
  // Two minutes at the pace of the first ten seconds.
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 10n + 90n * 6n * 2n);
  assert.equal(lease.demand([10n], 60_000).aheadNanos, 10n - 10n + 180n);
  for (let minute = 1; minute < 20; minute++) lease.fade(minute * 30_000);
  assert.equal(lease.demand([10n], 0).aheadNanos, 10n - 10n + 100n);
});

Deno.test("what was spent, and how much was under way, counts half after 30 seconds", () => {
  const lease = new AccountLease({ ...policy, aheadNanos: 0n }, 5_000);
  const ahead = (nowMs: number) => lease.demand([0n], nowMs).aheadNanos + lease.freeNanos(nowMs);
  lease.noteCall(1n, 5_000);
  take(lease, 130n, 5_000);
  for (let call = 0; call < 2; call++) lease.reserve(45n, 5_000)!.settle(45n);
  assert.equal(ahead(25_000), 90n * 3n * 2n, "two minutes at the pace of 20 seconds");
  assert.equal(ahead(65_000), 90n * 2n);
  assert.equal(ahead(125_000), 90n * 2n, "only decay makes it less");
  lease.fade(35_000);
  assert.equal(ahead(65_000), 45n * 2n);
  lease.fade(65_000);
  assert.equal(ahead(65_000), 23n * 2n);
  lease.reserve(40n, 65_000);
  lease.fade(95_000);
  assert.equal(ahead(95_000), 40n * 2n, "what is under way now does not decay");
});

Deno.test("after a long time all of it is forgotten", () => {
  const lease = new AccountLease({ ...policy, aheadNanos: 0n }, 0);
  lease.noteCall(1n, 0);
  take(lease, 100n, 0);
  lease.reserve(45n, 0)!.settle(45n);
  lease.fade(600_000);
  assert.equal(lease.demand([0n], 600_000).aheadNanos, 10n);
  lease.noteCall(1n, 600_000);
  take(lease, 100n, 600_000);
  lease.reserve(20n, 600_000)!.settle(20n);
  assert.equal(lease.demand([0n], 600_000).aheadNanos, 40n - 80n);
});
