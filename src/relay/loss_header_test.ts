import assert from "@std/assert";
import { enforceTranslationMode } from "./plan/translation.ts";
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

Deno.test("a thousand paths are reported of a request that loses something in each part", () => {
  const lose = (path: string) => ({ path, weight: "hint" as const });
  const losses = Array.from({ length: 5000 }, (_, index) => lose(`messages[${index >> 1}].name`));
  const reported = enforceTranslationMode(losses, "default");
  assert.equal(reported.length, 1000);
  assert.equal(reported.at(-1), "messages[999].name");
  const last = { path: "seed", weight: "meaning" as const };
  assert.throws(() => enforceTranslationMode([...losses, last], "default"), { param: "seed" });
});
