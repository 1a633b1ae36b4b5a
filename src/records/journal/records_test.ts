import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { finish } from "../../base/steps.ts";
import { createRoom, encodeRecord, type JournalRecord, scanRecords } from "./records.ts";

const texts = [
  "plain",
  "",
  "Zürich 東京 😀",
  "\ud83d",
  "\udc00x",
  "€".repeat(2_000),
  "😀".repeat(2_000),
  "a".repeat(40_000),
];

function recordsOf(text: string): JournalRecord[] {
  const shared = { id: "0199-a", body: `{"model":${JSON.stringify(text)}}`, media: [] };
  const image = new Uint8Array([1, 2, 3, 4]);
  return [
    { ...shared, kind: "begin", request: text, response: null },
    { ...shared, kind: "end", request: undefined, response: text },
    { ...shared, kind: "end", request: null, response: null },
    { ...shared, kind: "end", request: text, response: text, media: [image, new Uint8Array()] },
  ];
}

/** Returns a copy of the record's bytes, and in how many pieces they came. */
function encoded(record: JournalRecord, room: Buffer): { bytes: Buffer; pieces: number } {
  const { length, pieces } = finish(encodeRecord(record, room));
  const copies = Array.from(pieces, (piece) => {
    const copy = Buffer.from(piece);
    // Other records are encoded there between two pieces.
    room.fill(0xff);
    return copy;
  });
  const bytes = Buffer.concat(copies);
  assert.equal(bytes.length, length);
  return { bytes, pieces: copies.length };
}

Deno.test("a record has the same bytes in one piece and in many", () => {
  const room = createRoom(1024 * 1024);
  const small = [30, 31, 32, 33, 1_000].map(createRoom);
  for (const record of texts.flatMap(recordsOf)) {
    const own = encoded(record, room);
    assert.equal(own.pieces, 1);
    for (const room of small) {
      const { bytes, pieces } = encoded(record, room);
      assert.ok(bytes.equals(own.bytes));
      assert.ok(pieces >= bytes.length / room.length);
      // A room is left unfilled by a character of four bytes, or in base64.
      assert.ok(pieces <= 1 + bytes.length / (room.length - 3));
    }
    const [scanned, ...others] = scanRecords(own.bytes);
    assert.equal(others.length, 0);
    const wellFormed = (text: string | null | undefined) => text?.toWellFormed() ?? text;
    assert.deepEqual(scanned?.record, {
      ...record,
      body: wellFormed(record.body),
      request: wellFormed(record.request),
      response: wellFormed(record.response),
    });
  }
});

Deno.test("the length is right wherever halves of surrogate pairs are counted apart", () => {
  const room = createRoom();
  for (let before = 65_533; before <= 65_537; before++) {
    for (const marks of ["\ud83d😀", "\ude00😀", "\ud83d\ud83d😀", "😀😀", "\ud83d"]) {
      encoded({ ...recordsOf("x".repeat(before) + marks + "€".repeat(9))[0]!, media: [] }, room);
    }
  }
});

Deno.test("a large record is counted, summed up and written in steps", () => {
  const text = "€".repeat(1_000_000);
  const media = [new Uint8Array(1_000_000)];
  const steps = encodeRecord({ ...recordsOf(text)[3]!, media }, createRoom());
  let count = 0;
  while (!steps.next().done) count++;
  // Texts of three bytes per unit, counted and summed up, and a third more for base64.
  assert.ok(count > 9_000_000 / 65_536 + 1_333_333 / 65_536, String(count));
});
