import assert from "@std/assert";
import { choiceIndex } from "./choices.ts";

Deno.test("an answer without a usable index has that of its place", () => {
  for (const value of [undefined, null, "1", -1, 1.5, 128, 1e21]) {
    assert.equal(choiceIndex(value, 7), 7, String(value));
  }
  for (const value of [0, 1, 127]) assert.equal(choiceIndex(value, 7), value);
});
