import assert from "@std/assert";
import type { VacuumStore } from "./vacuum.ts";
import { createVacuumJob } from "./vacuum_job.ts";

type Due = Awaited<ReturnType<VacuumStore["due"]>> & { isBusy?: boolean };

/** `isBusy` is absent: the job must not ask. */
function setUp(due: Due | undefined) {
  const did: string[] = [];
  let now: Due | undefined = due;
  const scrubbing = createVacuumJob({
    store: {
      due: () => Promise.resolve(now),
      async isBusy() {
        if (due?.isBusy === undefined) throw new Error("asked in vain");
        return await Promise.resolve(due.isBusy);
      },
      async scrub(what) {
        did.push(`begin ${what}`);
        await Promise.resolve();
        did.push(`end ${what}`);
        now = undefined;
        return { rewritten: ["replays"], notRewritten: [] };
      },
    },
    before: () => Promise.resolve(void did.push("before")),
    log: { info() {}, warn() {} },
  });
  return { did, scrubbing };
}

const since = new Date(0);
const once = ["before", "begin erased", "end erased"];

/** What is due, and whether the job scrubs. */
const cases: readonly { due: Due | undefined; scrubs: boolean; when: string }[] = [
  { due: undefined, scrubs: false, when: "nothing was erased" },
  { due: { since, seconds: 5 }, scrubs: false, when: "more may follow at once" },
  { due: { since, seconds: 15, isBusy: false }, scrubs: true, when: "it is quiet" },
  { due: { since, seconds: 400, isBusy: true }, scrubs: false, when: "calls come in" },
  { due: { since, seconds: 481 }, scrubs: true, when: "it can't wait any more" },
];

for (const { due, scrubs, when } of cases) {
  Deno.test(`files are ${scrubs ? "rewritten" : "left"} when ${when}`, async () => {
    const { did, scrubbing } = setUp(due);
    await scrubbing.whenQuiet();
    assert.deepEqual(did, scrubs ? once : []);
    assert.equal(scrubbing.dueSeconds, scrubs ? 0 : due?.seconds ?? 0);
  });
}

Deno.test("two scrubs are one after the other", async () => {
  const { did, scrubbing } = setUp({ since, seconds: 15, isBusy: false });
  await Promise.all([scrubbing.whenQuiet(), scrubbing.all()]);
  const begins = did.filter((one) => one !== "before");
  assert.equal(begins.length, 4);
  assert.equal(begins[0]!.replace("begin", "end"), begins[1]);
});

Deno.test("looking where an operator scrubs rewrites nothing", async () => {
  const { did, scrubbing } = setUp({ since, seconds: 3600 });
  await scrubbing.check();
  assert.deepEqual(did, []);
  assert.equal(scrubbing.dueSeconds, 3600);
});
