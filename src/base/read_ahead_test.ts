import assert from "@std/assert";
import { ReadAhead } from "./read_ahead.ts";

Deno.test("an account has a quarter of what the others leave free, and the next one always some", () => {
  const room = new ReadAhead(1600);
  const [first, second] = [room.open(1), room.open(1)];
  assert.equal(first.hold(300), true);
  assert.equal(second.hold(99), true);
  assert.equal(second.hold(100), false, "400 of 1600 are its share");
  assert.equal(first.hold(0), true, "what has been read makes room");
  assert.equal(second.hold(390), true);
  assert.equal(room.open(2).hold(300), true);
  assert.equal(second.hold(390), false, "a quarter of 1300");
});

Deno.test("a released share holds nothing, and takes nothing any more", () => {
  const room = new ReadAhead(1600);
  const share = room.open(1);
  share.hold(300);
  for (let time = 0; time < 2; time++) share.release();
  assert.equal(room.bytes, 0);
  assert.equal(share.hold(10), false);
  assert.equal(room.bytes, 0);
});
