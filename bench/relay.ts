import { callers, firstSeconds, startProgram } from "./callers.ts";
import { type Cell, cells } from "./cells.ts";
import { type Contender, contenderNames, startContender } from "./contenders.ts";
import type { Figure, Figures } from "./figures.ts";
import type { BenchOptions } from "./options.ts";
import { cpuPerCall, cpuTimes, hasProc, residentBytes, total } from "./processes.ts";
import type { CallerSight } from "./programs/caller.ts";

/** The results of one contender in one round. */
interface Round extends CallerSight {
  cpu: ReturnType<typeof cpuPerCall>;
  residentBytes: number;
}

/**
 * Compares the gateway with everything on (records with payloads, journal on disk, credit, limits)
 * with proxies that only move bytes and with other gateways, which take turns in one run. Vendor,
 * callers and contenders are processes of their own. Fails if the gateway's store doesn't hold each
 * answered call and its charge.
 */
export async function benchRelay(figures: Figures, options: BenchOptions): Promise<void> {
  using vendor = await startProgram("bench/programs/mock_vendor.ts");
  await using started = new AsyncDisposableStack();
  const contenders: Contender[] = [];
  for (const name of options.peers ?? contenderNames) {
    const contender = await startContender(name, vendor.port);
    if (typeof contender === "string") console.log(`${name} skipped: ${contender}`);
    else contenders.push(started.use(contender));
  }
  const idle = new Map(contenders.map((one) => [one, residentBytes(one.pids)]));
  const wanted = cells.filter(({ name }) => options.cells?.includes(name) ?? true);
  // Warms all contenders up, since their runtimes optimise code for many seconds.
  for (const one of wanted[0] ? contenders : []) {
    const seconds = one.gateway ? firstSeconds.gateway : firstSeconds.proxy;
    if (one.requestFor(wanted[0]!)) await ask(one, wanted[0]!, seconds);
  }
  for (const cell of wanted) {
    report(figures, cell, await measure(cell, contenders, options), idle);
  }
  reportMemory(figures, contenders, idle);
  for (const { gateway } of contenders) {
    for (const wrong of await gateway?.proveCharged() ?? []) figures.fail(wrong);
  }
}

/** Measures a cell in rounds, in which contenders take turns. Returns the rounds by contender. */
async function measure(
  cell: Cell,
  contenders: readonly Contender[],
  { seconds, rounds = 3 }: BenchOptions,
): Promise<Map<Contender, Round[]>> {
  const able = contenders.filter((one) => one.requestFor(cell) !== undefined);
  const found = new Map<Contender, Round[]>(able.map((one) => [one, []]));
  // Whole calls that are passed through don't warm up the code that only others use.
  const hasOwnCode = cell.isStreamed || cell.isTranslated;
  const again = hasOwnCode ? firstSeconds.gateway : 2 * seconds;
  for (const one of able) await ask(one, cell, one.gateway ? again : seconds / 2);
  for (let round = 0; round < rounds; round++) {
    // The order alternates, since the machine may be quieter or warmer for the first.
    const order = round % 2 === 0 ? able : able.toReversed();
    for (const one of order) found.get(one)!.push(await timed(one, cell, seconds));
  }
  return found;
}

function ask(contender: Contender, cell: Cell, seconds: number): Promise<CallerSight> {
  const { connections } = cell;
  return callers({ ...contender.requestFor(cell)!, connections, ms: seconds * 1000 });
}

async function timed(contender: Contender, cell: Cell, seconds: number): Promise<Round> {
  const { pids, storePid, gateway } = contender;
  await gateway?.stored();
  const since = new Date();
  const before = cpuTimes(pids, storePid);
  const sight = await ask(contender, cell, seconds);
  const until = new Date();
  const resident = residentBytes(pids);
  // Writing the remaining records belongs to the cost of the calls.
  await gateway?.stored();
  const cpu = cpuPerCall(before, cpuTimes(pids, storePid), sight.answered);
  const { answered } = sight;
  gateway?.remember({ name: cell.name, answered, since, until });
  return { ...sight, cpu, residentBytes: resident };
}

function report(
  figures: Figures,
  cell: Cell,
  found: ReadonlyMap<Contender, readonly Round[]>,
  idle: ReadonlyMap<Contender, number>,
): void {
  const rateOf = (rounds: readonly Round[]) =>
    sum(rounds.map(({ answered }) => answered)) / sum(rounds.map(({ seconds }) => seconds));
  const bare = [...found].find(([{ name }]) => name === "bare")?.[1];
  const node = [...found].find(([{ name }]) => name === "bare-node")?.[1];
  const made: Figure[] = [];
  const rows = [head];
  for (const [contender, rounds] of found) {
    const rate = rateOf(rounds);
    const cpu = mean(rounds);
    const failed = sum(rounds.flatMap((round) => Object.values(round.failed)));
    const figure = {
      cell: cell.name,
      connections: cell.connections,
      contender: contender.name,
      title: contender.title,
      of_bare: bare ? round3(rate / rateOf(bare)) : null,
      of_bare_spread: bare ? spread(rounds, bare) : null,
      of_bare_node: node ? round3(rate / rateOf(node)) : null,
      calls_per_second: round1(rate),
      p50_ms: round3(median(rounds.map(({ p50 }) => p50))),
      p99_ms: round3(median(rounds.map(({ p99 }) => p99))),
      answered: sum(rounds.map(({ answered }) => answered)),
      failed,
      cpu_us_per_call: hasProc ? { total: round1(total(cpu)), ...rounded(cpu) } : null,
      callers_cpu_us_per_call: round1(median(rounds.map(({ cpuMicros }) => cpuMicros))),
      resident_idle_mib: mib(idle.get(contender) ?? 0),
      resident_under_load_mib: mib(Math.max(...rounds.map((round) => round.residentBytes))),
    };
    made.push(figure);
    rows.push(line(figure, cpu));
    if (contender.gateway && failed > 0) {
      figures.fail(`${contender.title}: ${cell.name}: ${failed} calls failed`);
    }
  }
  figures.add("relay", `${cell.title}, ${cell.connections} connections`, rows, made);
}

const head = [
  ...["contender", "of bare fetch", "of bare node:http", "calls/s", "p50 ms", "p99 ms"],
  ...["CPU µs a call", "main", "workers", "V8", "other", "store", "failed"],
];

function line(figure: Figure, cpu: Round["cpu"]): string[] {
  const percent = (part: unknown) => typeof part === "number" ? part.toFixed(2) : "";
  const micros = [total(cpu), cpu.main, cpu.workers, cpu.v8, cpu.other, cpu.store];
  return [
    ...[String(figure.title), percent(figure.of_bare), percent(figure.of_bare_node)],
    ...[figure.calls_per_second, figure.p50_ms, figure.p99_ms].map(String),
    ...(hasProc ? micros.map((one) => one.toFixed(0)) : micros.map(() => "")),
    String(figure.failed),
  ];
}

function reportMemory(
  figures: Figures,
  contenders: readonly Contender[],
  idle: ReadonlyMap<Contender, number>,
): void {
  if (!hasProc) return;
  const made = contenders.map((one) => ({
    contender: one.name,
    title: one.title,
    resident_idle_mib: mib(idle.get(one)!),
    resident_after_mib: mib(residentBytes(one.pids)),
  }));
  figures.add("memory", "memory before any call and after all of them, MiB", [
    ["contender", "idle", "after"],
    ...made.map((one) => [one.title, one.resident_idle_mib, one.resident_after_mib].map(String)),
  ], made);
}

/** Returns the lowest and highest ratio of a round's rate to the bare proxy's. */
function spread(rounds: readonly Round[], bare: readonly Round[]): number[] {
  const ratios = rounds.map(({ answered, seconds }, at) =>
    (answered / seconds) / (bare[at]!.answered / bare[at]!.seconds)
  );
  return [Math.min(...ratios), Math.max(...ratios)].map(round3);
}

function mean(rounds: readonly Round[]): Round["cpu"] {
  const calls = sum(rounds.map(({ answered }) => answered));
  const of = (kind: keyof Round["cpu"]) =>
    sum(rounds.map(({ cpu, answered }) => cpu[kind] * answered)) / Math.max(1, calls);
  return {
    main: of("main"),
    workers: of("workers"),
    v8: of("v8"),
    other: of("other"),
    store: of("store"),
  };
}

function rounded(cpu: Round["cpu"]): Record<string, number> {
  return Object.fromEntries(Object.entries(cpu).map(([kind, micros]) => [kind, round1(micros)]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

function round1(value: number): number {
  return Math.round(value * 10) / 10;
}

function round3(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function mib(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
