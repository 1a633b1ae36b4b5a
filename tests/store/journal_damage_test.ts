import assert from "@std/assert";
import type { Interaction } from "../../src/shared/interaction.ts";
import { damagedNames, segmentNames } from "../../src/records/journal/files.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import type { Unreadable } from "../../src/records/journal/recovery.ts";
import { Random } from "../support/random.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

const always = { sync: "always" } as const;
const file = "000000000001.journal";

const begun = (id: string) => interaction(7, id, { status: "interrupted", requestText: text(id) });
const ended = (id: string) =>
  interaction(7, id, {
    status: "completed",
    requestText: text(id),
    responseText: `{"answer":"to ${id}\\n"}`,
  });
const text = (id: string) => JSON.stringify({ asked: `by ${id} `.repeat(1 + id.length % 9) });

interface Written {
  bytes: Uint8Array;
  /** Where each call's begin and end record stop. */
  calls: { id: string; begunTo: number; endedTo: number }[];
}

/** A journal file with so many whole calls. */
async function written(folder: string, count: number): Promise<Written> {
  const journal = await openJournal(folder, always);
  const calls: Written["calls"] = [];
  for (let at = 0; at < count; at++) {
    const id = `call-${"x".repeat(at % 40)}${at}`;
    journal.begin(begun(id));
    const begunTo = journal.bytes;
    await journal.end(ended(id));
    calls.push({ id, begunTo, endedTo: journal.bytes });
  }
  // Without the zeros behind.
  const bytes = (await Deno.readFile(`${folder}/${file}`)).subarray(0, journal.bytes);
  await journal.close();
  return { bytes, calls };
}

/** What a start finds in a folder that holds these bytes. */
async function found(folder: string, bytes: Uint8Array) {
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeFile(`${folder}/${file}`, bytes);
  const journal = await openJournal(folder, always);
  const told: Unreadable[] = [];
  journal.observe({
    synced() {},
    failing() {},
    mended() {},
    lost() {},
    unreadable: (what) => told.push(what),
  });
  const rows = new Map<string, Interaction>();
  await journal.replay((batch) => {
    for (const row of batch) {
      assert.ok(!rows.has(row.transactionId), `${row.transactionId} comes twice`);
      rows.set(row.transactionId, row);
    }
    return Promise.resolve();
  });
  await journal.close();
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  for (const name of names) await Deno.remove(`${folder}/${name}`);
  return { rows, told, names };
}

Deno.test("whatever is cut off a journal file, every record before it is found", () =>
  withFolder(async (folder) => {
    const { bytes, calls } = await written(`${folder}/whole`, 40);
    const random = new Random(7);
    for (let round = 0; round < 150; round++) {
      const length = random.below(bytes.length);
      const { rows } = await found(`${folder}/cut`, bytes.subarray(0, length));
      for (const { id, begunTo, endedTo } of calls) {
        const expected = endedTo <= length ? ended(id) : begunTo <= length ? begun(id) : undefined;
        assert.deepEqual(rows.get(id), expected, `${id} cut at ${length}`);
      }
    }
  }));

Deno.test("whatever bits flip, a start comes through, and only the calls that they hit are harmed", () =>
  withFolder(async (folder) => {
    const { bytes, calls } = await written(`${folder}/whole`, 40);
    const random = new Random(11);
    for (let round = 0; round < 150; round++) {
      const damaged = bytes.slice();
      const hits = Array.from({ length: 1 + random.below(3) }, () => random.below(bytes.length));
      for (const at of hits) damaged[at]! ^= 1 << random.below(8);
      const { rows, told, names } = await found(`${folder}/flipped`, damaged);
      let from = 0;
      for (const { id, endedTo } of calls) {
        const isHit = hits.some((at) => at >= from && at < endedTo);
        // Two flips in one place may undo each other.
        if (!isHit) assert.deepEqual(rows.get(id), ended(id), `${id}; bits at ${hits}`);
        else if (rows.has(id)) assert.ok(isPartOf(rows.get(id)!, id), `${id}; bits at ${hits}`);
        from = endedTo;
      }
      assert.ok(told.length > 0 || hits.length > 1, "damage is told");
      assert.deepEqual(names, told.length > 0 ? [`${file}.damaged`] : []);
    }
  }));

/** A call that was hit comes as it began, or without what its beginning held. */
function isPartOf(row: Interaction, id: string): boolean {
  if (row.status === "interrupted") return row.requestText === text(id);
  return row.responseText === ended(id).responseText &&
    (row.requestText === text(id) || row.requestText === null && row.payloadTruncated);
}

Deno.test("noise, zeros and emptiness in place of a file are survived, and all but zeros is kept", () =>
  withFolder(async (folder) => {
    const random = new Random(13);
    const noise = Uint8Array.from({ length: 50_000 }, () => random.below(256));
    for (
      const [bytes, kept] of [[noise, 50_000], [new Uint8Array(8192), 0], [
        new Uint8Array(),
        0,
      ]] as const
    ) {
      const { rows, told } = await found(`${folder}/noise`, bytes);
      assert.equal(rows.size, 0);
      assert.equal(told[0]?.bytes ?? 0, kept);
    }
  }));

Deno.test("a page of zeros or another's bytes in the middle costs the calls on it alone, and is kept", () =>
  withFolder(async (folder) => {
    const { bytes, calls } = await written(`${folder}/whole`, 60);
    const [from, to] = [20_000, 24_096];
    for (const fill of [0, 0x65]) {
      const damaged = bytes.slice().fill(fill, from, to);
      const { rows, told } = await found(`${folder}/page`, damaged);
      const spared = calls.filter(({ endedTo }, at) =>
        endedTo <= from || (calls[at - 1]?.endedTo ?? 0) >= to
      );
      assert.ok(spared.length > 30 && spared.length < 60);
      for (const { id } of spared) assert.deepEqual(rows.get(id), ended(id), id);
      assert.equal(told.length, 1);
      assert.ok(!told[0]!.isTorn);
      assert.ok(told[0]!.bytes >= to - from);
    }
  }));

Deno.test("an incomplete record is reported as such, with and without zeros after it", () =>
  withFolder(async (folder) => {
    const { bytes, calls } = await written(`${folder}/whole`, 5);
    const torn = bytes.subarray(0, bytes.length - 3);
    for (const zeros of [0, 100_000]) {
      const behind = new Uint8Array(torn.length + zeros);
      behind.set(torn);
      const { told } = await found(`${folder}/torn-${zeros}`, behind);
      assert.equal(told.length, 1);
      assert.ok(told[0]!.isTorn);
      assert.equal(told[0]!.bytes, torn.length - calls.at(-1)!.begunTo);
    }
  }));

Deno.test("unreadable bytes stay when a later start finds others", () =>
  withFolder(async (folder) => {
    const moved = "999999999999.journal.damaged";
    await Deno.writeTextFile(`${folder}/${moved}`, "another folder's");
    for (const noise of ["first", "second"]) {
      const journal = await openJournal(folder, always);
      journal.begin(begun("call"));
      await journal.close();
      const [name] = await segmentNames(folder);
      await Deno.writeTextFile(`${folder}/${name}`, noise, { append: true });
      const next = await openJournal(folder, always);
      await next.replay(() => Promise.resolve());
      await next.close();
    }
    assert.deepEqual(
      (await damagedNames(folder)).map((
        name,
      ) => [name, Deno.readTextFileSync(`${folder}/${name}`)]),
      [
        ["000000000001.journal.damaged", "first"],
        ["000000000002.journal.damaged", "second"],
        [moved, "another folder's"],
      ],
    );
  }));

Deno.test("a prompt that looks like a record is none, whatever is damaged around it", () =>
  withFolder(async (folder) => {
    const source = await written(`${folder}/source`, 1);
    // As a caller can say it: in JSON text, where control characters are escaped.
    const forged = JSON.stringify(String.fromCharCode(...source.bytes));
    const journal = await openJournal(`${folder}/with`, always);
    await journal.end(interaction(7, "honest", { requestText: forged }));
    const bytes = await Deno.readFile(`${folder}/with/${file}`);
    await journal.close();
    bytes[4]! ^= 1;
    const { rows } = await found(`${folder}/forged`, bytes);
    assert.equal(rows.size, 0);
  }));
