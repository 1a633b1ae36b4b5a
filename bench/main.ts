import { benchDashboard } from "./dashboard.ts";
import { benchExport } from "./export.ts";
import { Figures } from "./figures.ts";
import { benchGrowth } from "./growth.ts";
import { benchHeldStreams } from "./held_streams.ts";
import { benchLadder } from "./ladder.ts";
import { benchList } from "./list.ts";
import { type BenchOptions, benchUsage, readBenchOptions } from "./options.ts";
import { benchOverload } from "./overload.ts";
import { benchRelay } from "./relay.ts";
import { benchSoak } from "./soak.ts";

/**
 * `deno task bench [name]…`: measures on this machine. Ratios come first, since only they carry
 * over to another machine (interface.md §1). Exits with 1 if a promise did not hold.
 */
const benches: Readonly<
  Record<string, (figures: Figures, options: BenchOptions) => Promise<void>>
> = {
  relay: benchRelay,
  ladder: benchLadder,
  growth: benchGrowth,
  export: benchExport,
  soak: benchSoak,
  overload: benchOverload,
  held_streams: benchHeldStreams,
  list: benchList,
  dashboard: benchDashboard,
};

function optionsOf(argv: readonly string[]): BenchOptions {
  try {
    const options = readBenchOptions(argv);
    const unknown = options.names.filter((name) => benches[name] === undefined);
    if (unknown.length === 0) return options;
    throw new Error(`no bench ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}`);
  } catch (thrown) {
    console.error(`${thrown instanceof Error ? thrown.message : thrown}\nusage: ${benchUsage}`);
    Deno.exit(2);
  }
}

const options = optionsOf(Deno.args);
const figures = new Figures();
for (const name of options.names.length > 0 ? options.names : Object.keys(benches)) {
  const began = performance.now();
  await benches[name]!(figures, options);
  console.log(`\n${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  // Written after each bench, so that results survive a failure of the next.
  if (options.json !== undefined) await figures.write(options.json);
}
if (figures.failures.length > 0) {
  console.error(`\n${figures.failures.length} promises did not hold:`);
  for (const message of figures.failures) console.error(`  ${message}`);
}
Deno.exit(figures.failures.length > 0 ? 1 : 0);
