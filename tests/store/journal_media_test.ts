/** Media that was taken out of a payload before the journal had it. */
import assert from "@std/assert";
import { sha256Hex } from "../../src/base/hash.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { Media } from "../../src/shared/media.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { Random } from "../support/random.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const random = new Random(9);

function medium(bytes: number): Media {
  const content = Uint8Array.from({ length: bytes }, () => random.below(256));
  return { sha256: sha256Hex(content), mimeType: "image/png", content };
}

const asked = medium(100_001);
const drawn = [medium(49_152), medium(1), medium(0)];

const begun = interaction(7, "call-1", {
  status: "interrupted",
  requestText: '{"prompt":"é"}',
  media: [asked],
});
const ended = interaction(7, "call-1", {
  status: "completed",
  requestText: '{"prompt":"é"}',
  responseText: '{"data":[]}',
  media: [asked, ...drawn],
});

/** What a start after a crash finds, and how large the file was. */
async function afterwards(
  rows: readonly [begun: SettledCall, ended?: SettledCall],
  segmentBytes: number,
): Promise<{ found: SettledCall[]; bytes: number }> {
  let found: SettledCall[] = [];
  let bytes = 0;
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, { sync: "always", segmentBytes });
    journal.begin(rows[0]);
    if (rows[1]) await journal.end(rows[1]);
    bytes = journal.bytes;
    await journal.close();
    found = await replayed(folder);
  });
  return { found, bytes };
}

async function replayed(folder: string): Promise<SettledCall[]> {
  const found: SettledCall[] = [];
  const next = await openJournal(folder, { sync: "always" });
  await next.replay((batch) => {
    found.push(...batch);
    return Promise.resolve();
  });
  await next.close();
  // Their buffers are of different kinds.
  const media = (row: SettledCall) =>
    row.media?.map((one) => ({ ...one, content: Uint8Array.from(one.content) }));
  return found.map((row) => ({ ...row, media: media(row)! }));
}

Deno.test("media comes back byte for byte, of a call that ended and of one that did not", async () => {
  for (const segmentBytes of [10_000_000, 1000]) {
    assert.deepEqual((await afterwards([begun, ended], segmentBytes)).found, [ended]);
    assert.deepEqual((await afterwards([begun], segmentBytes)).found, [begun]);
  }
});

Deno.test("a spilled record is read back with its media", async () => {
  // So large that its file holds nothing else, and is freed as soon as it is read.
  const large = { ...ended, media: [asked, medium(300_000)] };
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, { sync: "always", segmentBytes: 1000 });
    journal.begin(begun);
    const stored = journal.end(large);
    assert.equal(journal.spill(large.transactionId), true);
    await stored;
    const found = await journal.readSpilled();
    await journal.close();
    const hashes = found.map(({ media }) => media?.map(({ content }) => sha256Hex(content)));
    assert.deepEqual(hashes, [large.media.map(({ sha256 }) => sha256)]);
  });
});

Deno.test("in the file of its beginning a call's end doesn't hold the request's media again", async () => {
  const { bytes } = await afterwards([begun, ended], 10_000_000);
  const once = [asked, ...drawn].reduce((sum, { content }) => sum + content.length * 4 / 3, 0);
  assert.ok(bytes > once && bytes < once + 5000, `${bytes} bytes for ${once}`);
});

Deno.test("a call's end doesn't hold a large request again though a newer file has been begun", async () => {
  const long = JSON.stringify("x".repeat(100_000));
  for (const row of [begun, { ...begun, requestText: long, media: drawn }]) {
    await withFolder(async (folder) => {
      const journal = await openJournal(folder, { sync: "always", segmentBytes: 4000 });
      journal.begin(row);
      journal.begin(interaction(8, "call-2", { status: "interrupted" }));
      assert.equal(journal.segments, 2);
      const before = journal.bytes;
      const whole = { ...row, status: "completed", responseText: '{"data":[]}' } as const;
      const ending = journal.end(whole);
      const bytes = journal.bytes - before;
      await ending;
      assert.ok(bytes < 2000, `${bytes} bytes`);
      await journal.close();
      const [found, other] = await replayed(folder);
      assert.deepEqual(found, whole);
      assert.equal(other?.transactionId, "call-2");
    });
  }
});

Deno.test("an image that contains a journal record is not read as one when its own record is damaged", async () => {
  await withFolder(async (folder) => {
    const forged = await withFolderOf(interaction(8, "forged", { chargedNanos: 1n }));
    const content = forged;
    const carrier = { ...ended, media: [{ sha256: sha256Hex(content), mimeType: "x/y", content }] };
    const journal = await openJournal(folder, { sync: "always" });
    journal.begin(begun);
    await journal.end(carrier);
    await journal.close();
    const path = `${folder}/000000000001.journal`;
    const bytes = await Deno.readFile(path);
    bytes[bytes.length - 3]! ^= 1;
    await Deno.writeFile(path, bytes);
    const found: SettledCall[] = [];
    const next = await openJournal(folder, { sync: "always" });
    await next.replay((batch) => {
      found.push(...batch);
      return Promise.resolve();
    });
    await next.close();
    assert.deepEqual(found.map(({ transactionId }) => transactionId), ["call-1"]);
  });
});

Deno.test("a refused record is put aside with its media", async () => {
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, { sync: "always" });
    await journal.reject(ended, "of a test");
    await journal.close();
    const { interaction: kept } = JSON.parse(await Deno.readTextFile(`${folder}/rejected.jsonl`));
    assert.deepEqual(
      kept.media.map(({ content }: { content: string }) => Uint8Array.fromBase64(content).length),
      [100_001, 49_152, 1, 0],
    );
  });
});

/** A journal file's bytes, with one call's record in it. */
async function withFolderOf(row: SettledCall): Promise<Uint8Array> {
  let bytes = new Uint8Array();
  await withFolder(async (folder) => {
    const journal = await openJournal(folder, { sync: "always" });
    await journal.end(row);
    bytes = await Deno.readFile(`${folder}/000000000001.journal`);
    await journal.close();
  });
  return bytes;
}
