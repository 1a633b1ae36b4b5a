import assert from "@std/assert";
import { otherTurns } from "../../tests/support/racing_clock.ts";
import { joinAndFree, joinBytes, utf8Bytes, utf8Steps, utf8Text } from "./bytes.ts";
import { finish } from "./steps.ts";

Deno.test("pieces come in their order, views as what they show; none are no bytes", () => {
  const view = Uint8Array.of(9, 3, 4, 9).subarray(1, 3);
  assert.deepEqual(
    joinBytes([Uint8Array.of(1, 2), new Uint8Array(), view]),
    Uint8Array.of(1, 2, 3, 4),
  );
  assert.deepEqual(joinBytes([]), new Uint8Array());
});

Deno.test("a single piece is not copied", () => {
  const piece = Uint8Array.of(1);
  assert.equal(joinBytes([piece]), piece);
});

Deno.test("joined pieces are freed, except views and a single piece", async () => {
  const size = 64 * 1024;
  const own = new Uint8Array(size).fill(1);
  const view = new Uint8Array(new ArrayBuffer(2 * size), size).fill(2);
  const whole = await joinAndFree([own, view]);
  assert.deepEqual([own.length, view.length], [0, size]);
  assert.deepEqual([whole.length, whole[size - 1], whole[size]], [2 * size, 1, 2]);
  assert.equal(await joinAndFree([whole]), whole);
  assert.equal(whole.length, 2 * size);
});

Deno.test("other work gets its turns while many pieces are joined", async () => {
  const pieces = Array.from({ length: 1_000 }, (_, n) => new Uint8Array(64 * 1024).fill(n));
  let whole: Uint8Array = new Uint8Array();
  const turns = await otherTurns(async () => void (whole = await joinAndFree(pieces)));
  assert.ok(turns >= pieces.length - 1, `${turns} turns`);
  for (let n = 0; n < 1_000; n++) assert.equal(whole[(n + 1) * 64 * 1024 - 1], n % 256);
});

Deno.test("a long text is decoded in steps, whatever character is at the end of one", () => {
  const text = "\u{feff}aé€\u{1f600}".repeat(300_000);
  const bytes = new TextEncoder().encode(text);
  for (const start of [0, 1, 2, 3, 4, 5, 6]) {
    const some = bytes.subarray(start);
    assert.ok(finish(utf8Steps(some)) === utf8Text(some));
    assert.equal([...utf8Steps(some)].length, 4);
  }
});

Deno.test("a long text is encoded in steps, whatever character is at the end of one", () => {
  const text = "\u{feff}aé€\u{1f600}\ud83d".repeat(300_000);
  for (const cut of [0, 1, 2, 3, 4, 5, 6]) {
    const some = text.slice(cut);
    assert.deepEqual(finish(utf8Bytes(some)), new TextEncoder().encode(some));
    assert.equal([...utf8Bytes(some)].length, 3);
  }
});

Deno.test("half a pair in front of a whole one at the end of a step loses nothing", () => {
  const half = "\ud83d";
  for (const before of [2, 1, 0]) {
    const text = "a".repeat(2 ** 20 - before) + half + "\u{1f600}€";
    assert.deepEqual(finish(utf8Bytes(text)), new TextEncoder().encode(text));
  }
  const halves = half.repeat(2 ** 20 + 1);
  assert.deepEqual(finish(utf8Bytes(halves)), new TextEncoder().encode(halves));
});
