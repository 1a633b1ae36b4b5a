import assert from "@std/assert";
import { cutTurn } from "./fit_turns.ts";

Deno.test("a long turn isn't cut in half a character", () => {
  const { parts, isWhole } = cutTurn([{ type: "text", text: `${"a".repeat(15_999)}😀` }]);
  assert.deepEqual([parts, isWhole], [[{ type: "text", text: "a".repeat(15_999) }], false]);
});
