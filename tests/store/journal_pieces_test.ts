/** Beginnings of calls with large media, which the journal writes in pieces while others go on. */
import assert from "@std/assert";
import { createSegmentFile, type SegmentFile } from "../../src/records/journal/segment_file.ts";
import {
  type Journal,
  type JournalOptions,
  openJournal,
} from "../../src/records/journal/journal.ts";
import { FakeClock } from "../../src/base/clock.ts";
import { turnEnd } from "../../src/base/turns.ts";
import { sha256Hex } from "../../src/base/hash.ts";
import type { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { FailingDisk } from "../support/failing_disk.ts";
import { RacingClock } from "../support/racing_clock.ts";
import { Random } from "../support/random.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const random = new Random(48);
const content = Uint8Array.from({ length: 1_500_000 }, () => random.below(256));
const large = interaction(7, "large", {
  status: "interrupted",
  requestText: JSON.stringify("é".repeat(200_000)),
  media: [{ sha256: sha256Hex(content), mimeType: "image/png", content }],
});
/** 2 MB of base64 and 400 KB of text. */
const pieces = 2_400_000 / 65_536;

/** Returns a journal that pauses after each piece. */
function open(folder: string, options: Partial<JournalOptions> = {}): Promise<Journal> {
  return openJournal(folder, { sync: "always", clock: new RacingClock(), ...options });
}

/** Copies the files as they are now. */
function copied(folder: string, to: string): string {
  Deno.mkdirSync(to);
  for (const { name } of Deno.readDirSync(folder)) {
    Deno.copyFileSync(`${folder}/${name}`, `${to}/${name}`);
  }
  return to;
}

/** What a start finds in the folder, and the bytes that it can't read. */
async function afterCrash(folder: string): Promise<{ found: SettledCall[]; torn: number[] }> {
  const found: SettledCall[] = [];
  const torn: number[] = [];
  const journal = await openJournal(folder, { sync: "always" });
  const ignore = () => {};
  journal.observe({
    ...{ synced: ignore, failing: ignore, mended: ignore, lost: ignore },
    unreadable: ({ bytes, isTorn }) => torn.push(isTorn ? bytes : NaN),
  });
  await journal.replay((batch) => Promise.resolve(void found.push(...batch)));
  await journal.close();
  return { found, torn };
}

Deno.test("calls begin and end between the pieces, and a kill there loses none of them", async () => {
  await withFolder(async (parent) => {
    const folder = `${parent}/journal`;
    const kills: { folder: string; begun: string[]; ended: string[] }[] = [];
    const begun: string[] = [];
    const ended: string[] = [];
    const endings: Promise<void>[] = [];
    let written = 0;
    const kill = () => {
      const copy = copied(folder, `${parent}/${kills.length}`);
      kills.push({ folder: copy, begun: [...begun], ended: [...ended] });
    };
    const createFile = (path: string): SegmentFile => {
      const file = createSegmentFile(path);
      return {
        writeSync: (bytes, recordLength) => {
          if (recordLength! > 1_000_000 && written++ % 8 === 1) kill();
          return file.writeSync(bytes, recordLength);
        },
        truncateSync: (length) => file.truncateSync(length),
        syncData: () => file.syncData(),
        readSync: (length) => file.readSync(length),
        close: () => file.close(),
      };
    };
    const journal = await open(folder, { createFile });
    journal.begin(interaction(1, "before", { status: "interrupted" }));
    begun.push("before");
    let isWritten = false;
    const writing = Promise.resolve(journal.begin(large)).then(() => isWritten = true);
    for (let n = 0; !isWritten; n++) {
      const id = `call-${n}`;
      journal.begin(interaction(1, id, { status: "interrupted" }));
      begun.push(id);
      if (n % 2 === 0) {
        const ending = journal.end(interaction(1, id, { status: "completed" }));
        endings.push(ending.then(() => void ended.push(id)));
      }
      await turnEnd();
    }
    await Promise.all([writing, ...endings]);
    assert.ok(written >= pieces, `${written} pieces`);
    assert.ok(begun.length > 20, `${begun.length} other calls`);
    assert.ok(kills.length >= 4);
    for (const { folder, begun, ended } of kills) {
      const { found, torn } = await afterCrash(folder);
      assert.deepEqual(found.map(({ transactionId }) => transactionId).sort(), begun.sort());
      const completed = found.filter(({ status }) => status === "completed");
      for (const id of ended) assert.ok(completed.some((row) => row.transactionId === id));
      assert.ok(torn.length === 1 && torn[0]! > 60_000, String(torn));
    }
    await journal.end({ ...large, status: "completed" });
    await journal.close();
    const { found, torn } = await afterCrash(folder);
    const [row, ...others] = found.filter(({ transactionId }) => transactionId === "large");
    assert.deepEqual([others, torn], [[], []]);
    assert.equal(row?.status, "completed");
    assert.equal(row?.requestText, large.requestText);
    assert.equal(sha256Hex(row!.media![0]!.content), large.media![0]!.sha256);
  });
});

Deno.test("a deletion and a stop wait until a beginning is written, and none is after the stop", async () => {
  for (const isErased of [false, true]) {
    await withFolder(async (folder) => {
      // So many pieces that a rewrite which doesn't wait is over before them.
      const journal = await open(folder, { pieceBytes: 512 });
      const writing = journal.begin(large);
      const compacted = journal.compact(() => isErased);
      const closed = compacted.then(() => journal.close());
      await writing;
      await closed;
      const { found, torn } = await afterCrash(folder);
      assert.deepEqual(found.map(({ transactionId }) => transactionId), isErased ? [] : ["large"]);
      assert.deepEqual(torn, []);
    });
  }
  await withFolder(async (folder) => {
    const journal = await open(folder);
    const writing = journal.begin(large);
    await journal.close();
    await writing;
    const late = { ...large, transactionId: "late" };
    await assert.rejects(async () => await journal.begin(late), { code: "overloaded" });
    assert.equal((await afterCrash(folder)).found.length, 1);
  });
});

Deno.test("beginnings that take less than a turn share files, although they come at once", async () => {
  await withFolder(async (folder) => {
    const journal = await open(folder, { clock: new FakeClock() });
    const ids = Array.from({ length: 30 }, (_, n) => `call-${n}`);
    const requestText = JSON.stringify("x".repeat(400_000));
    await Promise.all(
      ids.map((id) => journal.begin(interaction(1, id, { status: "interrupted", requestText }))),
    );
    // 12 MB in files of 4 MB.
    assert.equal(journal.segments, 3);
    await journal.close();
  });
});

Deno.test("beginnings that come at once can't fill more of the journal than one after the other", async () => {
  await withFolder(async (folder) => {
    const journal = await open(folder, { maxBytes: 32 * 1024 * 1024 });
    const calls = Array.from({ length: 20 }, (_, n) => ({ ...large, transactionId: `call-${n}` }));
    const begun = await Promise.allSettled(calls.map(async (call) => await journal.begin(call)));
    const refusals = begun.filter((one) => one.status === "rejected");
    for (const { reason } of refusals) assert.equal(reason.code, "rate_limit_exceeded");
    // 2.4 MB each, up to half of the journal.
    assert.equal(begun.length - refusals.length, 7);
    await journal.begin(interaction(1, "another's", { status: "interrupted" }));
    await journal.close();
  });
});

Deno.test("a beginning for which the disk has no room is refused, and leaves nothing", async () => {
  await withFolder(async (parent) => {
    const folder = `${parent}/journal`;
    const disk = new FailingDisk();
    const journal = await open(folder, { createFile: disk.create });
    journal.begin(interaction(1, "before", { status: "interrupted" }));
    const { bytes } = journal;
    disk.space = 1_000_000;
    await assert.rejects(
      async () => await journal.begin(large),
      (thrown: Fault) => thrown.code === "overloaded",
    );
    assert.equal(journal.bytes, bytes);
    disk.space = Infinity;
    await journal.begin(large);
    const all = ["before", "large"];
    const { found, torn } = await afterCrash(copied(folder, `${parent}/copy`));
    assert.deepEqual([found.map(({ transactionId }) => transactionId), torn], [all, []]);
    for (const id of all) await journal.end(interaction(1, id, { status: "completed" }));
    journal.stored(all);
    await journal.compact();
    assert.deepEqual([journal.bytes, journal.segments], [0, 0]);
    await journal.close();
  });
});

Deno.test("a beginning that the disk refuses doesn't count for its account", async () => {
  await withFolder(async (folder) => {
    const disk = new FailingDisk();
    const journal = await open(folder, { maxBytes: 8 * 1024 * 1024, createFile: disk.create });
    // 4.8 MB of another's: an account that has a quarter of the journal may begin no more.
    for (const transactionId of ["a", "b"]) {
      await journal.begin({ ...large, accountId: 8, transactionId });
    }
    disk.space = 1_000_000;
    await assert.rejects(async () => await journal.begin(large), { code: "overloaded" });
    disk.space = Infinity;
    await journal.begin({ ...large, transactionId: "next" });
    await journal.close();
  });
});

Deno.test("a file is not given up for unreadable while a beginning is written to it", async () => {
  await withFolder(async (folder) => {
    const disk = new FailingDisk();
    const journal = await open(folder, { maxBytes: 8 * 1024 * 1024, createFile: disk.create });
    let isWritten = false;
    const writing = Promise.resolve(journal.begin(large)).then(() => void (isWritten = true));
    // A move of the oldest file's records, which pays from 2 MiB on, would end after that.
    disk.syncing = writing;
    for (let n = 0; !isWritten; n++) {
      journal.begin(interaction(1, `call-${n}`, { status: "interrupted" }));
      void journal.end(interaction(1, `call-${n}`, { status: "completed" }));
      journal.stored([`call-${n}`]);
      await turnEnd();
    }
    await writing;
    await journal.close();
    const { found, torn } = await afterCrash(folder);
    assert.ok(found.some(({ transactionId }) => transactionId === "large"));
    assert.deepEqual(torn, []);
  });
});
