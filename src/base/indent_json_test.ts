import assert from "@std/assert";
import { indentJson } from "./indent_json.ts";

Deno.test("values stay as they were written", () => {
  const text = '{"b":12345678901234567890, "a" : [1.0,{"x":"{,\\"}"},[ ],{}],"c":true}';
  assert.deepEqual(indentJson(text, 10_000), {
    text: `{
  "b": 12345678901234567890,
  "a": [
    1.0,
    {
      "x": "{,\\"}"
    },
    [],
    {}
  ],
  "c": true
}`,
    isWhole: true,
  });
});

Deno.test("a large text is cut and says so", () => {
  const { text, isWhole } = indentJson(JSON.stringify({ a: "x".repeat(1000), b: 1 }), 100);
  assert.equal(isWhole, false);
  assert.equal(text.length, 100);
  assert.equal(indentJson(JSON.stringify("x".repeat(98)), 100).isWhole, true);
  assert.equal(indentJson(`{"unfinished":"${"x".repeat(1000)}`, 100).isWhole, false);
});

Deno.test("invalid or truncated JSON is written as far as it is valid", () => {
  for (const text of ["", '{"a":[1,"unfinis', "}}]]", "plain words", '"\\'.repeat(50)]) {
    assert.equal(indentJson(text, 1000).isWhole, true, text);
  }
  const deep = indentJson("[".repeat(100_000), 1_000_000);
  assert.ok(deep.text.length < 1_000_200);
});
