import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { type Journal, openJournal } from "../../src/records/journal/journal.ts";
import { createSegmentFile, type SegmentFile } from "../../src/records/journal/segment_file.ts";
import { within } from "../support/within.ts";
import { filesWith } from "../support/files_with.ts";
import { Child, withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const always = { sync: "always" } as const;

async function replayed(journal: Journal): Promise<SettledCall[]> {
  const rows: SettledCall[] = [];
  await journal.replay((batch) => {
    rows.push(...batch);
    return Promise.resolve();
  });
  return rows;
}

function files(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

function withJournal(
  test: (journal: Journal, folder: string) => Promise<void>,
  options: Parameters<typeof openJournal>[1] = always,
): () => Promise<void> {
  return () =>
    withFolder(async (folder) => {
      const path = `${folder}/journal`;
      const journal = await openJournal(path, options);
      try {
        await test(journal, path);
      } finally {
        await journal.close();
      }
    });
}

/** Segment files that call `synced` after each sync. */
function watchedFiles(synced: () => void): (path: string) => SegmentFile {
  return (path) => {
    const file = createSegmentFile(path);
    return {
      writeSync: (bytes) => file.writeSync(bytes),
      truncateSync: (length) => file.truncateSync(length),
      syncData: async () => {
        await file.syncData();
        synced();
      },
      readSync: (length) => file.readSync(length),
      close: () => file.close(),
    };
  };
}

/** What a start after a crash finds. */
async function reopened(folder: string): Promise<SettledCall[]> {
  const journal = await openJournal(folder, always);
  const rows = await replayed(journal);
  await journal.close();
  return rows;
}

const begun = (id: string) => interaction(7, id, { status: "interrupted" });
const ended = (id: string, more: Partial<SettledCall> = {}) =>
  interaction(7, id, { status: "completed", ...more });

Deno.test("the records of ordinary calls are written from one buffer, and each one as it is", () =>
  withFolder(async (folder) => {
    const buffers = new Set<unknown>();
    const createFile = (path: string): SegmentFile => {
      const file = createSegmentFile(path);
      const write = file.writeSync.bind(file);
      file.writeSync = (bytes) => {
        buffers.add(bytes.buffer);
        return write(bytes);
      };
      return file;
    };
    const journal = await openJournal(folder, { ...always, createFile });
    const ids = Array.from({ length: 20 }, (_, at) => `call ${at}`);
    for (const id of ids) journal.begin(begun(id));
    await Promise.all(ids.map((id) => journal.end(ended(id, { responseText: id.repeat(50) }))));
    assert.equal(buffers.size, 1);
    await journal.close();
    const rows = await reopened(folder);
    assert.deepEqual(rows.map((row) => row.responseText), ids.map((id) => id.repeat(50)));
  }));

Deno.test("calls that end in one turn of the event loop share a sync, which is timed", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const createFile = watchedFiles(() => clock.advance(20));
    const options = { ...always, clock, createFile };
    const journal = await openJournal(`${folder}/journal`, options);
    const seconds: number[] = [];
    const ignored = () => {};
    const synced = (one: number) => void seconds.push(one);
    const others = { failing: ignored, mended: ignored, lost: ignored, unreadable: ignored };
    journal.observe({ synced, ...others });
    for (const id of ["a", "b", "c"]) journal.begin(begun(id));
    await Promise.all(["a", "b", "c"].map((id) => journal.end(ended(id))));
    await journal.close();
    assert.deepEqual(seconds, [0.02]);
  }));

Deno.test("an end that is written just as the sync before it is over is synced too", () =>
  withFolder(async (folder) => {
    for (let turns = 0; turns <= 40; turns++) {
      let second: Promise<void> | undefined;
      let afterSync = () => {};
      const createFile = watchedFiles(() => afterSync());
      const journal = await openJournal(`${folder}/${turns}`, { sync: "always", createFile });
      for (const id of ["earlier", "first", "second"]) journal.begin(begun(id));
      await journal.end(ended("earlier"));
      const written = new Promise<void>((resolve) => {
        // So many microtasks after the disk has answered.
        afterSync = async () => {
          afterSync = () => {};
          for (let turn = 0; turn < turns; turn++) await undefined;
          second = journal.end(ended("second"));
          resolve();
        };
      });
      await Promise.all([journal.end(ended("first")), written]);
      await within(60_000, second!);
      await journal.close();
    }
  }));

Deno.test(
  "a record comes back as it was, whatever it holds",
  withJournal(async (journal, folder) => {
    const whole = ended("call-1", {
      costNanos: 2n ** 62n,
      chargedNanos: 12_345n,
      leaseId: "lease-1",
      requestText: '{"text":"\u0000 \ud83d\ude00 \u2028"}',
      translationLoss: ["a.b"],
      usageRawText: '{"n":12345678901234567890}',
      retained: { reasoning: [{ callId: "c", reasoningText: "r" }] },
    });
    journal.begin(begun("call-1"));
    await journal.end(whole);
    assert.deepEqual(await reopened(folder), [whole]);
  }),
);

Deno.test(
  "a call that began and did not end is found as it began",
  withJournal(async (journal, folder) => {
    journal.begin(begun("call-1"));
    journal.begin(begun("call-2"));
    await journal.end(ended("call-2"));
    assert.deepEqual(await reopened(folder), [ended("call-2"), begun("call-1")]);
  }),
);

Deno.test(
  "a replay that fails is repeated, one that is done finds nothing more",
  withJournal(async (journal, folder) => {
    await journal.end(ended("call-1"));
    const next = await openJournal(folder, always);
    const failure = new Error("of the store");
    await assert.rejects(next.replay(() => Promise.reject(failure)), failure);
    assert.deepEqual(await replayed(next), [ended("call-1")]);
    assert.deepEqual(await replayed(next), []);
    await next.close();
    assert.deepEqual(await reopened(folder), []);
  }),
);

Deno.test(
  "a file whose record nothing else takes stays at a replay, with those after it",
  withJournal(async (_journal, folder) => {
    for (const id of ["call-1", "call-2", "call-3"]) {
      const journal = await openJournal(folder, always);
      await journal.end(ended(id));
      await journal.close();
    }
    const next = await openJournal(folder, always);
    const found: string[] = [];
    await next.replay((batch) => {
      const ids = batch.map(({ transactionId }) => transactionId);
      found.push(...ids);
      return Promise.resolve(!ids.includes("call-2"));
    });
    await next.close();
    assert.deepEqual(found, ["call-1", "call-2", "call-3"]);
    assert.deepEqual(await reopened(folder), [ended("call-2"), ended("call-3")]);
    assert.deepEqual(await reopened(folder), []);
  }),
);

Deno.test("a tail that was not written whole is left out, wherever it was cut", () =>
  withFolder(async (folder) => {
    const journal = await openJournal(`${folder}/whole`, always);
    await journal.end(ended("call-1"));
    const first = journal.bytes;
    await journal.end(ended("call-2"));
    const [name] = files(`${folder}/whole`);
    const bytes = (await Deno.readFile(`${folder}/whole/${name}`)).subarray(0, journal.bytes);
    await journal.close();
    const cut = `${folder}/cut`;
    for (let length = first; length < bytes.length; length += 37) {
      await Deno.mkdir(cut, { recursive: true });
      await Deno.writeFile(`${cut}/${name}`, bytes.subarray(0, length));
      assert.deepEqual(await reopened(cut), [ended("call-1")], `cut at ${length}`);
    }
    const flipped = bytes.slice();
    flipped[first + 20]! ^= 1;
    await Deno.writeFile(`${cut}/${name}`, flipped);
    assert.deepEqual(await reopened(cut), [ended("call-1")], "a bit that flipped");
    const zeros = new Uint8Array(bytes.length + 500);
    zeros.set(bytes);
    await Deno.writeFile(`${cut}/${name}`, zeros);
    assert.deepEqual(await reopened(cut), [ended("call-1"), ended("call-2")], "zeros behind");
  }));

Deno.test(
  "files go once all their calls are in the store, and no end before its beginning",
  withJournal(async (journal, folder) => {
    journal.begin(begun("long"));
    for (let at = 0; at < 20; at++) {
      journal.begin(begun(`call-${at}`));
      await journal.end(ended(`call-${at}`));
      journal.stored([`call-${at}`]);
    }
    const many = files(folder).length;
    assert.ok(many > 3, `${many} files`);
    await journal.end(ended("long"));
    assert.equal(files(folder).length, 1, "its end is on the disk: no one needs its beginning");
    journal.stored(["long"]);
    assert.deepEqual(files(folder), [], "a full file that nobody needs");
    await journal.close();
    assert.deepEqual(files(folder), []);
  }, { sync: "always", segmentBytes: 2000 }),
);

Deno.test(
  "what the store has not taken stays after the end of the process",
  withJournal(async (journal, folder) => {
    await journal.end(ended("call-1"));
    await journal.end(ended("call-2"));
    journal.stored(["call-1"]);
    await journal.close();
    assert.deepEqual(await reopened(folder), [ended("call-1"), ended("call-2")]);
  }),
);

Deno.test(
  "with interval an end does not wait for the disk",
  withJournal(async (journal, folder) => {
    await journal.end(ended("call-1"));
    assert.deepEqual(await reopened(folder), [ended("call-1")]);
  }, { sync: "interval" }),
);

Deno.test(
  "where the disk takes nothing more a call is refused before it begins",
  withJournal(async (journal, folder) => {
    await Deno.remove(folder, { recursive: true });
    assert.throws(
      () => journal.begin(begun("call-1")),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "overloaded",
    );
    await assert.rejects(journal.end(ended("call-1")));
  }),
);

Deno.test("after kill -9 in the middle of writing every end that was confirmed is found", () =>
  withFolder(async (folder) => {
    const confirmed = new Set<string>();
    const started = new Set<string>();
    const found = new Map<string, SettledCall>();
    for (let round = 0; round < 3; round++) {
      const path = `${folder}/${round}`;
      await using child = new Child("write_journal.ts", path);
      await child.printed(`ended call-${200 + round * 150}`);
      await child.kill();
      for (const line of child.lines) {
        const [what, id] = line.split(" ");
        (what === "ended" ? confirmed : started).add(`${round} ${id}`);
      }
      for (const row of await reopened(path)) {
        const key = `${round} ${row.transactionId}`;
        assert.ok(!found.has(key), `${key} comes twice`);
        found.set(key, row);
        if (confirmed.has(key)) assert.equal(row.status, "completed", key);
        if (row.status === "interrupted") assert.equal(row.chargedNanos, 0n);
      }
    }
    for (const key of [...confirmed, ...started]) assert.ok(found.has(key), `${key} is missing`);
    assert.ok(confirmed.size > 600);
  }));

Deno.test("a compaction removes a file that holds only stored calls while it is being synced", async () => {
  const slowly = Promise.withResolvers<void>();
  let syncs = 0;
  const createFile = (path: string): SegmentFile => {
    const file = watchedFiles(() => {})(path);
    return { ...file, syncData: () => syncs++ === 0 ? slowly.promise : file.syncData() };
  };
  await withJournal(async (journal, folder) => {
    journal.begin(interaction(7, "call-1"));
    const ending = journal.end(interaction(7, "call-1"));
    while (syncs === 0) await new Promise((resolve) => setTimeout(resolve));
    journal.stored(["call-1"]);
    setTimeout(slowly.resolve, 20);
    await journal.compact();
    assert.deepEqual(files(folder), []);
    await ending;
  }, { ...always, createFile })();
});

Deno.test(
  "tidied files hold calls under way and nothing of those that are in the store",
  withJournal(async (journal, folder) => {
    const said = (id: string) => ({ requestText: `words of ${id}`, responseText: `more of ${id}` });
    // The last two reach over several files.
    journal.begin(begun("open"));
    for (const id of ["a", "b", "waiting"]) {
      journal.begin({ ...begun(id), ...said(id) });
      await journal.end(ended(id, said(id)));
    }
    journal.stored(["a", "b"]);
    assert.notDeepEqual(await filesWith(folder, ["words of a"]), [], "it is there before");
    const ending = journal.end(ended("late", said("late")));
    await Promise.all([journal.compact(), journal.compact(), ending]);
    assert.deepEqual(await filesWith(folder, ["words of a", "more of b"]), []);
    await journal.end(ended("open"));
    assert.deepEqual(await reopenedCopy(folder), [
      ended("waiting", said("waiting")),
      ended("late", said("late")),
      ended("open"),
    ]);
    journal.stored(["waiting", "late", "open"]);
    await journal.compact();
    assert.deepEqual(files(folder), []);
    assert.equal(journal.bytes, 0);
  }, { sync: "always", segmentBytes: 1500 }),
);

Deno.test(
  "a tidied file has nothing of an erased call in flight, and takes its end",
  withJournal(async (journal, folder) => {
    const content = new TextEncoder().encode("a picture of both");
    const media = [{ sha256: "0".repeat(64), mimeType: "image/png", content }];
    const said = (id: string) => ({ ...begun(id), requestText: `words of ${id}` });
    const texts = ["words of erased", content.toBase64()];
    journal.begin({ ...said("erased"), media });
    journal.begin(said("other"));
    assert.notDeepEqual(await filesWith(folder, texts), [], "it is there before");
    const isErased = (call: { transactionId: string }) => call.transactionId === "erased";
    for (let times = 0; times < 2; times++) await journal.compact(isErased);
    assert.deepEqual(await filesWith(folder, texts), []);
    assert.deepEqual(await reopenedCopy(folder), [said("other")], "as after a kill");
    await journal.end({ ...ended("erased"), requestText: "words of erased", media });
    assert.notDeepEqual(await filesWith(folder, texts), [], "until the store refuses it");
    await journal.end({ ...ended("other"), requestText: "words of other" });
    journal.stored(["erased", "other"]);
    await journal.compact();
    assert.deepEqual([files(folder), journal.bytes], [[], 0]);
  }),
);

Deno.test(
  "a file is tidied again only when one of its calls has ended or is erased",
  withJournal(async (journal, folder) => {
    const said = (id: string) => ({ ...begun(id), requestText: `words of ${id}` });
    const tidied = async (isErased: (call: { transactionId: string }) => boolean = () => false) => {
      const first = () => Deno.stat(`${folder}/${files(folder)[0]}`).then(({ ino }) => ino);
      const before = await first();
      await journal.compact(isErased);
      return await first() !== before;
    };
    for (const id of ["long", "next", "erased", "last"]) journal.begin(said(id));
    assert.equal(await tidied(), true);
    assert.equal(await tidied(), false);
    await journal.end({ ...ended("next"), requestText: "words of next" });
    assert.equal(await tidied(), true, "the end is in another file, which needs the beginning");
    journal.stored(["next"]);
    assert.equal(await tidied(), true);
    assert.deepEqual(await filesWith(folder, ["words of next"]), []);
    assert.equal(await tidied(), false);
    const isErased = ({ transactionId }: { transactionId: string }) => transactionId === "erased";
    assert.equal(await tidied(isErased), true);
    assert.deepEqual(await filesWith(folder, ["words of erased"]), []);
    await tidied(isErased);
    assert.equal(await tidied(isErased), false);
    assert.deepEqual(await reopenedCopy(folder), [said("long"), said("last")], "as after a kill");
  }),
);

Deno.test("a file that goes just as its rewriting is over is not removed twice", () =>
  withFolder(async (folder) => {
    for (let turns = 0; turns <= 20; turns++) {
      let afterSync = () => {};
      const createFile = watchedFiles(() => afterSync());
      const options = { ...always, createFile, segmentBytes: 5_000 };
      const journal = await openJournal(`${folder}/${turns}`, options);
      await journal.end(ended("call-1"));
      journal.begin({ ...begun("call-2"), requestText: "x".repeat(5_000) });
      journal.stored(["call-1", "call-2"]);
      afterSync = async () => {
        for (let turn = 0; turn < turns; turn++) await undefined;
        journal.stored(["another"]);
      };
      await journal.compact();
      assert.equal(journal.bytes, 0);
      await journal.close();
    }
  }));

Deno.test(
  "a file whose rewriting was cut is taken as it was, and the half goes",
  withJournal(async (journal, folder) => {
    journal.begin(begun("open"));
    await Deno.writeTextFile(`${folder}/000000000001.journal.rewritten`, "half of it");
    assert.deepEqual(await reopenedCopy(folder), [begun("open")]);
    const other = await openJournal(folder, always);
    await other.close();
    assert.deepEqual(files(folder), ["000000000001.journal"]);
  }),
);

/** What a start after a crash finds, with the files left as they are. */
async function reopenedCopy(folder: string): Promise<SettledCall[]> {
  const copy = `${folder}-copy`;
  await Deno.mkdir(copy);
  for (const name of files(folder)) await Deno.copyFile(`${folder}/${name}`, `${copy}/${name}`);
  const rows = await reopened(copy);
  await Deno.remove(copy, { recursive: true });
  return rows;
}

Deno.test(
  "an end that can't be written as it is is written without what can't",
  withJournal(async (journal, folder) => {
    journal.begin(begun("call-1"));
    const odd = { translationLoss: [1n as unknown as string], chargedNanos: 7n };
    await journal.end(ended("call-1", odd));
    journal.admit();
    const [row] = await reopened(`${folder}`);
    assert.deepEqual([row?.status, row?.chargedNanos, row?.translationLoss], ["completed", 7n, []]);
  }),
);

Deno.test(
  "a call without an end that nobody could store keeps its files for the next start",
  withJournal(async (journal, folder) => {
    journal.begin(begun("cut"));
    for (const id of ["a", "b"]) {
      journal.begin(begun(id));
      await journal.end(ended(id));
    }
    for (let start = 0; start < 2; start++) {
      const next = await openJournal(folder, always);
      await next.replay((rows) =>
        Promise.resolve(rows.every(({ status }) => status === "completed"))
      );
      await next.close();
    }
    const found = (await reopened(folder)).map(({ transactionId }) => transactionId);
    assert.ok(found.includes("cut"), found.join(" "));
  }),
);
