import assert from "@std/assert";
import { eachString, longStrings } from "./json_strings.ts";

function found(text: string, minUnits = 3) {
  return [...longStrings(text, minUnits)].map(({ start, end, key, parent, object }) => ({
    value: text.slice(start, end),
    key,
    parent,
    object: object === undefined ? undefined : text.slice(object, object + 3),
  }));
}

Deno.test("strings that are long enough are returned with the keys around them", () => {
  const text = '{"a": {"b" : "long", "c":["lang", "no"]}, "long key": 1, "d": "x\\"y"}';
  assert.deepEqual(found(text), [
    { value: '"long"', key: "b", parent: "a", object: '{"b' },
    { value: '"lang"', key: "c", parent: "a", object: '{"b' },
    { value: '"x\\"y"', key: "d", parent: "", object: '{"a' },
  ]);
});

Deno.test("an object in arrays has the arrays' member as its parent", () => {
  assert.deepEqual(found('{"images":[[{"url":"long"}]]}'), [
    { value: '"long"', key: "url", parent: "images", object: '{"u' },
  ]);
});

Deno.test("strings outside of any object have no keys", () => {
  assert.deepEqual(found('"long"'), [
    { value: '"long"', key: "", parent: "", object: undefined },
  ]);
  assert.deepEqual(found('["long"]'), [
    { value: '"long"', key: "", parent: "", object: undefined },
  ]);
});

Deno.test("keys are compared decoded, and braces inside strings are text", () => {
  assert.deepEqual(found('{"\\u0061":"}{][,:"}'), [
    { value: '"}{][,:"', key: "a", parent: "", object: '{"\\' },
  ]);
});

Deno.test("invalid JSON ends the walk without an error", () => {
  for (const text of ['{"a":"unfinished', "}}}]]", '{"a" "b"', "", "----boundary\r\nx"]) {
    assert.doesNotThrow(() => found(text));
  }
});

Deno.test("very deep nesting is walked", () => {
  const depth = 200_000;
  const text = "[".repeat(depth) + '"long"' + "]".repeat(depth);
  assert.equal(found(text).length, 1);
});

Deno.test("visited strings are those that longStrings finds, in valid and in broken JSON", () => {
  const bits = ['"', "{", "}", "[", "]", ",", ":", "\\", "word", " ", '"a":', '"b c"', '\\"', "1"];
  let seed = 1;
  // A linear congruential generator: the same texts in each run.
  const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % below;
  for (let round = 0; round < 5_000; round++) {
    let text = Array.from({ length: random(25) }, () => bits[random(bits.length)]).join("");
    if (round % 3 === 0) text = JSON.stringify({ a: text, b: [text, { c: text }], d: {}, e: 1 });
    const visited: [number, number][] = [];
    const isFound = eachString(text, (start, end) => visited.push([start, end]) > 0);
    const expected = [...longStrings(text, 1)].map(({ start, end }) => [start, end]);
    assert.deepEqual([visited, isFound], [expected, expected.length > 0], text);
  }
  const first: number[] = [];
  assert.equal(eachString('["a","b"]', (start) => first.push(start) > 1), true);
  assert.deepEqual(first, [1]);
});
