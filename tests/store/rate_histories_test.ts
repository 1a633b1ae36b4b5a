import assert from "@std/assert";
import { Random, seeds } from "../support/random.ts";
import type { Clock } from "../../src/base/clock.ts";
import { type RateLimits, unitsPerToken } from "../../src/rate_limits/rate_limit.ts";
import type { RateLimiter } from "../../src/rate_limits/rate_limiter.ts";
import { IdealBucket, SharedTime } from "../support/rate_model.ts";
import { MemoryBucket, startProcess, type StoreMood } from "../support/rate_world.ts";

const tiers: readonly RateLimits[] = [
  { requestsPerMinute: 60, burst: 100 },
  { requestsPerMinute: 600, burst: 1000 },
  { requestsPerMinute: 60, burst: 1 },
  { requestsPerMinute: 7, burst: 3 },
  { requestsPerMinute: 6000, burst: 20 },
];

interface Process {
  limiter: RateLimiter;
  clock: Clock & { jump(ms: number): void };
  mood: StoreMood;
}

/** Several processes on one bucket, and the bucket that they must not exceed. */
class World {
  readonly time = new SharedTime();
  databaseOffsetMs = 0;
  limits: RateLimits;
  readonly bucket: MemoryBucket;
  readonly ideal: IdealBucket;
  readonly processes: Process[] = [];
  readonly history: string[] = [];
  admitted = 0;
  #starts = 0;

  constructor(readonly random: Random, count: number) {
    this.limits = random.pick(tiers);
    this.bucket = new MemoryBucket(this.limits, () => this.time.ms + this.databaseOffsetMs);
    this.ideal = new IdealBucket(this.limits, this.time.ms);
    for (let at = 0; at < count; at++) this.processes.push(this.start(`p${at}`));
  }

  start(name: string): Process {
    const clock = this.time.clock();
    const process: Process = { clock, mood: "there", limiter: undefined as never };
    const store = this.bucket.store(() => process.mood);
    process.limiter = startProcess(name, store, clock, 20_000, `s${++this.#starts}`).limiter;
    return process;
  }

  async take(process: Process): Promise<boolean> {
    const { requestsPerMinute, burst } = this.limits;
    const decision = await process.limiter.take({ id: 1, requestsPerMinute, burst })
      .catch(() => undefined);
    if (!decision?.admitted) return false;
    this.admitted++;
    this.ideal.admit(this.time.ms, () => this.history.slice(-60).join("\n"));
    return true;
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      this.time.ms += Math.min(500, left);
      for (const { limiter } of this.processes) await limiter.tick().catch(() => {});
    }
  }

  async changeTier(): Promise<void> {
    // What processes hold at the change may still be spent; so that it is known, they report.
    for (const process of this.processes) process.mood = "there";
    await this.pass(1);
    this.limits = this.random.pick(tiers);
    const { bucket } = this.bucket;
    const held = (bucket?.holders ?? []).reduce((sum, one) => sum + one.held + one.selfIssued, 0);
    this.bucket.limits = this.limits;
    if (bucket) this.bucket.bucket = { ...bucket, fill: true };
    this.ideal.changeTier(this.limits, held, this.time.ms);
    for (const process of this.processes) {
      // A process that is cut off before it hears of the change goes by the old limits.
      await this.take(process);
    }
  }
}

/** `HISTORIES=1000` plays 30,000. */
const histories = Math.max(1000, 30 * Number(Deno.env.get("HISTORIES") ?? 0));

type Event = [name: string, weight: number, act: (world: World, at: number) => Promise<void>];

const calm: Event[] = [
  ["takes", 10, async (world, at) => {
    for (let count = world.random.below(40); count >= 0; count--) {
      await world.take(world.processes[at]!);
    }
  }],
  ["parallel takes", 3, async (world, at) => {
    const process = world.processes[at]!;
    await Promise.all(Array.from({ length: world.random.below(50) }, () => world.take(process)));
  }],
  ["a moment", 8, (world) => world.pass(world.random.below(900))],
  ["a while", 2, (world) => world.pass(world.random.below(12_000))],
  ["wall clock jumps", 1, (world, at) => {
    world.processes[at]!.clock.jump((world.random.below(3) - 1) * 86_400_000);
    return Promise.resolve();
  }],
];

const wild: Event[] = [
  ...calm,
  ["stall", 1, (world) => {
    world.time.ms += world.random.below(30_000);
    return Promise.resolve();
  }],
  ["crash", 1, (world, at) => {
    world.processes[at] = world.start(
      world.random.below(2) ? `p${at}` : `new${world.random.below(1e6)}`,
    );
    return Promise.resolve();
  }],
  ["stop", 1, async (world, at) => {
    await world.processes[at]!.limiter.close();
    world.processes[at] = world.start(`p${at}`);
  }],
  ["mood", 2, (world, at) => {
    const moods: StoreMood[] = ["there", "there", "away", "write_lost", "answer_lost"];
    world.processes[at]!.mood = world.random.pick(moods);
    return Promise.resolve();
  }],
  ["store away from all", 1, (world) => {
    for (const process of world.processes) process.mood = "away";
    return Promise.resolve();
  }],
  ["store there for all", 2, (world) => {
    for (const process of world.processes) process.mood = "there";
    return Promise.resolve();
  }],
  // While every process is in touch: a step back during a silence can't be told from less time.
  ["database clock goes back", 1, async (world) => {
    for (const process of world.processes) process.mood = "there";
    await world.pass(1);
    world.databaseOffsetMs -= world.random.below(100_000);
    await world.pass(1);
  }],
  ["tier", 1, (world) => world.changeTier()],
];

async function play(seed: number, events: Event[], steps: number): Promise<World> {
  const random = new Random(seed);
  const world = new World(random, 1 + random.below(4));
  const total = events.reduce((sum, [, weight]) => sum + weight, 0);
  for (let step = 0; step < steps; step++) {
    let pick = random.below(total);
    const [name, , act] = events.find(([, weight]) => (pick -= weight) < 0)!;
    const at = random.below(world.processes.length);
    world.history.push(`seed ${seed} ${step} at ${world.time.ms}: ${name} (p${at})`);
    await act(world, at);
  }
  return world;
}

Deno.test("no history of several processes admits more than one bucket would", async () => {
  let admitted = 0;
  for (const seed of seeds(histories)) admitted += (await play(seed, wild, 40)).admitted;
  assert.ok(admitted > 50 * histories, `${admitted} admitted: the histories are too tame`);
});

Deno.test("without failures nothing strands: what is left is there for any one process", async () => {
  for (const seed of seeds(300)) {
    const world = await play(seed, calm, 30);
    await world.pass(7_000);
    const left = Math.floor(world.ideal.units(world.time.ms) / unitsPerToken);
    const one = world.random.pick(world.processes);
    let admitted = 0;
    while (await world.take(one)) admitted++;
    // A full bucket loses what would have refilled before the spending was reported.
    const lost = Math.ceil(world.limits.requestsPerMinute / 120) + 1;
    assert.ok(admitted <= left && admitted >= left - lost, `seed ${seed}: ${admitted} of ${left}`);
  }
});
