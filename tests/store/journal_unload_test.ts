/** Records of locked accounts that are in the journal alone. */
import assert from "@std/assert";
import { type Journal, openJournal } from "../../src/records/journal/journal.ts";
import { Recorder } from "../../src/records/recorder.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { otherTurns } from "../support/racing_clock.ts";
import { Random } from "../support/random.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const request = (id: string) => `"asked by ${id}: é 😀"`;
const ended = (id: string, accountId = 7) =>
  interaction(accountId, id, {
    ...{ status: "completed", requestText: request(id), responseText: `"answer to ${id}"` },
    chargedNanos: 5n,
  });
const names = (count: number) => Array.from({ length: count }, (_, at) => `call-${at}`);

function call(journal: Journal, row: SettledCall): void {
  journal.begin({ ...row, status: "interrupted", responseText: null });
  void journal.end(row);
}

function inFolder(
  name: string,
  test: (journal: Journal, folder: string) => Promise<void>,
  { maxBytes = Infinity, segmentBytes = 4000 } = {},
): void {
  Deno.test(name, () =>
    withFolder(async (parent) => {
      const folder = `${parent}/journal`;
      const journal = await openJournal(folder, { sync: "interval", segmentBytes, maxBytes });
      try {
        await test(journal, folder);
      } finally {
        await journal.close();
      }
    }));
}

/** Reads records until none are left, and notes each file's as stored. */
async function reloadAll(journal: Journal, ids: readonly string[]): Promise<SettledCall[]> {
  const rows: SettledCall[] = [];
  for (let left = [...ids]; left.length > 0;) {
    const found = await journal.reload(left);
    assert.ok(found.has(left[0]!));
    rows.push(...left.flatMap((id) => found.get(id) ?? []));
    left = left.filter((id) => !found.has(id));
    journal.stored([...found.keys()]);
  }
  return rows;
}

inFolder(
  "unloaded records come back as they were, file by file, and their files go",
  async (journal) => {
    const ids = names(40);
    journal.begin({ ...ended("long"), responseText: null });
    for (const id of ids) call(journal, ended(id));
    assert.deepEqual([journal.unload("long"), journal.unload("never")], [false, false]);
    assert.ok(ids.every((id) => journal.unload(id)));
    journal.stored(ids.filter((_, at) => at % 2 === 1));
    const segments = journal.segments;
    await journal.compact();
    const left = ids.filter((_, at) => at % 2 === 0);
    assert.ok(segments > 4 && journal.segments > 4, "they are in several files");
    assert.deepEqual(await reloadAll(journal, left), left.map((id) => ended(id)));
    // Unlike `end` here, this waits for the sync, which releases the files of begin records.
    await journal.takeOver(ended("long"));
    journal.stored(["long"]);
    await journal.compact();
    assert.ok(journal.segments <= 1, `${journal.segments} files are left`);
  },
);

inFolder(
  "an unloaded record that can't be read is reported, and no other",
  async (journal, folder) => {
    const lost: number[] = [];
    journal.observe({
      ...{ synced() {}, mended() {}, failing: assert.fail, unreadable: assert.fail },
      lost: (records) => lost.push(records),
    });
    const ids = names(2);
    for (const id of ids) call(journal, ended(id));
    ids.forEach((id) => journal.unload(id));
    const path = `${folder}/000000000001.journal`;
    const bytes = await Deno.readFile(path);
    const at = new TextDecoder("latin1").decode(bytes).indexOf("answer to call-0");
    bytes[at] = 0;
    await Deno.writeFile(path, bytes);
    const found = await journal.reload(ids);
    assert.deepEqual(ids.map((id) => found.get(id)?.transactionId), [undefined, "call-1"]);
    assert.deepEqual([found.has("call-0"), lost], [true, [1]]);
  },
);

inFolder(
  "an account whose unloaded records fill a quarter of the journal begins no more calls",
  async (journal) => {
    const isRefused = (accountId: number) => {
      try {
        journal.begin({ ...ended(`next-${accountId}`, accountId), responseText: null });
        return false;
      } catch (thrown) {
        assert.equal((thrown as Fault).code, "rate_limit_exceeded");
        return true;
      }
    };
    const held: string[] = [];
    for (let at = 0; !isRefused(1); at++) {
      assert.ok(at < 1000, "the journal fills up");
      const row = { ...ended(`held-${at}`, 1), responseText: "x".repeat(1000) };
      call(journal, row);
      journal.unload(row.transactionId);
      held.push(row.transactionId);
    }
    assert.equal(isRefused(2), false);
    await reloadAll(journal, held);
    assert.equal(isRefused(1), false);
  },
  { maxBytes: 200_000 },
);

inFolder(
  "calls get their turns while the records of a file are read back",
  async (journal) => {
    const ids = names(2000);
    for (const id of ids) call(journal, ended(id));
    const unloaded = ids.slice(0, 1000).filter((id) => journal.unload(id));
    const last = "spilled";
    call(journal, ended(last));
    journal.spill(last);
    for (const read of [() => journal.reload(unloaded), () => journal.readSpilled()]) {
      const turns = await otherTurns(read);
      assert.ok(turns > 20, `${turns} turns`);
    }
  },
  { segmentBytes: 4 * 1024 * 1024 },
);

/** Calls of 20 accounts, of which ever others are locked, through a small memory. */
inFolder(
  "whatever is locked, each record is stored once, and an account's in order",
  async (journal) => {
    const random = new Random(5);
    const locked = new Set<number>();
    const stored = new Map<number, string[]>();
    let loaded = 0;
    const recorder = new Recorder({
      store: {
        async insert(rows) {
          await new Promise((resolve) => setTimeout(resolve));
          if (rows.some(({ accountId }) => locked.has(accountId))) {
            throw new Fault("store_unavailable", { cause: { code: "55P03" } });
          }
          for (const row of rows) {
            assert.deepEqual(row, ended(row.transactionId, row.accountId));
            const ids = stored.get(row.accountId) ?? [];
            stored.set(row.accountId, [...ids, row.transactionId]);
          }
        },
      },
      log: { info() {}, warn() {}, error: assert.fail },
      pause: () => Promise.resolve(),
      stored: (ids) => journal.stored(ids),
      spillSpace: journal,
      memory: { rows: 40, chars: 1_000_000 },
    });
    const calls = new Map<number, string[]>();
    for (let at = 0; at < 1500; at++) {
      if (at % 100 === 0) {
        locked.clear();
        const count = at % 1000 === 0 ? 15 : 4;
        while (locked.size < count) locked.add(random.below(20));
      }
      // Most of the calls are of a few accounts.
      const accountId = random.below(1 + random.below(20));
      const row = ended(`call-${at}`, accountId);
      calls.set(accountId, [...calls.get(accountId) ?? [], row.transactionId]);
      call(journal, row);
      recorder.record(row);
      if (at % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      if (at % 300 === 150) await journal.compact().catch(() => {});
      loaded = Math.max(loaded, recorder.inMemory.length);
    }
    locked.clear();
    await recorder.drain();
    assert.deepEqual([...stored].toSorted(byAccount), [...calls].toSorted(byAccount));
    assert.deepEqual([recorder.waiting, recorder.oldest, recorder.inMemory], [0, undefined, []]);
    assert.ok(loaded < 120, `${loaded} records were in memory`);
    recorder.close();
  },
  { segmentBytes: 20_000 },
);

const byAccount = ([a]: [number, unknown], [b]: [number, unknown]) => a - b;
