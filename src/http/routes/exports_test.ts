import assert from "@std/assert";
import { type ByteRange, readByteRange } from "./exports.ts";

const whole: ByteRange = { kind: "whole" };
const beyond: ByteRange = { kind: "beyond" };
const part = (start: number, end: number): ByteRange => ({ kind: "part", start, end });

const ranges: readonly [header: string | undefined, expected: ByteRange][] = [
  [undefined, whole],
  ["bytes=0-9", part(0, 10)],
  ["bytes=0-0", part(0, 1)],
  ["bytes=90-", part(90, 100)],
  ["bytes=90-1000", part(90, 100)],
  ["bytes=99-", part(99, 100)],
  ["bytes=100-", beyond],
  ["bytes=100-200", beyond],
  ["bytes=-1", part(99, 100)],
  ["bytes=-1000", part(0, 100)],
  ["bytes=-0", beyond],
  ["BYTES = 5 - 6", part(5, 7)],
  ["bytes=99999999999999999999-", beyond],
  // Anything but a single range of bytes is ignored.
  ["bytes=9-5", whole],
  ["bytes=-", whole],
  ["bytes=0-1,5-6", whole],
  ["items=0-1", whole],
  ["bytes=a-b", whole],
];
for (const [header, expected] of ranges) {
  Deno.test(`Range: ${header} of 100 bytes`, () => {
    assert.deepEqual(readByteRange(header, undefined, { size: 100, etag: '"a"' }), expected);
  });
}

Deno.test("a range of another version is the whole; of this one the part", () => {
  const file = { size: 100, etag: '"a"' };
  assert.deepEqual(readByteRange("bytes=5-", '"a"', file), part(5, 100));
  for (const other of ['"b"', 'W/"a"', "Sat, 21 Nov 2026 00:00:00 GMT"]) {
    assert.deepEqual(readByteRange("bytes=5-", other, file), whole);
  }
});
