import assert from "@std/assert";
import { lossHeader } from "./reply.ts";

Deno.test("paths are joined with commas", () => {
  assert.equal(lossHeader(["seed", "messages[0].name"]), "seed,messages[0].name");
});

Deno.test("names that the caller chose can't break the header, or look like another path", () => {
  const names = ["a\r\nSet-Cookie: x", "über", "日本", "a,b", "100%", "a b", "\u0000", "\ud800"];
  for (const name of names) {
    const value = lossHeader([name]);
    assert.match(value, /^[!-~]+$/);
    assert.ok(!value.includes(","), value);
    assert.equal(new Headers({ "x-translation-loss": value }).get("x-translation-loss"), value);
    assert.equal(decodeURIComponent(value), name.toWellFormed());
  }
});

Deno.test("more than a header holds are counted behind the first", () => {
  const paths = Array.from({ length: 5000 }, (_, index) => `messages[${index}].name`);
  const value = lossHeader(paths);
  assert.ok(value.length <= 4096, `${value.length}`);
  const shown = value.split(",");
  assert.equal(shown[0], "messages[0].name");
  assert.equal(shown.at(-1), `+${5000 - (shown.length - 1)}`);
  assert.equal(lossHeader(["x".repeat(5000), "seed"]), "+2");
});
