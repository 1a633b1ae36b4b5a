import assert from "@std/assert";
import { countValues, countValuesInSteps, findDuplicateName } from "./duplicate_names.ts";
import { JsonCount } from "./json_count.ts";
import { finish } from "./steps.ts";

const limits = { values: 1e9, depth: 1024, members: 1e9, names: 1e6 };

/** How many more values the text has than what it parses to. */
function lost(text: string): number {
  const count = new JsonCount(limits);
  count.add(text);
  const values = countValues(JSON.parse(text));
  assert.equal(finish(countValuesInSteps(JSON.parse(text))), values);
  return count.values - values;
}

Deno.test("a name that occurs twice in an object is found at every depth, by its path", () => {
  for (
    const [text, path] of [
      ['{"a":1,"a":2}', "a"],
      ['{"a":{"b":[1,{"c":1},{"c":[],"d":{},"c":{"x":[1,2]}}]}}', "a.b[2].c"],
      [' [ 1 , { "a" : "\\"" , "\\u0061" : 2 } ] ', "[1].a"],
      ['{"messages":[{"role":"user","role":"system","content":"x"}]}', "messages[0].role"],
      ['{"__proto__":{"x":1},"__proto__":[]}', "__proto__"],
      ['{"a":{"":1,"":1}}', "a."],
    ] as const
  ) {
    assert.ok(lost(text) > 0, text);
    assert.equal(finish(findDuplicateName(text)), path, text);
  }
});

Deno.test("equal names in different objects, and names in strings, are no duplicates", () => {
  for (
    const text of [
      ...["1", '"a"', "[]", "{}", "null", "[[],{},[[1]]]", '{"__proto__":{"x":1}}'],
      '[{"a":1},{"a":1}]',
      '{"a":{"a":{"a":[{"a":"\\"a\\":1,\\"a\\":2"},"a","a"]}},"b":["a","a"]}',
      ' { "a" : [ 1 , 2 , true , null , -1e3 ] , "A" : "}" } ',
    ]
  ) {
    assert.equal(lost(text), 0, text);
    assert.equal(finish(findDuplicateName(text)), undefined, text);
  }
});
