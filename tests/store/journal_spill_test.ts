import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { Interaction, SettledCall } from "../../src/shared/interaction.ts";
import { Recorder } from "../../src/records/recorder.ts";
import { type Journal, openJournal } from "../../src/records/journal/journal.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

/** A recorder that keeps ten records in memory, on a journal of small files. */
interface World {
  folder: string;
  journal: Journal;
  recorder: Recorder;
  /** Ids in the order in which the store took them. */
  stored: string[];
  lines: string[];
  /** Goes on after a pause between two attempts. */
  resume: () => void;
  store: { away: boolean; takes: (row: Interaction) => void };
  /** A whole call. */
  call: (id: string) => void;
}

function spilling(name: string, test: (world: World) => Promise<void>, maxBytes?: number): void {
  Deno.test(name, () =>
    withFolder(async (parent) => {
      const folder = `${parent}/journal`;
      const sized = maxBytes === undefined ? {} : { maxBytes };
      const journal = await openJournal(folder, { sync: "interval", segmentBytes: 4000, ...sized });
      const store = { away: false, takes: (_row: Interaction) => {} };
      const stored: string[] = [];
      const lines: string[] = [];
      const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
      const world = { folder, journal, stored, lines, store, resume: () => {} };
      const recorder = new Recorder({
        store: {
          async insert(rows) {
            await Promise.resolve();
            if (store.away) throw new Fault("store_unavailable");
            for (const row of rows) store.takes(row);
            stored.push(...rows.map(({ transactionId }) => transactionId));
          },
        },
        log: { info: () => {}, warn: at("warn"), error: at("error") },
        pause: () => new Promise((resolve) => world.resume = () => resolve()),
        stored: (ids) => journal.stored(ids),
        reject: (row, reason) => journal.reject(row, reason),
        spillSpace: journal,
        memory: { rows: 10, chars: 1_000_000 },
      });
      const call = (id: string) => {
        journal.begin(begun(id));
        void journal.end(ended(id));
        recorder.record(ended(id));
      };
      try {
        await test(Object.assign(world, { recorder, call }));
      } finally {
        recorder.close();
        await journal.close();
      }
    }));
}

const begun = (id: string) => interaction(7, id, { status: "interrupted", requestText: text(id) });
const ended = (id: string) =>
  interaction(7, id, {
    status: "completed",
    requestText: text(id),
    responseText: `"answer to ${id}"`,
    chargedNanos: 5n,
  });
const text = (id: string) => `"asked by ${id}: é 😀"`;
const names = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `call-${String(from + index).padStart(4, "0")}`);

/** Turns of the event loop, until the file system has answered too. */
async function until(done: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!done()) {
    assert.ok(performance.now() < deadline, "it never comes true");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function goAway({ store, recorder, call }: World): Promise<void> {
  store.away = true;
  call("call-first");
  await recorder.drain().then(() => assert.fail("it is away"), () => {});
}

spilling("what is too much for memory comes back from the journal, in order", async (world) => {
  const { journal, recorder, stored, store, call } = world;
  await goAway(world);
  for (const id of names(200)) call(id);
  assert.equal(recorder.waiting, 201);
  assert.equal(journal.spilled, 191, "ten are in memory");
  const whole: Interaction[] = [];
  store.takes = (row) => whole.push(row);
  store.away = false;
  world.resume();
  await until(() => recorder.waiting === 0);
  assert.deepEqual(stored, ["call-first", ...names(200)]);
  assert.deepEqual(whole, ["call-first", ...names(200)].map(ended));
  assert.equal(journal.spilled, 0);
});

spilling("what is in the journal alone comes back though its folder was removed", async (world) => {
  const { folder, journal, recorder, stored, store, call } = world;
  await goAway(world);
  for (const id of names(100)) call(id);
  await Deno.remove(folder, { recursive: true });
  store.away = false;
  world.resume();
  await until(() => recorder.waiting === 0 || world.lines.length > 1);
  assert.deepEqual(stored, ["call-first", ...names(100)]);
  assert.equal(journal.spilled, 0);
  await recorder.drain();
});

spilling("the journal's files go as what was in them alone is stored", async (world) => {
  const { folder, journal, recorder, store, call } = world;
  await goAway(world);
  for (const id of names(200)) call(id);
  const full = journal.segments;
  assert.ok(full > 20, `${full} files`);
  assert.equal([...Deno.readDirSync(folder)].length, full);
  store.away = false;
  world.resume();
  await recorder.drain().catch(() => {});
  await until(() => recorder.waiting === 0 && journal.segments === 1);
  assert.equal([...Deno.readDirSync(folder)].length, 1);
});

spilling("a read is told at once that the store is away, and then waits for all", async (world) => {
  const { recorder, stored, store, call } = world;
  await goAway(world);
  for (const id of names(50)) call(id);
  await assert.rejects(recorder.drain(), { code: "store_unavailable" });
  store.away = false;
  world.resume();
  await until(() => stored.length > 0);
  for (const id of names(50, 50)) call(id);
  await recorder.drain();
  assert.deepEqual(stored, ["call-first", ...names(100)]);
});

spilling("calls that end while records are read back come after them", async (world) => {
  const { recorder, stored, store, call } = world;
  await goAway(world);
  for (const id of names(100)) call(id);
  let next = 100;
  store.takes = () => {
    // As fast as the store takes them, for a while.
    if (next < 400) call(names(1, next++)[0]!);
  };
  store.away = false;
  world.resume();
  await until(() => next === 400 && recorder.waiting === 0);
  assert.deepEqual(stored, ["call-first", ...names(400)]);
});

spilling(
  "a second outage in the middle of reading back loses and doubles nothing",
  async (world) => {
    const { recorder, stored, store, call } = world;
    await goAway(world);
    for (const id of names(120)) call(id);
    store.takes = ({ transactionId }) => {
      if (transactionId === "call-0060") store.away = true;
    };
    store.away = false;
    world.resume();
    await until(() => store.away && stored.includes("call-0060"));
    for (const id of names(80, 120)) call(id);
    await until(() => world.lines.length === 2);
    store.takes = () => {};
    store.away = false;
    world.resume();
    await until(() => recorder.waiting === 0);
    assert.deepEqual(stored, ["call-first", ...names(200)]);
  },
);

spilling("a crash while records are in the journal alone loses none of them", async (world) => {
  await goAway(world);
  for (const id of names(100)) world.call(id);
  world.journal.begin(begun("under way"));
  const copy = `${world.folder}-copy`;
  await Deno.mkdir(copy);
  for (const { name } of Deno.readDirSync(world.folder)) {
    await Deno.copyFile(`${world.folder}/${name}`, `${copy}/${name}`);
  }
  const next = await openJournal(copy, { sync: "always" });
  const rows: Interaction[] = [];
  const replayed = await next.replay((batch) => Promise.resolve(void rows.push(...batch)));
  await next.close();
  assert.deepEqual(replayed, { ended: 101, interrupted: 1 });
  assert.deepEqual(rows, [...["call-first", ...names(100)].map(ended), begun("under way")]);
});

spilling(
  "a row among them that the store refuses is kept in a file, and blocks none",
  async (world) => {
    const { folder, recorder, stored, store, call } = world;
    await goAway(world);
    for (const id of names(60)) call(id);
    store.takes = ({ transactionId }) => {
      if (transactionId === "call-0042") throw new Error("invalid byte sequence");
    };
    store.away = false;
    world.resume();
    await until(() => recorder.waiting === 0);
    assert.deepEqual(
      [...new Set(stored)],
      ["call-first", ...names(60)].filter((id) => id !== "call-0042"),
    );
    const path = `${folder}/rejected.jsonl`;
    const { reason, interaction: kept } = JSON.parse(await Deno.readTextFile(path));
    assert.deepEqual([reason, kept.transactionId, kept.requestText], [
      "invalid byte sequence",
      "call-0042",
      text("call-0042"),
    ]);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    assert.equal(recorder.rejected, 1);
  },
);

spilling(
  "only the journal's size ends the taking of calls, until the store is back",
  async (world) => {
    const { journal, recorder, stored, store, call } = world;
    await goAway(world);
    let taken = 0;
    const overloaded = { name: "Fault", code: "overloaded" };
    assert.throws(() => {
      for (; taken < 10_000; taken++) call(names(1, taken)[0]!);
    }, overloaded);
    assert.ok(taken > 50, `${taken} calls`);
    assert.throws(() => recorder.admit(), overloaded);
    assert.ok(journal.bytes < 105_000);
    store.away = false;
    world.resume();
    await until(() => recorder.waiting === 0 && journal.bytes < 100_000);
    recorder.admit();
    call("call-last");
    await recorder.drain();
    assert.deepEqual(stored, ["call-first", ...names(taken), "call-last"]);
  },
  100_000,
);

spilling("records that only the journal has outlive its compaction", async (world) => {
  const { journal, recorder, call, store, stored } = world;
  await goAway(world);
  for (const id of names(20)) call(id);
  assert.ok(journal.spilled > 0);
  await assert.rejects(journal.compact(), { code: "store_unavailable" });
  store.away = false;
  world.resume();
  await until(() => recorder.waiting === 0);
  assert.deepEqual(stored, ["call-first", ...names(20)]);
});

spilling(
  "a read comes back though no call does, where the journal has a record twice",
  async (world) => {
    const { journal, recorder, stored, call } = world;
    call("call-first");
    await recorder.drain();
    // As after a failed sync, without a word to the recorder.
    journal.begin(begun("call-second"));
    void journal.end(ended("call-second"));
    assert.ok(journal.spill("call-second"));
    await recorder.drain();
    assert.deepEqual([stored, recorder.waiting], [["call-first", "call-second"], 0]);
  },
);

Deno.test("large calls come back in the order in which they ended, wherever they began", async () => {
  const long = JSON.stringify("x".repeat(2500));
  const begun = (id: string) =>
    interaction(7, id, { status: "interrupted", requestText: long, responseText: null });
  const ended = (id: string) =>
    interaction(7, id, { status: "completed", requestText: long, responseText: null });
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, { sync: "always", segmentBytes: 4000 });
    // Two in each file.
    const [early, late] = [["early-1", "early-2"], ["late-1", "late-2"]];
    for (const id of [...early, ...late]) journal.begin(begun(id));
    await journal.end(ended("late-1"));
    const before = journal.bytes;
    const spilled = ["early-1", "late-2", "early-2"];
    for (const id of spilled) {
      const ending = journal.end(ended(id));
      assert.equal(journal.spill(id), true);
      await ending;
    }
    const bytes = journal.bytes - before;
    assert.ok(bytes > long.length && bytes < 2 * long.length, "one was out of order");
    const found: SettledCall[] = [];
    while (journal.spilled > 0) found.push(...await journal.readSpilled());
    assert.deepEqual(found, spilled.map(ended));
    journal.stored(["late-1", ...spilled]);
    assert.equal(journal.segments, 1);
    await journal.close();
  });
});

Deno.test("a call that ends in the file that is being read back comes next, and keeps the file", async () => {
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, { sync: "always" });
    const spill = async (id: string) => {
      journal.begin(begun(id));
      const ending = journal.end(ended(id));
      assert.equal(journal.spill(id), true);
      await ending;
    };
    await spill("early");
    const reading = journal.readSpilled();
    const spilling = spill("late");
    assert.deepEqual(await reading, [ended("early")]);
    await spilling;
    assert.deepEqual(await journal.readSpilled(), [ended("late")]);
    journal.stored(["early"]);
    await journal.compact();
    assert.equal(journal.segments, 1);
    journal.stored(["late"]);
    await journal.compact();
    assert.equal(journal.segments, 0);
    await journal.close();
  });
});
