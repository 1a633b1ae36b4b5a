import assert from "@std/assert";
import { heldBytes } from "../../tests/support/held_bytes.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
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
      // No room is wasted: the next character would not have fitted.
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

Deno.test("a cut payload holds nothing of the rest in memory", () => {
  const held = heldBytes(() =>
    Array.from({ length: 10 }, (_, n) => {
      const long = JSON.parse(`"${n}${"x".repeat(4_000_000)}"`) as string;
      const { text } = capPayload(long, 1000);
      assert.equal(text, long.slice(0, 1000));
      return text;
    })
  );
  assert.ok(held < 10_000_000, `${held} bytes`);
});

const fields: readonly MediaField[] = [{ parent: "image_url", key: "url" }];
const limits = { maxBytes: 1_000_000, inlineBytes: 1000, fields, credentials: [] };
const withMedia = (bytes: number) =>
  JSON.stringify({ content: [{ image_url: { url: "AAAA".repeat(bytes / 3) } }] });

Deno.test("a payload of the usual size keeps its media until the store takes it", () => {
  const text = withMedia(9000);
  assert.deepEqual(boundPayload(text, limits), { text, truncated: false, media: [] });
});

Deno.test("a large payload gives its media up at once, and is cut without it or not at all", () => {
  const { text, truncated, media } = boundPayload(withMedia(1_500_000), limits);
  assert.equal(truncated, false);
  assert.deepEqual(media.map(({ content }) => content.length), [1_500_000]);
  const { content: [{ image_url }] } = JSON.parse(text);
  assert.deepEqual(image_url.url.sha256, media[0]!.sha256);
  const long = "A".repeat(2_000_000);
  const elsewhere = boundPayload(JSON.stringify({ content: [{ text: long }] }), limits);
  assert.deepEqual([elsewhere.text.length, elsewhere.truncated], [1_000_000, true]);
});

Deno.test("media counts for nothing in a payload that may only be small", () => {
  const bound = boundPayload(withMedia(9000), { ...limits, maxBytes: 5000 });
  assert.deepEqual([bound.truncated, bound.media.length], [false, 1]);
});
