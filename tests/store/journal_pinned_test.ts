/** Calls under way for long must not keep everybody's records in the journal (security.md 6). */
import assert from "@std/assert";
import type { Interaction } from "../../src/shared/interaction.ts";
import {
  type Journal,
  type JournalOptions,
  openJournal,
} from "../../src/records/journal/journal.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const text = JSON.stringify("x".repeat(2000));
const oldest = "000000000001.journal";
const begun = (id: string) =>
  interaction(7, id, { status: "interrupted", requestText: text, responseText: null });
const ended = (id: string) =>
  interaction(7, id, { status: "completed", requestText: text, responseText: text });

const small: JournalOptions = { sync: "always", maxBytes: 256 * 1024 };

function inFolder(
  name: string,
  test: (journal: Journal, folder: string) => Promise<void>,
  options = small,
): void {
  Deno.test(name, () =>
    withFolder(async (parent) => {
      const folder = `${parent}/journal`;
      const journal = await openJournal(folder, options);
      try {
        await test(journal, folder);
      } finally {
        await journal.close();
      }
    }));
}

/** Waits for room first, as a refused caller retries: making room reads and syncs files. */
async function callOfOther(journal: Journal, id: string): Promise<void> {
  await until(() => hasRoom(journal));
  journal.begin(begun(id));
  await journal.end(ended(id));
  journal.stored([id]);
}

function hasRoom(journal: Journal): boolean {
  return journal.bytes < 128 * 1024;
}

inFolder("calls that stay open don't fill the journal with those of others", async (journal) => {
  const open = ["open-0", "open-1", "open-2", "open-3"];
  for (const id of open) {
    journal.begin(begun(id));
    for (let at = 0; at < 20; at++) await callOfOther(journal, `${id}-${at}`);
  }
  // Five times what the journal may hold.
  let written = 0;
  for (let at = 0; written < 5 * 256 * 1024; at++) {
    await callOfOther(journal, `other-${at}`);
    written += 2 * text.length;
  }
  await until(() => hasRoom(journal));
  for (const id of open) await journal.end(ended(id));
  journal.stored(open);
  await until(() => journal.segments <= 1);
});

inFolder("calls that were moved are found after a crash, once each", async (journal, folder) => {
  const open = ["open-0", "open-1", "open-2"];
  for (const id of open) journal.begin(begun(id));
  journal.begin(begun("waiting"));
  await journal.end(ended("waiting"));
  for (let at = 0; at < 200; at++) await callOfOther(journal, `other-${at}`);
  await journal.end(ended("open-1"));
  for (let at = 200; at < 400; at++) await callOfOther(journal, `other-${at}`);
  await until(() => hasRoom(journal));
  const found = new Map((await copied(folder)).map((row) => [row.transactionId, row]));
  assert.deepEqual(found.get("open-0"), begun("open-0"));
  assert.deepEqual(found.get("open-1"), ended("open-1"));
  assert.deepEqual(found.get("open-2"), begun("open-2"));
  assert.deepEqual(found.get("waiting"), ended("waiting"));
});

inFolder(
  "a file whose last call is stored just as it is put aside counts once",
  async (journal, folder) => {
    journal.begin(begun("damaged"));
    await journal.end(ended("damaged"));
    const path = `${folder}/000000000001.journal`;
    const bytes = Deno.readFileSync(path);
    for (const at of [1000, journal.bytes - 1000]) bytes[at]! ^= 1;
    Deno.writeFileSync(path, bytes);
    let isAside = false;
    const ignored = () => {};
    journal.observe({
      ...{ synced: ignored, failing: ignored, mended: ignored, lost: ignored },
      unreadable: () => {
        isAside = true;
        journal.stored(["damaged"]);
      },
    });
    for (let at = 0; !isAside; at++) await callOfOther(journal, `other-${at}`);
    await journal.compact();
    assert.equal(journal.bytes, 0);
  },
);

inFolder("a call that ends while its file is being moved is not lost", async (journal, folder) => {
  // So large that its end would be in the file of its beginning.
  const large = { requestText: JSON.stringify("x".repeat(20_000)) };
  journal.begin({ ...begun("open"), ...large });
  for (let at = 0; journal.bytes < 64 * 1024; at++) {
    journal.begin(begun(`other-${at}`));
    await journal.end(ended(`other-${at}`));
    journal.stored([`other-${at}`]);
  }
  // On a machine that isn't busy, the oldest file is being read now.
  for (let at = 0; at < 20; at++) await Promise.resolve();
  await journal.end({ ...ended("open"), ...large });
  await until(() => ![...Deno.readDirSync(folder)].some(({ name }) => name === oldest));
  const found = (await copied(folder)).find(({ transactionId }) => transactionId === "open");
  assert.deepEqual(found, { ...ended("open"), ...large });
});

inFolder("what all is needed isn't written again and again", async (journal, folder) => {
  for (let at = 0; at < 40; at++) {
    journal.begin(begun(`open-${at}`));
    if (at % 2 === 0) await journal.end(ended(`open-${at}`));
  }
  const names = () => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  const before = names();
  assert.equal(before[0], oldest);
  journal.stored(["unknown"]);
  await journal.compact();
  assert.deepEqual(names(), before);
});

inFolder(
  "an account whose own calls under way fill the journal is refused, others are not",
  async (journal) => {
    const large = JSON.stringify("x".repeat(20_000));
    const of = (accountId: number, id: string) => ({
      ...begun(id),
      accountId,
      requestText: large,
    });
    assert.throws(
      () => {
        for (let at = 0; at < 13; at++) journal.begin(of(7, `open-${at}`));
      },
      { name: "Fault", code: "rate_limit_exceeded", retryAfterSeconds: 5 },
    );
    assert.ok(journal.bytes < 256 * 1024);
    journal.begin(of(8, "other"));
    await journal.end({ ...of(8, "other"), status: "completed" });
  },
);

/** What a start after a crash finds, with the files left as they are. */
async function copied(folder: string): Promise<Interaction[]> {
  const copy = `${folder}-copy`;
  await Deno.mkdir(copy);
  // In one turn of the event loop, as a crash sees them: the journal goes on making room.
  for (const { name } of Deno.readDirSync(folder)) {
    Deno.copyFileSync(`${folder}/${name}`, `${copy}/${name}`);
  }
  const rows: Interaction[] = [];
  const journal = await openJournal(copy, { sync: "always" });
  await journal.replay((batch) => Promise.resolve(void rows.push(...batch)));
  await journal.close();
  await Deno.remove(copy, { recursive: true });
  return rows;
}

async function until(done: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!done()) {
    assert.ok(performance.now() < deadline, "it never comes true");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
