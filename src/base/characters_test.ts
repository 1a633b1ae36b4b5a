import assert from "@std/assert";
import { beginning, characters } from "./characters.ts";

Deno.test("characters are code points: a pair is one, half a pair is one too", () => {
  const pair = "😀";
  const [high, low] = [pair.charAt(0), pair.charAt(1)];
  const texts = ["", "a", "é", "漢字", pair, high, low, low + high, high + pair, pair + low];
  for (const text of [...texts, `${pair}${pair}a${high}${high}${low}`]) {
    assert.equal(characters(text), Array.from(text).length, JSON.stringify(text));
  }
});

Deno.test("the beginning of a text has no half of a character", () => {
  const text = "a😀b";
  assert.deepEqual([0, 1, 2, 3, 9].map((units) => beginning(text, units)), [
    ...["", "a", "a", "a😀", text],
  ]);
});

Deno.test("no list of a text's characters is made to count them", () => {
  const own = String.prototype[Symbol.iterator];
  String.prototype[Symbol.iterator] = () => assert.fail("a text was taken apart");
  try {
    assert.equal(characters("a".repeat(1000)), 1000);
  } finally {
    String.prototype[Symbol.iterator] = own;
  }
});
