import { callers, startProgram } from "./callers.ts";
import { cells } from "./cells.ts";
import type { Figures } from "./figures.ts";
import { type Gateway, postgresMissing, startGateway, type StoreKind } from "./gateway.ts";
import type { BenchOptions } from "./options.ts";
import { residentBytes } from "./processes.ts";

/** The part of the time after which memory should have stopped growing. */
const warmPart = 0.3;
/** Growth in MiB a minute that counts as none: less than garbage collections differ by. */
const flat = 2;
/** How many seconds the store may be behind. */
const maxBehindSeconds = 3;

interface Sample {
  /** Seconds since the beginning. */
  seconds: number;
  mib: number;
  /** Age of the oldest record that the store doesn't have. */
  behindSeconds: number;
  waiting: number;
}

/**
 * Makes calls as fast as they are answered, for ten minutes (`--minutes`). Measures whether memory
 * still grows after the first third, and how far the store falls behind.
 */
export async function benchSoak(figures: Figures, options: BenchOptions): Promise<void> {
  using vendor = await startProgram("bench/programs/mock_vendor.ts");
  for (const store of (options.peers ?? ["embedded", "postgres"]) as StoreKind[]) {
    const missing = store === "postgres" ? postgresMissing() : undefined;
    if (missing !== undefined) {
      console.log(`soak on PostgreSQL skipped: ${missing}`);
      continue;
    }
    await using gateway = await startGateway({ store, vendorPort: vendor.port });
    await measure(figures, options, gateway, store);
  }
}

async function measure(
  figures: Figures,
  { minutes }: BenchOptions,
  gateway: Gateway,
  store: StoreKind,
): Promise<void> {
  const idle = residentBytes([gateway.pid]);
  const samples: Sample[] = [];
  const began = performance.now();
  const look = async () => {
    const metrics = await gateway.metrics();
    samples.push({
      seconds: (performance.now() - began) / 1000,
      mib: residentBytes([gateway.pid]) / 2 ** 20,
      behindSeconds: metrics.get("gateway_journal_oldest_seconds") ?? NaN,
      waiting: metrics.get("gateway_records_waiting") ?? NaN,
    });
  };
  const timer = setInterval(look, 1000);
  const since = new Date();
  const { vendorBody: body, connections } = cells[0]!;
  const sight = await callers({
    port: gateway.port,
    path: "/openai/v1/chat/completions",
    headers: { authorization: `Bearer ${gateway.key}` },
    ...{ body, connections, ms: minutes * 60_000 },
  });
  clearInterval(timer);
  const until = new Date();
  await gateway.stored();
  const storedAfter = (Date.now() - until.getTime()) / 1000;
  const warm = samples.filter(({ seconds }) => seconds >= warmPart * minutes * 60);
  const slope = slopeOf(warm.map(({ seconds, mib }) => [seconds / 60, mib]));
  const behind = Math.max(...samples.map(({ behindSeconds }) => behindSeconds));
  const failed = Object.values(sight.failed).reduce((all, one) => all + one, 0);
  const figure = {
    store,
    minutes,
    calls_per_second: Math.round(sight.answered / sight.seconds),
    answered: sight.answered,
    failed,
    p99_ms: Math.round(sight.p99 * 10) / 10,
    idle_mib: Math.round(idle / 2 ** 20),
    most_mib: Math.round(Math.max(...samples.map(({ mib }) => mib))),
    mib_per_minute: Math.round(slope * 100) / 100,
    most_seconds_behind: Math.round(behind * 100) / 100,
    most_records_waiting: Math.max(...samples.map(({ waiting }) => waiting)),
    stored_after_seconds: Math.round(storedAfter * 10) / 10,
    samples: samples.map(({ seconds, mib, behindSeconds }) =>
      [seconds, mib, behindSeconds].map(round1)
    ),
  };
  figures.add("soak", `${gateway.title}: ${minutes} minutes of calls`, [
    ["measure", "figure"],
    ["calls answered", `${figure.answered}, ${figure.calls_per_second}/s`],
    ["failed", String(failed)],
    ["memory, idle and at most", `${figure.idle_mib} MiB, ${figure.most_mib} MiB`],
    ["memory's slope after the first third", `${figure.mib_per_minute} MiB a minute`],
    ["the store behind, at most", `${figure.most_seconds_behind} s`],
    ["all stored after the last answer", `${figure.stored_after_seconds} s`],
  ], [figure]);
  if (failed > 0) figures.fail(`${gateway.title}: ${failed} calls failed`);
  if (slope > flat) {
    figures.fail(`${gateway.title}: memory grows by ${slope.toFixed(2)} MiB a minute`);
  }
  if (behind > maxBehindSeconds) figures.fail(`${gateway.title}: the store was ${behind} s behind`);
  gateway.remember({ name: "soak", answered: sight.answered, since, until });
  for (const wrong of await gateway.proveCharged()) figures.fail(wrong);
}

/** Returns the slope of the least-squares line through these points. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const products = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return products / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}

function round1(value: number): number {
  return Math.round(value * 10) / 10;
}
