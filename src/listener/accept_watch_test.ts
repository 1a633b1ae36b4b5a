import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { type AcceptProbe, AcceptWatch } from "./accept_watch.ts";
import { ConnectionEvents } from "./connection_events.ts";

/** A watch whose knocks have these results, one for each look. */
function setUp(...knocks: AcceptProbe[]) {
  const seen = { reopened: 0, most: [] as number[], alive: 0, errors: [] as string[] };
  const door = {
    size: 100,
    knock: () => Promise.resolve(knocks.shift() ?? "taken"),
    leave() {},
    reopen() {
      seen.reopened++;
      return Promise.resolve();
    },
    keepBelow: (most: number) => void seen.most.push(most),
  };
  const events = new ConnectionEvents(new FakeClock());
  const quiet = () => {};
  events.setListeners({
    log: { info: quiet, warn: quiet, error: (message) => seen.errors.push(message) },
    count: quiet,
    changed: quiet,
  });
  const watch = new AcceptWatch(door, events, () => seen.alive++);
  const look = async (times: number) => {
    for (let time = 0; time < times; time++) await watch.check();
    watch.close();
    return seen;
  };
  return { look };
}

Deno.test("a port that fails two checks is reopened, one failure changes nothing", async () => {
  assert.equal((await setUp("taken", "not_taken", "taken", "not_taken").look(4)).reopened, 0);
  const { reopened, alive, errors } = await setUp("taken", "not_taken", "not_taken").look(4);
  assert.deepEqual([reopened, alive, errors.length], [1, 2, 1]);
});

Deno.test("without descriptors silent connections go, and the port is opened at the first chance", async () => {
  const seen = await setUp("taken", "no_descriptor", "no_descriptor", "not_taken").look(5);
  assert.deepEqual([seen.reopened, seen.most], [1, [80, 80]]);
  assert.equal(seen.errors.length, 2, "once for each thing");
});

Deno.test("a port that takes nobody while the process is busy stays open, for a while", async () => {
  const busy = (times: number) => Array.from({ length: times }, (): AcceptProbe => "too_busy");
  assert.equal((await setUp("taken", ...busy(20), "taken", ...busy(20)).look(42)).reopened, 0);
  const { reopened } = await setUp("taken", ...busy(80)).look(60);
  assert.ok(reopened > 0, "it may be deaf all the same");
});

Deno.test("a port that can't be reached from here was never known to work", async () => {
  const { reopened, alive } = await setUp("failed", "failed", "failed", "failed").look(4);
  assert.deepEqual([reopened, alive], [0, 0]);
});
