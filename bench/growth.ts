import { systemClock } from "../src/base/clock.ts";
import { mintKey } from "../src/keys/credential.ts";
import { recountUsage } from "../tests/support/recount_usage.ts";
import { callers, firstSeconds, startProgram } from "./callers.ts";
import { fill, type FilledDatabase } from "./calls.ts";
import { cells } from "./cells.ts";
import type { Figures } from "./figures.ts";
import { type Gateway, postgresMissing, startGateway } from "./gateway.ts";
import type { BenchOptions } from "./options.ts";
import { cpuPerCall, type CpuTimes, cpuTimes, threadKinds, total } from "./processes.ts";

/** How many of a store's keys callers use at the same time. */
const activeKeys = 1_000;

/** A store of some size, and the keys that its callers use. */
interface Size {
  title: string;
  interactions: number;
  keys: number;
}

/**
 * Makes the same calls on empty and on grown stores, in turns: the cost of a call must not depend
 * on what is stored. `--rows 10000000` stores ten times as much.
 */
export async function benchGrowth(figures: Figures, options: BenchOptions): Promise<void> {
  const missing = postgresMissing();
  if (missing !== undefined) return console.log(`growth skipped: ${missing}`);
  const rows = options.rows ?? 1_000_000;
  const sizes: Size[] = [
    { title: "empty", interactions: 0, keys: 10 },
    { title: "10,000 interactions", interactions: 10_000, keys: 10 },
    { title: `${rows.toLocaleString("en")} interactions`, interactions: rows, keys: 10 },
    // For comparison with the next store, which has as many used keys, and others that are idle.
    { title: "1,000 keys", interactions: 0, keys: activeKeys },
    { title: "100,000 keys", interactions: 0, keys: 100_000 },
    // Even two services on equal stores differ by some percent: this one shows by how much.
    { title: "empty, started last", interactions: 0, keys: 10 },
  ];
  using vendor = await startProgram("bench/programs/mock_vendor.ts");
  await using started = new AsyncDisposableStack();
  const stores: { size: Size; gateway: Gateway; keys: string[] }[] = [];
  for (const size of sizes) {
    let keys: string[] = [];
    const gateway = await startGateway({
      store: "postgres",
      vendorPort: vendor.port,
      async fill(database) {
        if (size.interactions > 0) {
          await fill(database, size.interactions);
          // Calls in the rest of today would count as calls of the bench.
          await database.query("delete from interactions where created_at > now()", []);
          await recountUsage(database);
        }
        keys = await makeKeys(database, size.keys);
      },
    });
    stores.push({ size, gateway: started.use(gateway), keys });
  }
  const found = stores.map((store) => ({ ...store, answered: 0, seconds: 0, cpu: nothing }));
  for (const store of found) await ask(store.gateway, store.keys, firstSeconds.gateway);
  for (let round = 0; round < (options.rounds ?? 3); round++) {
    for (const store of round % 2 === 0 ? found : found.toReversed()) {
      const { gateway, keys } = store;
      const since = new Date();
      const before = cpuTimes([gateway.pid], gateway.storePid);
      const { answered, seconds } = await ask(gateway, keys, options.seconds);
      const until = new Date();
      await gateway.stored();
      const after = cpuTimes([gateway.pid], gateway.storePid);
      store.answered += answered;
      store.seconds += seconds;
      store.cpu = sumOf(store.cpu, cpuPerCall(before, after, 1));
      gateway.remember({ name: store.size.title, answered, since, until });
    }
  }
  report(figures, found);
  for (const { gateway } of stores) {
    for (const wrong of await gateway.proveCharged()) figures.fail(wrong);
  }
}

async function ask(gateway: Gateway, keys: readonly string[], seconds: number) {
  const { vendorBody: body, connections } = cells[0]!;
  const { port } = gateway;
  const path = "/openai/v1/chat/completions";
  return await callers({ port, path, headers: {}, keys, body, connections, ms: seconds * 1000 });
}

function report(
  figures: Figures,
  found: readonly { size: Size; answered: number; seconds: number; cpu: CpuTimes }[],
): void {
  const made = found.map(({ size, answered, seconds, cpu }) => {
    const micros = (spent: number) => Math.round(spent / Math.max(1, answered));
    return {
      ...size,
      calls_per_second: Math.round(answered / seconds),
      cpu_us_per_call: micros(total(cpu)),
      main_us: micros(cpu.main),
      v8_us: micros(cpu.v8),
      store_us: micros(cpu.store),
    };
  });
  // The empty stores are the first and the last.
  const mean = (figure: "calls_per_second" | "cpu_us_per_call") =>
    (made[0]![figure] + made.at(-1)![figure]) / 2;
  const empty = { rate: mean("calls_per_second"), cpu: mean("cpu_us_per_call") };
  const rows = made.map((one) => {
    const rate = one.calls_per_second / empty.rate;
    const cpu = one.cpu_us_per_call / empty.cpu;
    return [
      ...[one.title, rate.toFixed(2), cpu.toFixed(2)],
      ...[one.calls_per_second, one.cpu_us_per_call, one.main_us, one.v8_us, one.store_us]
        .map(String),
    ];
  });
  const head = [
    ...["store", "calls, of empty", "CPU, of empty", "calls/s", "CPU µs a call"],
    ...["main", "V8", "store"],
  ];
  figures.add("growth", "calls on stores of several sizes, PostgreSQL", [head, ...rows], made);
}

const nothing: CpuTimes = { main: 0, workers: 0, v8: 0, other: 0, store: 0 };

function sumOf(one: CpuTimes, other: CpuTimes): CpuTimes {
  const sums = threadKinds.map((kind) => [kind, one[kind] + other[kind]] as const);
  return Object.fromEntries(sums) as CpuTimes;
}

/** Adds keys to the first account. Returns those that callers use. */
async function makeKeys(database: FilledDatabase, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => mintKey(systemClock));
  for (let from = 0; from < count; from += 10_000) {
    const some = keys.slice(from, from + 10_000);
    await database.query(keysSql, [
      JSON.stringify(some.map(({ id, prefix, hash }) => ({ id, prefix, hash }))),
    ]);
  }
  // PostgreSQL would do so by itself within a minute.
  await database.query("analyze api_keys", []);
  return keys.slice(0, activeKeys).map(({ value }) => value.reveal());
}

const keysSql = `insert into api_keys (id, account_id, name, prefix, hash, scopes, models,
    on_disconnect, translation_mode)
  select id, 1, 'bench', prefix, hash, '{}', '{}', 'cancel', 'default'
  from json_to_recordset($1::text::json) as r(id text, prefix text, hash text)`;
