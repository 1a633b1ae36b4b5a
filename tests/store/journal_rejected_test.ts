import assert from "@std/assert";
import { interaction } from "./samples.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { countRejected, moveAside } from "../../src/records/journal/rejected.ts";

const day = (days: number) => new Date(Date.UTC(2026, 10, days));

/** A journal whose store has rejected a call on each of these days of the month. */
async function withRejected(days: readonly number[]) {
  const directory = await Deno.makeTempDir({ prefix: "rejected-" });
  const journal = await openJournal(directory, { sync: "interval" });
  for (const at of days) {
    await journal.reject(
      interaction(1, `t${at}`, {
        ...{ createdAt: day(at), requestText: `said ${at}`, responseText: "answered" },
        ...{ status: "failed", vendorAnswer: { status: 400, message: `quoted ${at}` } },
        media: [{ sha256: "00", mimeType: "image/png", content: new Uint8Array([at]) }],
      }),
      "no such column",
    );
  }
  const read = async () =>
    (await Deno.readTextFile(`${directory}/rejected.jsonl`)).split("\n").slice(0, -1);
  return {
    ...{ directory, journal, read },
    async [Symbol.asyncDispose]() {
      await journal.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

Deno.test("rejected records are erased at the age of rows, their payloads at that of payloads", async () => {
  await using at = await withRejected([1, 10, 20]);
  const before = await at.read();
  const counts = await at.journal.expire({ rowsBefore: day(5), payloadsBefore: day(15) });
  assert.deepEqual(counts, { rejected: 2, unreadableFiles: 0 });
  const [old, young, ...more] = await at.read();
  assert.deepEqual([young, more], [before[2], []]);
  assert.doesNotMatch(old!, /said|answered|quoted|"media"/);
  const { reason, interaction } = JSON.parse(old!);
  assert.deepEqual(
    [reason, interaction.transactionId, interaction.payloadTruncated],
    ["no such column", "t10", true],
  );
  // What is done is done.
  const again = await at.journal.expire({ rowsBefore: undefined, payloadsBefore: day(15) });
  assert.deepEqual(again, { rejected: 0, unreadableFiles: 0 });
});

Deno.test("a record behind an incomplete line is read, and the line goes", async () => {
  await using at = await withRejected([20]);
  const [whole] = await at.read();
  // As a full disk or a crash leaves it, in this folder and in that of a worker that is no more.
  const torn = whole!.slice(0, 100);
  await using left = await withRejected([21]);
  for (const { directory } of [at, left]) {
    await Deno.writeTextFile(`${directory}/rejected.jsonl`, torn, { append: true });
  }
  await moveAside(left.directory, at.directory);
  await at.journal.reject(interaction(1, "later", { createdAt: day(22) }), "no such column");
  await at.journal.expire({ rowsBefore: day(1), payloadsBefore: day(1) });
  const ids = (await at.read()).map((line) => JSON.parse(line).interaction.transactionId);
  assert.deepEqual(ids, ["t20", "t21", "later"]);
});

Deno.test("a record of another version outlives retention, and no deletion", async () => {
  await using at = await withRejected([1, 20]);
  // It lacks the amounts of this version: nobody can tell its age, or whose it is.
  const foreign = '{"reason":"no such column","interaction":{"transactionId":"foreign"}}';
  await Deno.writeTextFile(`${at.directory}/rejected.jsonl`, `${foreign}\n`, { append: true });
  const counts = await at.journal.expire({ rowsBefore: day(5), payloadsBefore: day(5) });
  assert.equal(counts.rejected, 1);
  const [young, last, ...more] = await at.read();
  assert.deepEqual([JSON.parse(young!).interaction.transactionId, last], ["t20", foreign]);
  assert.deepEqual(more, []);
  assert.equal(await at.journal.eraseRejected(() => false), 1);
  assert.deepEqual(await at.read(), [young]);
});

Deno.test("unreadable bytes go at the age of payloads", async () => {
  await using at = await withRejected([]);
  const path = (number: number) => `${at.directory}/00000000000${number}.journal.damaged`;
  for (const [number, saved] of [[1, day(1)], [2, day(20)]] as const) {
    await Deno.writeTextFile(path(number), "bytes");
    await Deno.utime(path(number), saved, saved);
  }
  const counts = await at.journal.expire({ rowsBefore: undefined, payloadsBefore: day(15) });
  assert.deepEqual(counts, { rejected: 0, unreadableFiles: 1 });
  assert.ok((await Deno.stat(path(2))).isFile);
  await assert.rejects(Deno.stat(path(1)), Deno.errors.NotFound);
});

Deno.test("rejected records are counted, changed and moved in a file that fits in no string", async () => {
  await using at = await withRejected([]);
  await using left = await withRejected([]);
  // Lines that a crash left incomplete, of a file without blocks on the disk.
  const path = `${left.directory}/rejected.jsonl`;
  const [lines, lineBytes] = [34, 16 * 1024 * 1024];
  using file = await Deno.create(path);
  for (let line = 1; line <= lines; line++) {
    await file.seek(line * lineBytes - 1, Deno.SeekMode.Start);
    await file.write(new TextEncoder().encode("\n"));
  }
  await left.journal.reject(interaction(1, "last", { createdAt: day(20) }), "no such column");
  assert.equal(await countRejected(left.directory), lines + 1);
  assert.equal(await left.journal.eraseRejected(() => false), lines);
  const [whole, ...more] = await left.read();
  assert.deepEqual([JSON.parse(whole!).interaction.transactionId, more], ["last", []]);
  await moveAside(left.directory, at.directory);
  assert.deepEqual(await at.read(), [whole]);
});
