import { benchDashboard } from "./dashboard.ts";
import { benchHeldStreams } from "./held_streams.ts";
import { benchList } from "./list.ts";
import { benchOverload } from "./overload.ts";
import { benchRelay } from "./relay.ts";

/**
 * `deno task bench [name]…`: figures of this machine, ratios first, since only they carry over to
 * another one (interface.md §1).
 */
const benches: Readonly<Record<string, () => Promise<void>>> = {
  list: benchList,
  dashboard: benchDashboard,
  relay: benchRelay,
  overload: benchOverload,
  held_streams: benchHeldStreams,
};

const asked = Deno.args.length > 0 ? Deno.args : Object.keys(benches);
const unknown = asked.filter((name) => benches[name] === undefined);
if (unknown.length > 0) {
  console.error(`No bench ${unknown.join(", ")}; there are: ${Object.keys(benches).join(", ")}`);
  Deno.exit(2);
}
for (const name of asked) await benches[name]!();
