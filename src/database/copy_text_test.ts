import assert from "@std/assert";
import { copyLine } from "./copy_text.ts";

Deno.test("values become cells of COPY's text format", () => {
  const at = new Date("2026-11-27T07:00:00.000Z");
  assert.equal(
    copyLine(["a", null, undefined, 1, true, 5n, at, ""]),
    "a\t\\N\t\\N\t1\ttrue\t5\t2026-11-27T07:00:00.000Z\t\n",
  );
  assert.equal(copyLine(["", "b"]), "\tb\n");
  assert.equal(copyLine(["\\N", "\\.", "a\tb\nc\rd\\"]), "\\\\N\t\\\\.\ta\\tb\\nc\\rd\\\\\n");
  assert.equal(copyLine([['a"b', "c\\", null]]), `{"a\\\\"b","c\\\\\\\\",NULL}\n`);
});
