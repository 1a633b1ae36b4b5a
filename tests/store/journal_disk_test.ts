import { Buffer } from "node:buffer";
import assert from "@std/assert";
import type { Interaction } from "../../src/shared/interaction.ts";
import {
  type Journal,
  type JournalOptions,
  openJournal,
} from "../../src/records/journal/journal.ts";
import { FailingDisk } from "../support/failing_disk.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

function onDisk(
  name: string,
  test: (journal: Journal, disk: FailingDisk, folder: string) => Promise<void>,
  options: JournalOptions = { sync: "always" },
): void {
  Deno.test(name, () =>
    withFolder(async (parent) => {
      const folder = `${parent}/journal`;
      const disk = new FailingDisk();
      const journal = await openJournal(folder, { ...options, createFile: disk.create });
      journal.observe({
        synced() {},
        failing: (reason) => disk.told.push(`failing: ${reason}`),
        mended: () => disk.told.push("mended"),
        lost: (count) => disk.told.push(`lost ${count}`),
        unreadable: ({ bytes }) => disk.told.push(`unreadable ${bytes}`),
      });
      try {
        await test(journal, disk, folder);
      } finally {
        await journal.close();
      }
    }));
}

const begun = (id: string) => interaction(7, id, { status: "interrupted", requestText: '"asked"' });
const ended = (id: string, responseText = '"answered"') =>
  interaction(7, id, { status: "completed", requestText: '"asked"', responseText });
const overloaded = { name: "Fault", code: "overloaded" };

/** What a start finds of these files; they stay as they are. */
async function kept(folder: string): Promise<Interaction[]> {
  const copy = `${folder}-copy`;
  await Deno.mkdir(copy);
  for (const { name } of Deno.readDirSync(folder)) {
    await Deno.copyFile(`${folder}/${name}`, `${copy}/${name}`);
  }
  const journal = await openJournal(copy, { sync: "always" });
  const rows: Interaction[] = [];
  await journal.replay((batch) => Promise.resolve(void rows.push(...batch)));
  await journal.close();
  await Deno.remove(copy, { recursive: true });
  return rows;
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name);
const files = (folder: string) => names(folder).length;
const bytesIn = (folder: string) =>
  [...Deno.readDirSync(folder)].reduce(
    (sum, { name }) => sum + Deno.statSync(`${folder}/${name}`).size,
    0,
  );

onDisk(
  "a full disk refuses calls before they begin, and takes them when it has room",
  async (journal, disk, folder) => {
    journal.begin(begun("before"));
    await journal.end(ended("before"));
    disk.space = 100;
    for (let times = 0; times < 50; times++) {
      assert.throws(() => journal.begin(begun("refused")), overloaded);
    }
    assert.equal(files(folder), 1, "refused calls leave no files");
    disk.space = Infinity;
    journal.begin(begun("after"));
    await journal.end(ended("after"));
    assert.deepEqual(await kept(folder), [ended("before"), ended("after")]);
    assert.deepEqual(disk.told, ["failing: No space left on device (os error 28)", "mended"]);
  },
);

onDisk(
  "where a file that is done takes the last room, it goes",
  async (journal, disk, folder) => {
    journal.begin(begun("call-1"));
    journal.begin(begun("call-2"));
    await journal.end(ended("call-1"));
    journal.begin(begun("call-3"));
    disk.space = 10;
    // Its end finds no room, and the store takes all.
    await assert.rejects(journal.end(ended("call-3")));
    await assert.rejects(journal.end(ended("call-2")));
    journal.stored(["call-1", "call-2", "call-3"]);
    assert.throws(() => journal.begin(begun("call-4")), overloaded);
    // One that was begun meanwhile, and has no byte yet, may stand there.
    await until(() => bytesIn(folder) === 0);
    assert.equal(disk.told.length, 1, "told once");
    disk.space = Infinity;
    journal.begin(begun("call-5"));
    await journal.end(ended("call-5"));
    assert.equal(disk.told.at(-1), "mended");
  },
);

onDisk(
  "an end that the disk doesn't take is written before another call begins",
  async (journal, disk, folder) => {
    journal.begin(begun("call-1"));
    journal.begin(begun("call-2"));
    disk.space = 10;
    await assert.rejects(journal.end(ended("call-1")), /No space left/);
    await assert.rejects(journal.end(ended("call-2")), /No space left/);
    // Room for a beginning is not enough: what was not written comes first.
    disk.space = 100;
    assert.throws(() => journal.begin(begun("call-3")), overloaded);
    assert.deepEqual(await kept(folder), [begun("call-1"), begun("call-2")]);
    disk.space = Infinity;
    for (let times = 0; times < 2; times++) {
      assert.throws(() => journal.begin(begun("call-3")), overloaded, "it has not been confirmed");
    }
    await until(() => begins(journal, "call-3"));
    assert.deepEqual(await kept(folder), [ended("call-1"), ended("call-2"), begun("call-3")]);
    assert.deepEqual(disk.told, ["failing: No space left on device (os error 28)", "mended"]);
  },
);

onDisk(
  "an end that the store took meanwhile need not be written any more",
  async (journal, disk, folder) => {
    journal.begin(begun("call-1"));
    disk.space = 10;
    await assert.rejects(journal.end(ended("call-1")), /No space left/);
    journal.stored(["call-1"]);
    disk.space = Infinity;
    journal.begin(begun("call-2"));
    await journal.end(ended("call-2"));
    journal.stored(["call-2"]);
    await journal.close();
    assert.equal(files(folder), 0);
  },
);

onDisk(
  "calls begin again where the store took an end that was written twice in vain",
  async (journal, disk) => {
    journal.begin(begun("call-1"));
    disk.space = 10;
    await assert.rejects(journal.end(ended("call-1")), /No space left/);
    disk.space = Infinity;
    disk.syncs = false;
    const { bytes } = journal;
    await until(() => !begins(journal, "call-2") && journal.bytes > bytes);
    const { failedSyncs } = disk;
    await until(() => disk.failedSyncs > failedSyncs);
    journal.stored(["call-1"]);
    disk.syncs = true;
  },
);

onDisk(
  "a call's begin record stays until its end record, in another file, is synced",
  async (journal, disk, folder) => {
    for (const id of ["call-1", "call-2"]) journal.begin(begun(id));
    await journal.end(ended("call-2"));
    disk.syncs = false;
    await assert.rejects(journal.end(ended("call-1")), /Input\/output error/);
    // After a power cut it is all that is left of the call.
    assert.ok(await Deno.stat(`${folder}/000000000001.journal`));
    disk.syncs = true;
    await until(() => begins(journal, "call-3"));
    await journal.end(ended("call-3"));
    journal.stored(["call-1", "call-2", "call-3"]);
    await journal.close();
    assert.equal(files(folder), 0, "once it is, nothing keeps the begin record");
  },
  { sync: "always", segmentBytes: 1 },
);

onDisk(
  "an end that is written again after a spilled one is counted with it",
  async (journal, disk, folder) => {
    for (const id of ["call-1", "call-2"]) journal.begin(begun(id));
    await journal.end(ended("call-1"));
    assert.ok(journal.spill("call-1"));
    disk.space = 10;
    await assert.rejects(journal.end(ended("call-2")), /No space left/);
    disk.space = Infinity;
    await until(() => begins(journal, "call-3"));
    // The store has it from memory, and is given it once more with the spilled one.
    journal.stored(["call-2"]);
    assert.deepEqual(await journal.readSpilled(), [ended("call-1"), ended("call-2")]);
    journal.stored(["call-1", "call-2"]);
    await journal.end(ended("call-3"));
    journal.stored(["call-3"]);
    await journal.close();
    assert.equal(files(folder), 0, "no call is counted out of its file twice");
  },
);

onDisk("only the call that has just ended can be left to the journal", async (journal) => {
  for (const id of ["call-1", "call-2"]) {
    journal.begin(begun(id));
    await journal.end(ended(id));
  }
  assert.equal(journal.spill("call-1"), false);
  journal.stored(["call-2"]);
  assert.equal(journal.spill("call-2"), false);
  assert.equal(journal.spilled, 0);
});

onDisk(
  "a spilled end that could not be brought to the disk is written again, and read back once",
  async (journal, disk, folder) => {
    journal.begin(begun("call-1"));
    disk.syncs = false;
    const ending = journal.end(ended("call-1"));
    assert.ok(journal.spill("call-1"));
    await assert.rejects(ending, /Input\/output error/);
    disk.syncs = true;
    await until(() => begins(journal, "call-2"));
    // Of the first copy nobody knows whether it is on the disk.
    assert.deepEqual(await kept(folder), [ended("call-1"), ended("call-1"), begun("call-2")]);
    const found: Interaction[] = [];
    while (journal.spilled > 0) found.push(...await journal.readSpilled());
    assert.deepEqual(found, [ended("call-1")]);
    journal.stored(["call-1"]);
    await journal.end(ended("call-2"));
    journal.stored(["call-2"]);
    await journal.close();
    assert.equal(files(folder), 0, "neither copy keeps its file");
  },
);

onDisk(
  "a spilled end that is written again to the same file keeps it no longer than once",
  async (journal, disk, folder) => {
    journal.begin({ ...begun("large"), requestText: "x".repeat(20_000) });
    disk.badFile = "001.journal";
    const ending = journal.end(ended("call-1"));
    assert.ok(journal.spill("call-1"));
    await assert.rejects(ending, /Input\/output error/);
    await until(() => begins(journal, "call-2"));
    assert.deepEqual([await journal.readSpilled(), files(folder)], [[ended("call-1")], 2]);
    journal.stored(["call-1", "large", "call-2"]);
    await journal.close();
    assert.equal(files(folder), 0);
  },
  { sync: "always", segmentBytes: 20_000 },
);

/** Three ended calls in one file: one that waits in memory, and two spilled, one of them damaged. */
async function spillDamaged(journal: Journal, folder: string): Promise<void> {
  for (const id of ["call-1", "call-2", "call-3"]) {
    journal.begin(begun(id));
    await journal.end(ended(id, `"answer of ${id}"`));
    if (id !== "call-1") assert.ok(journal.spill(id));
  }
  const path = `${folder}/000000000001.journal`;
  const bytes = Deno.readFileSync(path);
  bytes[Buffer.from(bytes.buffer).indexOf("answer of call-2")]! ^= 1;
  Deno.writeFileSync(path, bytes);
}

onDisk(
  "a spilled record that can't be read back is reported, and its file stays for the next start",
  async (journal, disk, folder) => {
    await spillDamaged(journal, folder);
    const found = await journal.readSpilled();
    assert.deepEqual(found, [ended("call-3", '"answer of call-3"')], "the first is in memory");
    assert.equal(journal.spilled, 0);
    assert.deepEqual(disk.told, ["lost 1"]);
    journal.stored(["call-1", "call-3"]);
    await journal.close();
    assert.equal(files(folder), 1);
  },
);

onDisk(
  "a spilled record that the disk has lost is read back from where it is written again",
  async (journal, disk, folder) => {
    disk.syncs = false;
    const ending = journal.end(ended("call-1"));
    assert.ok(journal.spill("call-1"));
    await assert.rejects(ending, /Input\/output error/);
    const path = `${folder}/000000000001.journal`;
    Deno.writeFileSync(path, Deno.readFileSync(path).fill(0));
    assert.deepEqual(await journal.readSpilled(), []);
    disk.syncs = true;
    await until(() => begins(journal, "call-2"));
    assert.deepEqual(await journal.readSpilled(), [ended("call-1")]);
  },
);

onDisk(
  "a sync that began before an end was written again confirms nothing of it",
  async (journal, disk) => {
    for (const id of ["call-1", "call-2"]) journal.begin(begun(id));
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    disk.syncing = first.promise;
    const ending = journal.end(ended("call-1"));
    await until(() => disk.waiting === 1);
    disk.space = 10;
    await assert.rejects(journal.end(ended("call-2")), /No space left/);
    disk.space = Infinity;
    assert.ok(!begins(journal, "call-3"));
    disk.syncing = second.promise;
    first.resolve();
    await ending;
    await until(() => begins(journal, "call-3") || disk.waiting === 2);
    assert.ok(!begins(journal, "call-3"), "call-2 has not been confirmed");
    second.resolve();
    await until(() => begins(journal, "call-3"));
  },
);

onDisk(
  "a file that nobody can read any more is put aside before the journal is full",
  async (journal, disk, folder) => {
    await spillDamaged(journal, folder);
    await journal.readSpilled();
    journal.stored(["call-1", "call-3"]);
    for (let at = 0; disk.told.length < 2; at++) {
      await until(() => begins(journal, `other-${at}`));
      await journal.end(ended(`other-${at}`));
      journal.stored([`other-${at}`]);
    }
    assert.match(disk.told[1]!, /^unreadable \d+$/);
    assert.ok(names(folder).includes("000000000001.journal.damaged"));
    await journal.compact();
    assert.equal(journal.bytes, 0, "its bytes no longer count");
    assert.ok(!openFiles().some((path) => path.startsWith(folder)));
  },
  { sync: "always", maxBytes: 64 * 1024 },
);

onDisk(
  "what is appended while the files are rewritten is not lost",
  async (journal, _, folder) => {
    journal.begin(begun("open"));
    journal.begin(begun("stored"));
    journal.stored(["stored"]);
    let isOver = false;
    const compacting = journal.compact().finally(() => isOver = true);
    const appended: string[] = [];
    for (let at = 0; !isOver; at++) {
      appended.push(`call-${at}`);
      journal.begin(begun(`call-${at}`));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await compacting;
    const found = (await kept(folder)).map(({ transactionId }) => transactionId);
    assert.deepEqual(found, ["open", ...appended]);
  },
);

onDisk("an end whose sync fails as the journal closes is not confirmed", async (journal, disk) => {
  journal.begin(begun("call-1"));
  disk.syncs = false;
  const ending = assert.rejects(journal.end(ended("call-1")), /Input\/output error/);
  await journal.close();
  await ending;
});

onDisk("closing waits for a compaction", async (journal, disk, folder) => {
  journal.begin(begun("call-1"));
  const syncing = Promise.withResolvers<void>();
  disk.syncing = syncing.promise;
  let isOver = false;
  const compacting = journal.compact().then(() => isOver = true);
  await until(() => disk.waiting > 0);
  const closing = journal.close().then(() => assert.ok(isOver));
  syncing.resolve();
  await Promise.all([closing, compacting]);
  assert.deepEqual(await kept(folder), [begun("call-1")]);
});

onDisk("closing waits for records that are put aside", async (journal, _disk, folder) => {
  for (let at = 0; at < 20; at++) void journal.reject(ended(`call-${at}`), "invalid");
  await journal.close();
  assert.equal(Deno.readTextFileSync(`${folder}/rejected.jsonl`).split("\n").length, 21);
});

onDisk(
  "closing syncs what the interval has not, so that finished files go",
  async (journal, _disk, folder) => {
    await journal.end(ended("call-1"));
    journal.stored(["call-1"]);
    await journal.close();
    assert.equal(files(folder), 0);
  },
  { sync: "interval" },
);

for (const sync of ["always", "interval"] as const) {
  onDisk(
    `what could not be brought to the disk is written again to a new file (${sync})`,
    async (journal, disk, folder) => {
      disk.syncs = false;
      journal.begin(begun("call-1"));
      const ending = journal.end(ended("call-1"));
      if (sync === "always") await assert.rejects(ending, /Input\/output error/);
      else await ending;
      await until(() => disk.told.length === 1);
      assert.throws(() => journal.begin(begun("call-2")), overloaded);
      await until(() => files(folder) === 2);
      disk.syncs = true;
      await until(() => begins(journal, "call-2"));
      await journal.end(ended("call-2"));
      const rows = await kept(folder);
      // What was written twice comes twice; the store takes it once.
      assert.deepEqual(new Set(rows.map(({ transactionId }) => transactionId)).size, 2);
      for (const row of rows) assert.deepEqual(row, ended(row.transactionId));
      journal.stored(["call-1", "call-2"]);
      await journal.close();
      assert.equal(files(folder), 0);
      assert.deepEqual(disk.told, ["failing: Input/output error (os error 5)", "mended"]);
    },
    { sync },
  );
}

onDisk(
  "a file that can't be cut back after a failed write is followed by another",
  async (journal, disk, folder) => {
    journal.begin(begun("call-1"));
    await journal.end(ended("call-1"));
    disk.space = 50;
    disk.truncates = false;
    assert.throws(() => journal.begin(begun("call-2")), overloaded);
    disk.space = Infinity;
    journal.begin(begun("call-3"));
    await journal.end(ended("call-3"));
    assert.equal(files(folder), 2);
    assert.deepEqual(await kept(folder), [ended("call-1"), ended("call-3")]);
  },
);

onDisk(
  "a folder that is removed is noticed by the next end; no call begins until it is back, and nothing is lost",
  async (journal, disk, folder) => {
    journal.begin(begun("call-1"));
    await journal.end(ended("call-1"));
    journal.begin(begun("call-2"));
    journal.begin(begun("call-3"));
    await Deno.remove(folder, { recursive: true });
    await assert.rejects(journal.end(ended("call-2")), /000000000001\.journal has been removed/);
    await assert.rejects(journal.end(ended("call-3")), /000000000002\.journal/);
    for (let times = 0; times < 3; times++) {
      assert.throws(() => journal.begin(begun("refused")), overloaded);
    }
    journal.stored(["call-1", "call-2", "call-3"]);
    assert.throws(() => journal.admit(), overloaded, "as `/readyz` asks");
    assert.deepEqual(disk.told.map((line) => line.slice(0, 8)), ["failing:"]);
    await Deno.mkdir(folder);
    journal.admit();
    journal.begin(begun("call-4"));
    await journal.end(ended("call-4"));
    assert.deepEqual(await kept(folder), [ended("call-4")]);
    assert.equal(disk.told.at(-1), "mended");
  },
);

onDisk(
  "files that are done go later where the folder takes no changes for a while",
  async (journal, _disk, folder) => {
    const ids = ["call-1", "call-2", "call-3"];
    for (const id of ids) {
      journal.begin(begun(id));
      await journal.end(ended(id));
    }
    const { segments } = journal;
    assert.equal(segments, 3);
    await Deno.rename(folder, `${folder}-away`);
    await Deno.writeTextFile(folder, "");
    journal.stored(ids);
    assert.equal(journal.segments, segments);
    await Deno.remove(folder);
    await Deno.rename(`${folder}-away`, folder);
    journal.begin(begun("call-4"));
    await journal.end(ended("call-4"));
    journal.stored(["call-4"]);
    assert.equal(files(folder), 0);
  },
  { sync: "always", segmentBytes: 10 },
);

onDisk(
  "a compaction that finds no room leaves neither an open file nor half of one",
  async (journal, _disk, folder) => {
    journal.begin(begun("call-1"));
    const [{ name }] = [...Deno.readDirSync(folder)] as [Deno.DirEntry];
    const path = `${folder}/${name}.rewritten`;
    // Every write to it fails as on a full disk.
    await Deno.symlink("/dev/full", path);
    await assert.rejects(journal.compact(), /No space left/);
    assert.ok(!openFiles().includes("/dev/full"));
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), [name]);
    await journal.compact();
    assert.deepEqual(await kept(folder), [begun("call-1")]);
  },
);

/** The paths of the files that this process has open. */
function openFiles(): string[] {
  return [...Deno.readDirSync("/proc/self/fd")].flatMap(({ name }) => {
    try {
      return [Deno.readLinkSync(`/proc/self/fd/${name}`)];
    } catch {
      // Reading the folder had one open itself.
      return [];
    }
  });
}

/** Whether the journal takes the call's beginning now. */
function begins(journal: Journal, id: string): boolean {
  try {
    journal.begin(begun(id));
    return true;
  } catch {
    return false;
  }
}

async function until(done: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!done()) {
    assert.ok(performance.now() < deadline, "it never comes true");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

onDisk(
  "what the store refused is erased by call, what nobody can read altogether",
  async (journal, _disk, folder) => {
    await Promise.all([
      journal.reject(ended("call-1", '"first"'), "invalid"),
      journal.reject(ended("call-2", '"second"'), "invalid"),
      journal.eraseRejected(({ transactionId }) => transactionId === "call-1"),
      journal.reject(ended("call-3", '"third"'), "invalid"),
    ]);
    await Deno.writeTextFile(`${folder}/000000000001.journal.damaged`, "whose?");
    const lines = () => Deno.readTextFileSync(`${folder}/rejected.jsonl`).trimEnd().split("\n");
    assert.deepEqual(lines().map((line) => JSON.parse(line).interaction.responseText), [
      '"second"',
      '"third"',
    ]);
    assert.equal(await journal.eraseRejected(() => false), 0);
    await journal.removeUnreadable();
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["rejected.jsonl"]);
    await Deno.writeTextFile(`${folder}/rejected.jsonl`, '{"reason":"cut sh', { append: true });
    assert.equal(await journal.eraseRejected(({ accountId }) => accountId === 7), 3);
    assert.equal(Deno.readTextFileSync(`${folder}/rejected.jsonl`), "");
  },
);

onDisk(
  "an end that isn't written waits for the disk until its own call is in the store",
  async (journal, disk, folder) => {
    for (const id of ["call-1", "call-2"]) journal.begin(begun(id));
    disk.space = 0;
    for (const id of ["call-1", "call-2"]) await assert.rejects(journal.end(ended(id)));
    assert.deepEqual(disk.told, ["failing: No space left on device (os error 28)"]);
    journal.stored(["call-1"]);
    disk.space = Infinity;
    await until(() => begins(journal, "call-3"));
    assert.deepEqual(await kept(folder), [ended("call-2"), begun("call-1"), begun("call-3")]);
  },
);

onDisk(
  "a record that is taken over is on the disk once that is done, however rarely others are",
  async (journal, disk, folder) => {
    const gate = Promise.withResolvers<void>();
    disk.syncing = gate.promise;
    const taking = journal.takeOver(ended("call-1"));
    await until(() => disk.waiting > 0);
    assert.equal(await Promise.race([taking, Promise.resolve("not yet")]), "not yet");
    gate.resolve();
    await taking;
    assert.deepEqual(await kept(folder), [ended("call-1")]);
  },
  { sync: "interval" },
);

onDisk(
  "a record that the disk has lost is read from memory while it waits to be written again",
  async (journal, disk, folder) => {
    journal.begin(begun("call-1"));
    disk.syncs = false;
    await assert.rejects(journal.end(ended("call-1")));
    assert.ok(journal.unload("call-1"));
    Deno.truncateSync(`${folder}/${names(folder)[0]}`);
    assert.deepEqual([...await journal.reload(["call-1"])], [["call-1", ended("call-1")]]);
    disk.syncs = true;
  },
);
