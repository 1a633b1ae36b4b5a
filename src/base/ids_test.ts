import assert from "@std/assert";
import { FakeClock } from "./clock.ts";
import { base62, base62Number, createUuidv7, randomBase62, uuidv7 } from "./ids.ts";

Deno.test("a UUID holds the clock's milliseconds, version 7 and the RFC variant", () => {
  const clock = new FakeClock(new Date("2022-02-22T19:22:22.000Z"));
  // The time of RFC 9562's example, A.6.
  assert.match(uuidv7(clock), /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

Deno.test("UUIDs of one source grow within a millisecond, past the counter and when the clock goes back", () => {
  let ms = Date.parse("2026-11-21T00:00:00Z");
  const next = createUuidv7({ now: () => new Date(ms) });
  let last = "";
  for (let made = 0; made < 10_000; made++) {
    if (made === 5_000) ms -= 60_000;
    const id = next();
    assert.ok(id > last, `${id} after ${last}`);
    last = id;
  }
  ms += 120_000;
  assert.ok(next() > last);
});

Deno.test("random base62 has the length asked for and uses every digit", () => {
  assert.equal(randomBase62(0), "");
  const text = randomBase62(10_000);
  assert.match(text, /^[0-9A-Za-z]{10000}$/);
  assert.equal(new Set(text).size, 62);
});

Deno.test("base62 pads on the left and refuses what doesn't fit", () => {
  assert.equal(base62(new Uint8Array([0]), 3), "000");
  assert.equal(base62(new Uint8Array([61]), 3), "00z");
  assert.equal(base62(new Uint8Array([0, 62]), 3), "010");
  assert.equal(base62(new Uint8Array(32).fill(255), 43).length, 43);
  assert.throws(() => base62(new Uint8Array(32).fill(255), 42), RangeError);
});

Deno.test("a number in base 62 is written as its bytes are", () => {
  for (const value of [0, 1, 61, 62, 3843, 3844, 0x7849568f, 0xffffffff]) {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value);
    assert.equal(base62Number(value, 6), base62(bytes, 6));
  }
});
