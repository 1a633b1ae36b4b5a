import { serveEmbedded } from "../../../src/database/embedded/serve.ts";

const { now } = Date;
const { setTimeout: start } = globalThis;
let backMs = 0;
let tooLong = 0;

function setBackNow(): number {
  return now() - backMs;
}

/** Fires early, so that nobody waits ten seconds for PostgreSQL's own timer. */
function counted(...[run, ms = 0, ...rest]: Parameters<typeof setTimeout>) {
  if (ms > 0x7fffffff) tooLong++;
  return start(run, Math.min(ms, 50), ...rest);
}

Date.now = setBackNow;
globalThis.setTimeout = Object.assign(counted, start);

/**
 * A thread of the embedded database whose clock its work sets back by 60 days. The work returns how
 * many timers were set for longer than the runtime can wait, which therefore fire at once.
 */
serveEmbedded((database) => async () => {
  await database.query("insert into things values (1)", []);
  backMs = 60 * 24 * 3_600_000;
  await new Promise((resolve) => start(resolve, 300));
  await database.query("insert into things values (2)", []);
  return tooLong;
});
