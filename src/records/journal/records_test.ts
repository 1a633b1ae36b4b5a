import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { encodeRecord, type JournalRecord, scanRecords } from "./records.ts";

const texts = [
  "plain",
  "",
  "Zürich 東京 😀",
  "\ud83d",
  "\udc00x",
  "€".repeat(2_000),
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

Deno.test("a record has the same bytes in a buffer of its own and in one that was used before", () => {
  const room = Buffer.alloc(64 * 1024, 0xff);
  for (const record of texts.flatMap(recordsOf)) {
    const own = Buffer.from(encodeRecord(record));
    assert.ok(own.equals(encodeRecord(record, room)));
    const [scanned, ...others] = scanRecords(own);
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

Deno.test("only records that don't fit a buffer, and those with media, get one of their own", () => {
  const room = Buffer.alloc(1_000);
  const record = (units: number, media: Uint8Array[] = []): JournalRecord => ({
    ...{ kind: "end", id: "1", body: "{}", response: null, media },
    request: "x".repeat(units),
  });
  const isInRoom = (of: JournalRecord) => encodeRecord(of, room).buffer === room.buffer;
  // 19 bytes of lengths, and up to three for each unit.
  assert.ok(isInRoom(record(323)));
  assert.ok(!isInRoom(record(324)));
  assert.ok(!isInRoom(record(1, [new Uint8Array(1)])));
});
