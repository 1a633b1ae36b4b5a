import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { createLog } from "../../src/base/log.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { Ledger, Settlement } from "../../src/credit/ledger.ts";
import {
  createReservations,
  type Reservation,
  type Reservations,
} from "../../src/credit/reservations.ts";
import { Line } from "../support/memory_ledger.ts";
import { Random } from "../support/random.ts";

/** Where a history takes place. */
export interface World {
  ledger: Ledger;
  clock: FakeClock;
  accountIds: readonly number[];
  /** Lets time pass for the store's leases. */
  pass(ms: number): Promise<void>;
  leaseIds(): Promise<ReadonlySet<string>>;
  /** Whether the store's time is the clock's alone. */
  isExact: boolean;
}

interface Open {
  id: string;
  accountId: number;
  boundNanos: bigint;
  reservation: Reservation;
  /** Whether its lease was gone before it was reserved, as must not be. */
  isUnfounded: boolean;
}

interface Process {
  id: string;
  line: Line;
  /** Undefined while it is down. */
  reservations: Reservations | undefined;
  calls: Open[];
  /** Its journal: ended calls that were not posted yet. Outlives the process. */
  journal: Settlement[];
  posted: Settlement[];
}

const leaseSeconds = 150;

/**
 * Plays one random history of several processes on one ledger against a model of plain sums, and
 * checks every invariant on the way and at the end. The same seed plays the same history.
 */
export async function playHistory(world: World, seed: number, steps: number): Promise<void> {
  const history = new History(world, new Random(seed));
  for (let step = 0; step < steps; step++) {
    await history.step();
    await history.check();
  }
  await history.end();
}

class History {
  readonly #world: World;
  readonly #random: Random;
  readonly #processes: Process[];
  /** Half of the histories have calls that cost more than their bound. */
  readonly #overruns: boolean;
  #names = 0;
  /** The model: per account what was granted and charged, and by how much it may be overdrawn. */
  readonly #model = new Map<number, { granted: bigint; charged: bigint; excused: bigint }>();
  readonly #unfounded = new Set<string>();
  /** Leases that were swept or taken back: charges on them are late. */
  readonly #gone = new Set<string>();
  readonly #counted = new Set<string>();

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    this.#overruns = random.below(2) === 0;
    for (const id of world.accountIds) {
      this.#model.set(id, { granted: 0n, charged: 0n, excused: 0n });
    }
    this.#processes = ["a", "b", "c"].map((id) => this.#born(`process-${id}`));
  }

  async step(): Promise<void> {
    const process = this.#random.pick(this.#processes);
    await this.#random.weighted<() => Promise<unknown>>([
      [2, () => this.#grant()],
      [14, () => this.#start(process)],
      [10, () => this.#finish(process)],
      [6, () => this.#post(process)],
      [6, () => this.#tick(1000 + this.#random.below(4000))],
      [1, () => this.#silence()],
      [2, () => this.#sweep()],
      [2, () => this.#crash(process)],
      [3, () => this.#restart(process)],
      [2, () => Promise.resolve(this.#cut(process))],
      [3, () => Promise.resolve(this.#mend(process))],
    ])();
    await this.#quiet();
  }

  /** Holds at any time. */
  async check(): Promise<void> {
    assert.deepEqual(await this.#world.ledger.check(), []);
    const left = await this.#world.ledger.available(this.#world.accountIds);
    for (const [id, { granted, charged, excused }] of this.#model) {
      const { balanceNanos } = await this.#world.ledger.show(id);
      assert.equal(balanceNanos, granted - charged, "the balance is grants − posted charges");
      assert.ok((left.get(id) ?? 0n) >= -excused, `overdrawn by ${left.get(id)}, of ${excused}`);
    }
  }

  /** Everyone comes back, all calls end, and nothing is held any more. */
  async end(): Promise<void> {
    for (const process of this.#processes) {
      this.#mend(process);
      await this.#restart(process);
      while (process.calls.length > 0) await this.#finish(process);
      await this.#quiet();
      await this.#postAll(process);
      await this.#postAll(process, process.posted);
    }
    await this.#tick(6000);
    await this.#tick(6000);
    await this.#sweep();
    // What a larger charge took from its neighbours may wait for the lease to expire.
    if (!this.#overruns) await this.#checkAllBack();
    await this.#silence();
    await this.#sweep();
    await this.check();
    assert.equal((await this.#world.leaseIds()).size, 0, "no lease is stranded");
    await this.#checkAllBack();
    for (const id of this.#world.accountIds) {
      assert.equal((await this.#world.ledger.show(id)).reservedNanos, 0n);
    }
    for (const process of this.#processes) await process.reservations?.close();
  }

  async #checkAllBack(): Promise<void> {
    const left = await this.#world.ledger.available(this.#world.accountIds);
    for (const [id, { granted, charged }] of this.#model) {
      assert.equal(left.get(id) ?? 0n, granted - charged, "all of the balance can be spent");
    }
  }

  #born(id: string): Process {
    const process: Process = {
      id,
      line: new Line(this.#world.ledger),
      reservations: undefined,
      calls: [],
      journal: [],
      posted: [],
    };
    process.reservations = this.#escrowOf(process);
    return process;
  }

  #escrowOf(process: Process): Reservations {
    return createReservations({
      ledger: process.line.ledger,
      clock: this.#world.clock,
      log: createLog((line) => assert.fail(line), () => this.#world.clock.now()),
      newId: () => this.#name("id"),
      processId: process.id,
      leaseSeconds,
      shared: true,
    });
  }

  async #grant(): Promise<void> {
    const id = this.#random.pick(this.#world.accountIds);
    // From a few calls' worth to more than a lease takes ahead.
    const nanos = BigInt(1 + this.#random.below(2000)) * 1_000_000n;
    await this.#world.ledger.grant(id, nanos);
    this.#model.get(id)!.granted += nanos;
  }

  async #start(process: Process): Promise<void> {
    const { reservations } = process;
    if (!reservations) return;
    const accountId = this.#random.pick(this.#world.accountIds);
    const calls = 1 + this.#random.below(6);
    await Promise.all(Array.from({ length: calls }, async () => {
      const boundNanos = BigInt(1 + this.#random.below(40)) * 1_000_000n;
      try {
        const reservation = await reservations.reserve(accountId, boundNanos);
        const isUnfounded = this.#gone.has(reservation.leaseId!);
        assert.ok(!isUnfounded || !this.#world.isExact, "reserved from a lease that is gone");
        const id = this.#name("call");
        process.calls.push({ id, accountId, boundNanos, reservation, isUnfounded });
      } catch (thrown) {
        const code = thrown instanceof Fault ? thrown.code : String(thrown);
        assert.match(code, /^(insufficient_credits|store_unavailable)$/);
        if (process.line.mode === "fine") assert.equal(code, "insufficient_credits");
      }
    }));
  }

  /** A call ends: at its bound, below it, with nothing, or, seldom, above it. */
  #finish(process: Process): Promise<void> {
    const at = this.#random.below(process.calls.length);
    const [call] = process.calls.splice(at, 1);
    if (!call) return Promise.resolve();
    const { boundNanos, reservation } = call;
    const charged = this.#random.weighted([
      [3, boundNanos],
      [6, boundNanos * BigInt(this.#random.below(100)) / 100n],
      [2, 0n],
      [this.#overruns ? 1 : 0, boundNanos + BigInt(this.#random.below(20)) * 1_000_000n],
    ]);
    reservation.settle(charged);
    // Whatever comes later counts for nothing.
    reservation.settle(charged + 1n);
    if (charged > boundNanos) this.#model.get(call.accountId)!.excused += charged - boundNanos;
    const { accountId } = call;
    const { leaseId } = reservation;
    const settlement = { interactionId: call.id, accountId, leaseId, chargedNanos: charged };
    if (call.isUnfounded) this.#unfounded.add(call.id);
    process.journal.push(settlement);
    return Promise.resolve();
  }

  async #post(process: Process): Promise<void> {
    if (process.reservations) await this.#postAll(process);
  }

  async #postAll(process: Process, batch = [...process.journal]): Promise<void> {
    const { mode } = process.line;
    const reaches = mode === "fine" || mode === "mute";
    if (reaches) { for (const one of batch) this.#count(one); }
    const result = await process.line.ledger.post(batch).then(() => true, () => false);
    if (!result) return;
    process.posted.push(...batch);
    process.journal = process.journal.filter((one) => !batch.includes(one));
  }

  #count({ interactionId, accountId, leaseId, chargedNanos }: Settlement): void {
    if (this.#counted.has(interactionId)) return;
    this.#counted.add(interactionId);
    const model = this.#model.get(accountId)!;
    model.charged += chargedNanos;
    const isLate = leaseId !== null && this.#gone.has(leaseId);
    if (isLate && !this.#unfounded.has(interactionId)) model.excused += chargedNanos;
  }

  async #tick(ms: number): Promise<void> {
    this.#world.clock.advance(ms);
    await this.#world.pass(ms);
    for (const { reservations } of this.#processes) await reservations?.tick().catch(() => {});
    await this.#quiet();
  }

  /** Longer than a lease in which nobody does anything, as when machines are suspended. */
  async #silence(): Promise<void> {
    const ms = (leaseSeconds + 1 + this.#random.below(60)) * 1000;
    this.#world.clock.advance(ms);
    await this.#world.pass(ms);
  }

  async #sweep(): Promise<void> {
    await this.#losing(() => this.#world.ledger.sweepExpired());
  }

  async #losing(work: () => Promise<unknown>): Promise<void> {
    const before = await this.#world.leaseIds();
    await work();
    const after = await this.#world.leaseIds();
    for (const id of before) if (!after.has(id)) this.#gone.add(id);
  }

  async #crash(process: Process): Promise<void> {
    process.line.mode = "dead";
    await process.line.quiet();
    process.reservations = undefined;
    // Cut calls are recorded as interrupted and cost nothing.
    process.calls = [];
  }

  async #restart(process: Process): Promise<void> {
    if (process.reservations) return;
    process.line = new Line(this.#world.ledger);
    await this.#postAll(process);
    await this.#losing(() => process.line.ledger.takeBack(process.id));
    process.reservations = this.#escrowOf(process);
  }

  #cut(process: Process): void {
    if (process.reservations) process.line.mode = this.#random.pick(["away", "mute"] as const);
  }

  #mend(process: Process): void {
    if (process.reservations) process.line.mode = "fine";
  }

  async #quiet(): Promise<void> {
    for (const { line } of this.#processes) await line.quiet();
  }

  #name(kind: string): string {
    return `${kind}-${this.#names++}`;
  }
}
