import assert from "@std/assert";
import { ownText } from "./own_text.ts";

Deno.test("a short text stays as it is, of a longer one half a character becomes U+FFFD", () => {
  assert.equal(ownText("\uFEFFa\uD800", 3), "\uFEFFa\uD800");
  assert.equal(ownText("\uFEFFa😀b", 3), "\uFEFFa\uFFFD");
  assert.equal(ownText("a\u0000bc", 3), "a\u0000b");
});
