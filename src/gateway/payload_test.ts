import assert from "@std/assert";
import { boundPayload, capPayload } from "./payload.ts";

const size = (text: string) => new TextEncoder().encode(text).length;

/** Texts of characters of one, two, three and four bytes. */
for (const text of ["abcdef", "äöüß", "漢字かな", "🎈🎈🎈", "a🎈é漢", ""]) {
  Deno.test(`'${text}' is whole at its size, and cut between characters below it`, () => {
    for (let cap = 0; cap <= size(text) + 3; cap++) {
      const { text: kept, truncated } = capPayload(text, cap);
      assert.ok(size(kept) <= cap, `cap ${cap}`);
      assert.ok(text.startsWith(kept) && kept.isWellFormed(), `cap ${cap}: ${kept}`);
      assert.equal(truncated, cap < size(text), `cap ${cap}`);
      assert.equal(kept === text, !truncated);
      // Nothing is given away: the next character would not have fitted.
      const next = [...text.slice(kept.length)][0];
      if (next !== undefined) assert.ok(size(kept + next) > cap, `cap ${cap}`);
    }
  });
}

Deno.test("a large payload under the cap is the same text", () => {
  const text = "x".repeat(1_000_000);
  assert.deepEqual(capPayload(text, 1_000_000), { text, truncated: false });
  assert.equal(capPayload(text, 999_999).text.length, 999_999);
});

Deno.test("a payload with media in it stays whole until the media is out, any other is cut", () => {
  const fields = [{ parent: "image_url", key: "url" }];
  const long = "A".repeat(10_000);
  const withMedia = JSON.stringify({ content: [{ image_url: { url: long } }] });
  assert.deepEqual(boundPayload(withMedia, 5000, fields), { text: withMedia, truncated: false });
  const without = JSON.stringify({ content: [{ text: long, image_url: { url: "A" } }] });
  assert.equal(boundPayload(without, 5000, fields).text.length, 5000);
});
