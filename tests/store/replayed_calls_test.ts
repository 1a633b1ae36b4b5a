import assert from "@std/assert";
import { openJournal } from "../../src/records/journal/journal.ts";
import { Recorder } from "../../src/records/recorder.ts";
import { createReplayedWriter } from "../../src/records/replayed_calls.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const options = { sync: "interval", segmentBytes: 100_000 } as const;
const memory = { rows: 100, chars: 16 * 1024 * 1024 };
const locked = 1;

/** A run of the service on the journal in this folder, as far as records go. */
async function startRun(folder: string, isLocked: { value: boolean }, refused?: string) {
  const journal = await openJournal(folder, options);
  const stored: string[] = [];
  const recorder = new Recorder({
    store: {
      async insert(rows) {
        await new Promise((resolve) => setImmediate(resolve));
        if (isLocked.value && rows.some(({ accountId }) => accountId === locked)) {
          throw new Fault("store_unavailable", { cause: { code: "55P03" } });
        }
        if (rows.some((row) => row.transactionId === refused)) throw new Error("refused");
        stored.push(...rows.map(({ transactionId }) => transactionId));
      },
    },
    log: { info() {}, warn() {}, error: refused === undefined ? assert.fail : () => {} },
    reject: () => Promise.reject(new Error("the disk is full")),
    pause: () => Promise.resolve(),
    stored: (ids) => journal.stored(ids),
    spillSpace: journal,
    memory,
  });
  const timers: number[] = [];
  const setTimer = (ms: number, run: () => void) => {
    timers.push(ms);
    const timer = setTimeout(run, 20);
    return () => clearTimeout(timer);
  };
  const write = createReplayedWriter({ recorder, journal, setTimer });
  const close = async () => {
    recorder.close();
    await journal.close();
  };
  return { journal, recorder, stored, timers, replay: () => journal.replay(write), close };
}

/** Leaves 1,200 calls in the folder, of which every tenth is of the account that will be locked. */
async function leaveCalls(folder: string): Promise<SettledCall[]> {
  const calls = Array.from(
    { length: 1200 },
    (_, at) =>
      interaction(at % 10 === 0 ? locked : 2 + at % 7, `call-${at}`, {
        ...{ requestText: `request ${at}`, responseText: `answer ${at}` },
      }),
  );
  const journal = await openJournal(folder, options);
  for (const call of calls) {
    journal.begin({ ...call, responseText: null });
    // Every hundredth was cut off.
    if (!call.transactionId.endsWith("50")) await journal.end(call);
  }
  await journal.close();
  return calls;
}

const idsOf = (calls: readonly SettledCall[]) => calls.map((call) => call.transactionId).sort();

Deno.test("a start leaves the records of a locked account to its own journal", () =>
  withFolder(async (parent) => {
    const folder = `${parent}/journal`;
    const calls = await leaveCalls(folder);
    const left = [...Deno.readDirSync(folder)].map(({ name }) => name);
    const held = calls.filter(({ accountId }) => accountId === locked);
    const first = await startRun(folder, { value: true });
    assert.deepEqual(await first.replay(), { ended: 1188, interrupted: 12 });
    assert.deepEqual(first.timers, [5_000], "waited once, however many calls there are");
    const free = calls.filter(({ accountId }) => accountId !== locked);
    const late = idsOf(free).filter((id) => !first.stored.includes(id));
    assert.deepEqual(late, []);
    assert.ok(first.recorder.inMemory.length <= 25, `${first.recorder.inMemory.length} in memory`);
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => left.includes(name)),
      [],
      "earlier runs' files are left",
    );
    // The process is killed, and the next start finds all that isn't stored.
    first.recorder.close();
    const second = await startRun(folder, { value: false });
    const found = await second.replay();
    await second.close();
    await first.close();
    const all = [...first.stored, ...second.stored];
    assert.deepEqual([...new Set(all)].sort(), idsOf(calls));
    assert.equal(found.interrupted, 0);
    assert.ok(idsOf(held).every((id) => second.stored.includes(id)));
  }));

Deno.test("records that a start has left to its journal are stored once the account is free", () =>
  withFolder(async (parent) => {
    const folder = `${parent}/journal`;
    const calls = await leaveCalls(folder);
    const isLocked = { value: true };
    const run = await startRun(folder, isLocked);
    await run.replay();
    isLocked.value = false;
    await run.recorder.drain();
    assert.deepEqual(run.stored.toSorted(), idsOf(calls));
    await run.close();
    const next = await startRun(folder, isLocked);
    assert.deepEqual(await next.replay(), { ended: 0, interrupted: 0 });
    await next.close();
  }));

Deno.test("a record that neither the database nor a file takes stays in the earlier run's journal", () =>
  withFolder(async (parent) => {
    const folder = `${parent}/journal`;
    await leaveCalls(folder);
    const first = await startRun(folder, { value: false }, "call-700");
    await first.replay();
    await first.close();
    assert.equal(first.stored.length, 1199);
    const second = await startRun(folder, { value: false });
    await second.replay();
    await second.close();
    assert.ok(second.stored.includes("call-700"));
  }));

Deno.test("earlier files are removed only once this run's journal has the records", async () => {
  let hasAll = () => {};
  const taking = new Promise<void>((resolve) => hasAll = resolve);
  const write = createReplayedWriter({
    recorder: {
      record() {},
      drain: (accounts) => accounts === "free" ? Promise.resolve() : new Promise(() => {}),
      ...{ unsaved: 0, inMemory: [] },
    },
    journal: { takeOver: () => taking },
    setTimer: (_ms, run) => {
      queueMicrotask(run);
      return () => {};
    },
  });
  await write([]);
  let isWritten = false;
  const written = Promise.resolve(write([interaction(locked, "call")])).then(() =>
    isWritten = true
  );
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(isWritten, false);
  hasAll();
  await written;
});
