import assert from "@std/assert";
import type { VacuumStore } from "./vacuum.ts";
import { createVacuumJob } from "./vacuum_job.ts";

type Due = Awaited<ReturnType<VacuumStore["due"]>> & { isBusy?: boolean };

/** `isBusy` is absent: the job must not ask. */
function setUp(due: Due | undefined, notRewritten: string[] = []) {
  const did: string[] = [];
  const warned: unknown[] = [];
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
        await severalTurns();
        did.push(`end ${what}`);
        now = undefined;
        return { rewritten: ["replays"], notRewritten, isAllDone: true };
      },
    },
    async before() {
      await severalTurns();
      did.push("before");
    },
    log: { info() {}, warn: (_message, values) => void warned.push(values) },
  });
  return { did, warned, scrubbing };
}

async function severalTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

const since = new Date(0);
const once = ["before", "begin erased", "end erased"];

/** What is due, and whether the job scrubs. */
const cases: readonly { due: Due | undefined; scrubs: boolean; when: string }[] = [
  { due: undefined, scrubs: false, when: "nothing was erased" },
  { due: { since, seconds: 5 }, scrubs: false, when: "more may follow at once" },
  { due: { since, seconds: 10, isBusy: false }, scrubs: true, when: "it is quiet" },
  { due: { since, seconds: 400, isBusy: true }, scrubs: false, when: "calls come in" },
  { due: { since, seconds: 480 }, scrubs: true, when: "it can't wait any more" },
];

for (const { due, scrubs, when } of cases) {
  Deno.test(`files are ${scrubs ? "rewritten" : "left"} when ${when}`, async () => {
    const { did, scrubbing } = setUp(due);
    assert.equal(scrubbing.dueSeconds, 0);
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

Deno.test("a scrub that fails does not stop the next one", async () => {
  const failing = Promise.reject(new Error("the disk is full"));
  let isFirst = true;
  const scrubbing = createVacuumJob({
    store: {
      due: () => Promise.resolve({ since, seconds: 480 }),
      isBusy: () => Promise.resolve(false),
      scrub: () => Promise.resolve({ rewritten: [], notRewritten: [], isAllDone: true }),
    },
    before: () => isFirst ? (isFirst = false, failing) : Promise.resolve(),
    log: { info() {}, warn() {} },
  });
  await assert.rejects(scrubbing.all(), /the disk is full/);
  assert.deepEqual((await scrubbing.all()).notRewritten, []);
});

Deno.test("where erased text may be left is logged, and nothing where it is gone", async () => {
  for (const [left, logged] of [[[], []], [["t (locked)", "u"], [{ in: "t (locked),u" }]]]) {
    const { warned, scrubbing } = setUp({ since, seconds: 480 }, left as string[]);
    await scrubbing.all();
    assert.deepEqual(warned, logged);
  }
});

Deno.test("looking where an operator scrubs rewrites nothing", async () => {
  const { did, scrubbing } = setUp({ since, seconds: 3600 });
  await scrubbing.check();
  assert.deepEqual(did, []);
  assert.equal(scrubbing.dueSeconds, 3600);
});
