import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { FakeClock } from "../base/clock.ts";
import type { Log, LogFields } from "../base/log.ts";
import { Fault } from "../shared/fault.ts";
import type { InsertOptions, Interaction, InteractionStore } from "../shared/interaction.ts";
import { Recorder, type SpillSpace } from "./recorder.ts";

type Inserting = (rows: readonly Interaction[], options?: InsertOptions) => void | Promise<void>;

/** A store that notes its batches; `inserting` decides how one ends. */
function setup(space?: Partial<SpillSpace>, lingerMs = 0, clock = new FakeClock()) {
  const stored: string[] = [];
  const seen = new Set<string>();
  const batches: number[] = [];
  const pauses: number[] = [];
  const lines: string[] = [];
  const settled: string[] = [];
  const rejected: string[] = [];
  const control: {
    inserting: Inserting;
    pausing: () => void | Promise<void>;
    rejecting: () => void;
  } = { inserting: () => {}, pausing: () => {}, rejecting: () => {} };
  const store: Pick<InteractionStore, "insert"> = {
    async insert(rows, options) {
      batches.push(rows.length);
      await control.inserting(rows, options);
      // As the port promises: a row that is there already is left as it is.
      for (const { transactionId: id } of rows) {
        if (!seen.has(id)) stored.push(id);
        seen.add(id);
      }
    },
  };
  const at = (level: string) => (message: string, fields?: LogFields) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log: Log = { info: at("info"), warn: at("warn"), error: at("error") };
  const pause = async (ms: number) => {
    pauses.push(ms);
    await control.pausing();
  };
  const recorder = new Recorder({
    store,
    log,
    clock,
    pause,
    lingerMs,
    stored: (ids) => settled.push(...ids),
    reject: (row, reason) =>
      Promise.resolve().then(control.rejecting).then(() =>
        void rejected.push(`${row.transactionId}: ${reason}`)
      ),
    // With its getters, which a spread would read once.
    ...(space
      ? {
        spillSpace: Object.defineProperties(
          { ...noSpace },
          Object.getOwnPropertyDescriptors(space),
        ),
      }
      : {}),
  });
  const record = (...ids: string[]) => ids.forEach((id) => recorder.record(interactionRow(id)));
  return { recorder, record, stored, settled, rejected, batches, pauses, lines, control };
}

const noSpace: SpillSpace = {
  admit() {},
  spill: () => false,
  spilled: 0,
  readSpilled: () => Promise.resolve([]),
  unload: () => false,
  reload: () => Promise.resolve(new Map()),
};

const away = () => {
  throw new Fault("store_unavailable", { note: "connection refused" });
};
const names = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `t${from + index}`);

/** Turns of the event loop, for what happens behind the caller's back. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function codeOf(promise: Promise<void>): Promise<string> {
  return await promise.then(
    () => "ok",
    (thrown) => thrown instanceof Fault ? thrown.code : String(thrown),
  );
}

Deno.test("recording waits for nothing, draining for everything recorded before it", async () => {
  const { recorder, record, stored } = setup();
  record("a", "b");
  assert.deepEqual([stored, recorder.waiting], [[], 2]);
  await recorder.drain();
  assert.deepEqual([stored, recorder.waiting], [["a", "b"], 0]);
  await recorder.drain();
});

Deno.test("records of one turn go in one batch, of at most 500, in their order", async () => {
  const { recorder, record, stored, batches } = setup();
  record(...names(1201));
  await recorder.drain();
  assert.deepEqual(batches, [500, 500, 201]);
  assert.deepEqual(stored, names(1201));
});

Deno.test("large records go in smaller batches, of one at least", async () => {
  const { recorder, stored, batches } = setup();
  const mebi = 1024 * 1024;
  for (const [at, chars] of [mebi, mebi, 3 * mebi, 9 * mebi, 1, 1].entries()) {
    recorder.record({ ...interactionRow(`t${at}`), requestText: "x".repeat(chars) });
  }
  await recorder.drain();
  assert.deepEqual(batches, [2, 1, 1, 2]);
  assert.deepEqual(stored, ["t0", "t1", "t2", "t3", "t4", "t5"]);
});

Deno.test("records wait a moment for others, and for none when a read wants them", async () => {
  const { recorder, record, batches, pauses, control } = setup({}, 250);
  let pass = () => {};
  control.pausing = () => new Promise((resolve) => pass = resolve);
  record("a");
  await turns();
  record("b");
  await turns();
  assert.deepEqual([batches, pauses], [[], [250]]);
  pass();
  await turns();
  assert.deepEqual(batches, [2]);
  record("c");
  await turns();
  assert.deepEqual(batches, [2]);
  await recorder.drain();
  assert.deepEqual(batches, [2, 1]);
});

Deno.test("a read that comes while a batch is written has the next one written at once", async () => {
  const { recorder, record, batches, control } = setup({}, 250);
  const written = Promise.withResolvers<void>();
  control.pausing = () => new Promise(() => {});
  control.inserting = () => written.promise;
  record("a");
  const first = recorder.drain();
  await turns();
  record("b");
  const second = recorder.drain();
  written.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(batches, [1, 1]);
});

Deno.test("a full batch and a megabyte of text wait for no others", async () => {
  const { recorder, record, batches, control } = setup({}, 250);
  control.pausing = () => new Promise(() => {});
  record(...names(499));
  await turns();
  assert.deepEqual(batches, []);
  record("last");
  await turns();
  assert.deepEqual(batches, [500]);
  recorder.record({ ...interactionRow("large"), responseText: "x".repeat(1024 * 1024) });
  await turns();
  assert.deepEqual(batches, [500, 1]);
});

Deno.test("records read back from the journal do not wait for others", async () => {
  const files = [names(3), names(2, 3)].map((ids) => ids.map((id) => interactionRow(id)));
  const { record, batches, pauses, control } = setup({
    get spilled() {
      return files.flat().length;
    },
    readSpilled: () => Promise.resolve(files.shift() ?? []),
  }, 250);
  control.pausing = () => new Promise(() => {});
  record("first");
  await turns();
  assert.deepEqual([batches, pauses], [[1, 3, 2], []]);
});

Deno.test("a slow store gets what gathered meanwhile as one batch", async () => {
  const { recorder, record, batches, control } = setup();
  let release = () => {};
  control.inserting = () => new Promise((resolve) => release = resolve);
  record("a");
  await turns();
  record("b");
  record("c", "d");
  control.inserting = () => {};
  release();
  await recorder.drain();
  assert.deepEqual(batches, [1, 3]);
});

Deno.test("draining waits for the records before it, not for those after", async () => {
  const { recorder, record, control } = setup();
  const releases: (() => void)[] = [];
  control.inserting = () => new Promise((resolve) => releases.push(resolve));
  record("a");
  await turns();
  const drained: string[] = [];
  const first = recorder.drain().then(() => drained.push("first"));
  record("b");
  const second = recorder.drain().then(() => drained.push("second"));
  releases[0]?.();
  await first;
  await turns();
  assert.deepEqual(drained, ["first"]);
  releases[1]?.();
  await second;
});

Deno.test("draining waits for spilled records, also where a later one is written before them", async () => {
  let spilled = 0;
  const { recorder, record, stored, control } = setup({
    get spilled() {
      return spilled;
    },
    readSpilled: () => {
      spilled = 0;
      return Promise.resolve([interactionRow("spilled")]);
    },
  });
  let release = () => {};
  control.inserting = () => new Promise((resolve) => release = resolve);
  record("first");
  await turns();
  spilled = 1;
  const drained = recorder.drain().then(() => assert.ok(stored.includes("spilled")));
  // The journal can't take it: its end record was not written.
  record("later");
  control.inserting = () => {};
  release();
  await drained;
  assert.deepEqual(stored, ["first", "later", "spilled"]);
});

Deno.test("while the store is away records wait, a drain fails, nothing is lost or doubled", async () => {
  const { recorder, record, stored, control, lines, pauses } = setup();
  control.inserting = away;
  control.pausing = () => {
    if (pauses.length === 8) control.inserting = () => {};
  };
  record("a", "b");
  const fault = { code: "store_unavailable", note: "connection refused" };
  for (const _ of [1, 2]) await assert.rejects(recorder.drain(), fault);
  record("c");
  await turns();
  assert.deepEqual(stored, ["a", "b", "c"]);
  assert.equal(recorder.waiting, 0);
  assert.deepEqual(pauses, [50, 100, 200, 400, 800, 1600, 2000, 2000]);
  assert.equal(lines.length, 2, "one line at the outage's begin, one at its end");
  assert.match(lines[0]!, /^warn the database is unavailable/);
});

Deno.test("a drain that begins during an outage fails at once, and the store is tried again", async () => {
  const { recorder, record, control, batches } = setup();
  control.inserting = away;
  control.pausing = () => new Promise(() => {});
  record("a");
  await turns();
  assert.equal(await codeOf(recorder.drain()), "store_unavailable");
  await turns();
  assert.deepEqual(batches, [1, 1], "the pause was cut short");
  control.inserting = () => {};
  assert.equal(await codeOf(recorder.drain()), "store_unavailable");
  await turns();
  await recorder.drain();
});

Deno.test("a closed recorder stops trying, and waiting callers get an error", async () => {
  const { recorder, record, control, batches } = setup();
  control.inserting = away;
  control.pausing = () => new Promise(() => {});
  record("a");
  await turns();
  recorder.close();
  record("b");
  await turns();
  assert.deepEqual(batches, [1]);
  assert.equal(await codeOf(recorder.drain()), "store_unavailable");
});

Deno.test("a recorder that is closed while records wait for others leaves them to the journal", async () => {
  const { recorder, record, control, batches } = setup({}, 250);
  let pass = () => {};
  control.pausing = () => new Promise((resolve) => pass = resolve);
  record("a");
  await turns();
  recorder.close();
  await turns();
  pass();
  await turns();
  assert.deepEqual([batches, recorder.waiting], [[], 1]);
});

Deno.test("a read whose records can no longer be written fails", async () => {
  const { recorder, record, control, stored } = setup();
  const written = Promise.withResolvers<void>();
  control.inserting = () => written.promise;
  record("a");
  await turns();
  record("b");
  const drained = codeOf(recorder.drain());
  recorder.close();
  written.resolve();
  assert.equal(await drained, "store_unavailable");
  assert.deepEqual(stored, ["a"]);
});

Deno.test("after an outage the waits start over; the log has the start and end of each outage", async () => {
  const { recorder, record, control, lines, pauses } = setup();
  for (const id of ["a", "b"]) {
    control.inserting = away;
    control.pausing = () => void (control.inserting = () => {});
    record(id);
    await turns();
    assert.equal(recorder.waiting, 0);
  }
  assert.deepEqual(pauses, [50, 50]);
  const outage = ["warn the database is unavailable", "info the database is available again"];
  const begins = lines.map((line, at) => line.slice(0, outage[at % 2]!.length));
  assert.deepEqual(begins, [...outage, ...outage]);
});

const poison: Inserting = (rows) => {
  if (rows.some(({ transactionId }) => transactionId === "bad")) {
    throw new Error("invalid byte sequence");
  }
};

Deno.test("one bad row takes no other with it, and is named in the log without its payload", async () => {
  const { recorder, stored, control, lines } = setup();
  control.inserting = poison;
  for (const id of ["a", "bad", "b"]) {
    recorder.record(interactionRow(id, { requestText: '"canary"', responseText: '"canary"' }));
  }
  await recorder.drain();
  assert.deepEqual(stored, ["a", "b"]);
  assert.equal(recorder.waiting, 0);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^error .*"transaction":"bad".*invalid byte sequence/);
  assert.doesNotMatch(lines[0]!, /canary/);
});

Deno.test("a bad row is kept elsewhere before it counts as stored, and is counted", async () => {
  const { recorder, record, settled, rejected, control } = setup();
  control.inserting = poison;
  record("a", "bad", "b");
  await recorder.drain();
  assert.deepEqual(rejected, ["bad: invalid byte sequence"]);
  assert.deepEqual(settled, ["a", "bad", "b"]);
  assert.equal(recorder.rejected, 1);
});

Deno.test("a bad row that can't be kept elsewhere stays in the journal, and blocks nobody", async () => {
  const { recorder, record, settled, stored, control, lines } = setup();
  control.inserting = poison;
  control.rejecting = () => {
    throw new Error("no space");
  };
  record("a", "bad", "b");
  await recorder.drain();
  assert.deepEqual(stored, ["a", "b"]);
  assert.deepEqual(settled, ["a", "b"]);
  assert.match(lines[0]!, /^error .*stays in the journal.*no space/);
  assert.deepEqual([recorder.rejected, recorder.unsaved], [1, 1]);
});

Deno.test("two bad rows among a thousand cost few attempts", async () => {
  const { recorder, stored, control, batches, record } = setup();
  control.inserting = (rows) => {
    const bad = rows.find(({ transactionId }) => ["t3", "t700"].includes(transactionId));
    if (bad) throw new Error("invalid");
  };
  record(...names(1000));
  await recorder.drain();
  assert.deepEqual(stored, names(1000).filter((name) => name !== "t3" && name !== "t700"));
  assert.ok(batches.length < 60, `${batches.length} attempts`);
});

Deno.test("a store that goes away among single rows loses none of them", async () => {
  const { recorder, record, stored, control } = setup();
  let calls = 0;
  control.inserting = (rows) => {
    if (++calls === 3) away();
    return poison(rows);
  };
  record("a", "b", "bad", "c");
  await turns();
  assert.deepEqual(stored, ["a", "b", "c"]);
  assert.equal(recorder.waiting, 0);
});

/** Accounts whose rows another session of the database has locked. */
function lockedRows(control: ReturnType<typeof setup>["control"], ...accounts: number[]) {
  const locked = new Set(accounts);
  /** How long the tries waited that found a lock. */
  const waits: (number | undefined)[] = [];
  control.inserting = async (rows, { lockMs } = {}) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (!rows.some(({ accountId }) => locked.has(accountId))) return;
    waits.push(lockMs);
    throw new Fault("store_unavailable", { cause: { code: "55P03" } });
  };
  return { locked, waits };
}

Deno.test("records of an account that stays locked hold up no others, and are written once it is free", async () => {
  const { recorder, stored, settled, control, lines } = setup();
  const { locked, waits } = lockedRows(control, 3, 77);
  const record = (name: string, accounts: number) => {
    for (let at = 0; at < accounts; at++) {
      recorder.record(interactionRow(`${name}-${at}`, { accountId: at }));
    }
  };
  record("first", 100);
  const drained = recorder.drain().then(() => assert.ok(stored.includes("first-77")));
  while (stored.length < 98) await turns();
  // One long wait; what follows tells the locked accounts from the others.
  assert.equal(waits[0], 1000);
  assert.ok(waits.length < 40 && waits.slice(1).every((ms) => ms! <= 1000), String(waits));
  record("second", 80);
  while (stored.length < 98 + 78) await turns();
  assert.deepEqual(recorder.waiting, 4);
  assert.deepEqual(stored.filter((id) => /-(3|77)$/.test(id)), []);
  locked.clear();
  await drained;
  await recorder.drain();
  assert.equal(stored.length, 180);
  assert.ok(stored.indexOf("first-3") < stored.indexOf("second-3"));
  assert.deepEqual(settled.toSorted(), stored.toSorted());
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /^warn an account's records wait .*"account":(3|77)/);
  assert.match(lines[1]!, /^info the records that waited/);
});

Deno.test("records that are held up again and again are two lines in half a minute", async () => {
  const clock = new FakeClock();
  const { recorder, control, lines } = setup(undefined, 0, clock);
  const { locked, waits } = lockedRows(control, 1);
  const holdUp = async (name: string) => {
    locked.add(1);
    const tries = waits.length;
    recorder.record(interactionRow(name, { accountId: 1 }));
    while (waits.length < tries + 3) await turns();
    clock.advance(5_000);
  };
  for (const name of ["a", "b", "c"]) {
    await holdUp(name);
    locked.clear();
    await recorder.drain();
  }
  assert.deepEqual(lines.map((line) => line.split(" ")[0]), ["warn", "info"]);
  await holdUp("d");
  assert.equal(lines.length, 2);
  clock.advance(10_000);
  const tries = waits.length;
  while (waits.length < tries + 2) await turns();
  assert.equal(lines.length, 3, "a lock that stays is logged late, but it is");
  locked.clear();
  await recorder.drain();
  assert.deepEqual(lines.map((line) => line.split(" ")[0]), ["warn", "info", "warn", "info"]);
});

Deno.test("a drain waits for records of a locked account, but not where it is about another one", async () => {
  const { recorder, stored, control } = setup();
  const { locked } = lockedRows(control, 1);
  recorder.record(interactionRow("held", { accountId: 1 }));
  let isDrained = false;
  const drained = recorder.drain().then(() => isDrained = true);
  for (let at = 0; at < 5; at++) {
    recorder.record(interactionRow(`other-${at}`, { accountId: 2 }));
    while (stored.length <= at) await turns();
  }
  assert.equal(isDrained, false);
  recorder.record(interactionRow("last", { accountId: 2 }));
  await recorder.drain(2);
  assert.ok(stored.includes("last"));
  assert.equal(await Promise.race([recorder.drain(1).then(() => "drained"), turns()]), undefined);
  locked.clear();
  await drained;
  assert.ok(stored.includes("held"));
  await recorder.drain(1);
});

Deno.test("reads that wait for a locked account cost the records of others nothing", async () => {
  let looks = 0;
  const { recorder, stored, batches, pauses, control } = setup({
    get spilled() {
      looks++;
      return 0;
    },
  }, 250);
  const { locked } = lockedRows(control, 1);
  recorder.record(interactionRow("held", { accountId: 1 }));
  const reads = Array.from({ length: 1000 }, () => recorder.drain(1));
  const late = new AbortController();
  const refused = assert.rejects(recorder.drain(1, late.signal), /too late/);
  late.abort(new Error("too late"));
  await refused;
  await turns();
  [looks, batches.length, pauses.length] = [0, 0, 0];
  recorder.record(interactionRow("other", { accountId: 2 }));
  while (stored.length < 1) await turns();
  // The record waited for others to be written with it.
  assert.ok(pauses.includes(250), String(pauses));
  assert.ok(looks < 20 * batches.length + 100, `${looks} looks at ${batches.length} batches`);
  locked.clear();
  await Promise.all(reads);
  assert.deepEqual(stored, ["other", "held"]);
});

Deno.test("a drain of an account ends once its records are written, whatever waits before them", async () => {
  const { recorder, control, stored } = setup();
  const { locked } = lockedRows(control, 1);
  recorder.record(interactionRow("held", { accountId: 1 }));
  await recorder.drain(2);
  await recorder.drain("free");
  assert.deepEqual(stored, []);
  locked.clear();
  await recorder.drain();
  assert.deepEqual(stored, ["held"]);
});

Deno.test("a bad row of an account that was locked is isolated too", async () => {
  const { recorder, stored, control, rejected } = setup();
  const { locked } = lockedRows(control, 1);
  const { inserting } = control;
  control.inserting = async (rows, options) => {
    await inserting(rows, options);
    if (rows.some(({ transactionId }) => transactionId === "t5")) throw new Error("bad");
  };
  for (const id of names(20)) recorder.record(interactionRow(id, { accountId: 1 }));
  recorder.record(interactionRow("other", { accountId: 2 }));
  while (stored.length < 1) await turns();
  locked.clear();
  await recorder.drain();
  assert.deepEqual(rejected, ["t5: bad"]);
  assert.equal(stored.length, 20);
});

Deno.test("whether calls may begin is the journal's word", () => {
  const { recorder } = setup({
    admit() {
      throw new Fault("overloaded");
    },
  });
  assert.throws(() => recorder.admit(), { name: "Fault", code: "overloaded" });
});

Deno.test("without a journal all that waits is kept in memory, and calls may begin", async () => {
  const { recorder, record, stored, control } = setup();
  let resume = () => {};
  control.inserting = away;
  control.pausing = () => new Promise((resolve) => resume = resolve);
  record(...names(6_000));
  await turns();
  recorder.admit();
  control.inserting = () => {};
  resume();
  await turns();
  assert.deepEqual(stored, names(6_000));
});

Deno.test("a row that the store refuses for its payload is stored without it", async () => {
  const { recorder, record, stored, settled, rejected, lines, control } = setup();
  control.inserting = (rows) => {
    if (rows.some((row) => row.transactionId === "b" && !row.payloadTruncated)) {
      throw new Error("value too long");
    }
  };
  record("a", "b", "c");
  await recorder.drain();
  assert.deepEqual(stored.toSorted(), ["a", "b", "c"]);
  assert.deepEqual([settled.toSorted(), rejected], [["a", "b", "c"], []]);
  assert.equal(recorder.rejected, 0);
  assert.ok(lines.some((line) => line.includes("without its payload")), lines.join("\n"));
});

Deno.test("a row whose second try meets an outage is not rejected: it waits for the store", async () => {
  const { recorder, record, settled, stored, rejected, control } = setup();
  let inserts = 0;
  control.inserting = () => {
    inserts++;
    if (inserts === 1) throw new Error("invalid byte sequence");
    if (inserts === 2) throw new Fault("store_unavailable");
  };
  record("a");
  await assert.rejects(recorder.drain(), Fault);
  while (recorder.waiting > 0) await Promise.resolve();
  assert.deepEqual([stored, settled, rejected], [["a"], ["a"], []]);
});
