import { callers, startProgram } from "./callers.ts";
import { cells } from "./cells.ts";
import { type Contender, startContender } from "./contenders.ts";
import type { Figures } from "./figures.ts";
import type { BenchOptions } from "./options.ts";

const connections = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** Limits on the 99th percentile in milliseconds, as in public benchmarks of gateways. */
const limits = [5, 10, 20, 50, 100, 200];

interface Step {
  connections: number;
  perSecond: number;
  p50: number;
  p99: number;
}

/** Measures how many calls a second are answered while 99 % of them stay within a limit. */
export async function benchLadder(figures: Figures, options: BenchOptions): Promise<void> {
  using vendor = await startProgram("bench/programs/mock_vendor.ts");
  const rows = [[
    "contender",
    "added p50 ms at 1",
    "added p99 ms at 1",
    ...limits.map((one) => `p99 ≤ ${one} ms`),
  ]];
  const made = [];
  let bare: Step | undefined;
  for (const name of options.peers ?? ["bare", "embedded", "postgres"]) {
    const contender = await startContender(name, vendor.port);
    if (typeof contender === "string") {
      console.log(`${name} skipped: ${contender}`);
      continue;
    }
    await using _ended = contender;
    const steps = await climb(contender, options);
    bare ??= name === "bare" ? steps[0] : undefined;
    const best = limits.map((limit) =>
      Math.max(0, ...steps.filter(({ p99 }) => p99 <= limit).map(({ perSecond }) => perSecond))
    );
    const added = (which: "p50" | "p99") =>
      bare === undefined ? "" : (steps[0]![which] - bare[which]).toFixed(2);
    rows.push([
      ...[contender.title, added("p50"), added("p99")],
      ...best.map((one) => one === 0 ? "–" : one.toFixed(0)),
    ]);
    made.push({ contender: name, title: contender.title, steps });
    for (const wrong of await contender.gateway?.proveCharged() ?? []) figures.fail(wrong);
  }
  figures.add("ladder", "whole calls a second by the 99th percentile", rows, made);
}

async function climb(contender: Contender, { seconds }: BenchOptions): Promise<Step[]> {
  const cell = cells[0]!;
  const shot = contender.requestFor(cell)!;
  await callers({ ...shot, connections: 32, ms: 500 * seconds });
  const steps: Step[] = [];
  for (const most of connections) {
    await contender.gateway?.stored();
    const since = new Date();
    const sight = await callers({ ...shot, connections: most, ms: 1000 * seconds });
    const { answered, p50, p99 } = sight;
    contender.gateway?.remember({
      name: `${most} connections`,
      answered,
      since,
      until: new Date(),
    });
    steps.push({ connections: most, perSecond: answered / sight.seconds, p50, p99 });
  }
  return steps;
}
