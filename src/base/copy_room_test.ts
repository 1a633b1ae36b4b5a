import assert from "@std/assert";
import { AnswerBytes, maxStoredBytes } from "./answer_bytes.ts";
import { CopyRoom } from "./copy_room.ts";

const pieceBytes = 1024;
const piece = new Uint8Array(pieceBytes);

/** Copies of these sizes, in pieces, of one account. */
function fill(copies: CopyRoom, accountId: number, sizes: readonly number[]): AnswerBytes[] {
  return sizes.map((size) => {
    const copy = new AnswerBytes({ copies, accountId });
    for (let added = 0; added < size; added++) copy.add(piece);
    return copy;
  });
}

const sizesOf = (copies: AnswerBytes[]) =>
  copies.map((copy) => {
    const bytes = copy.whole();
    return bytes && bytes.length / pieceBytes;
  });

Deno.test("beyond an account's share its largest copies are dropped, the newest of equal ones", () => {
  const copies = new CopyRoom(40 * pieceBytes);
  const held = fill(copies, 1, [2, 5, 1, 2, 2]);
  assert.deepEqual(copies.bytes, 7 * pieceBytes);
  const later = fill(copies, 1, [2, 2]);
  assert.deepEqual(sizesOf([...held, ...later]), [2, undefined, 1, 2, 2, 2, undefined]);
  assert.deepEqual([copies.bytes, copies.dropped], [0, 2]);
});

Deno.test("an account doesn't lose copies to another, and finds a share beside it", () => {
  const copies = new CopyRoom(40 * pieceBytes);
  const greedy = fill(copies, 1, Array(50).fill(1));
  const other = fill(copies, 2, [3, 3]);
  assert.equal(copies.bytes, 16 * pieceBytes);
  fill(copies, 2, Array(50).fill(1));
  assert.deepEqual(sizesOf(greedy), [...Array(10).fill(1), ...Array(40).fill(undefined)]);
  assert.deepEqual(sizesOf(other), [undefined, undefined]);
});

Deno.test("many accounts never hold more than the room", () => {
  const copies = new CopyRoom(40 * pieceBytes);
  for (let accountId = 1; accountId <= 100; accountId++) {
    fill(copies, accountId, Array(20).fill(1));
    assert.ok(copies.bytes <= 40 * pieceBytes, `${copies.bytes} bytes`);
  }
  assert.ok(copies.bytes > 30 * pieceBytes, `${copies.bytes} bytes`);
});

Deno.test("a copy that is dropped, too large or not wanted holds nothing, whatever comes", () => {
  const copies = new CopyRoom(Infinity);
  const [large, left] = fill(copies, 1, [maxStoredBytes / pieceBytes, 3]);
  large!.add(piece);
  large!.add(piece);
  assert.deepEqual([copies.bytes, copies.dropped], [3 * pieceBytes, 1]);
  left!.drop();
  left!.add(piece);
  assert.deepEqual([copies.bytes, ...sizesOf([large!, left!])], [0, undefined, undefined]);
  assert.equal(copies.dropped, 1);
});
