import assert from "@std/assert";
import { hashJson, longNumbers } from "./hash_json.ts";
import { finish } from "./steps.ts";

const hash = (text: string) => finish(hashJson(JSON.parse(text)));
const numbers = (text: string) => finish(longNumbers(text));

const equal: readonly [string, string][] = [
  ['{"a":1,"b":[2,{"c":null}]}', ' { "b" : [2.0, {"c":null}], "a" : 1e0 } '],
  ['"é\\n"', '"\\u00e9\\u000a"'],
  ["-0", "0"],
  ['{"x":1,"x":2}', '{"x":2}'],
];

const different: readonly [string, string][] = [
  ["1", '"1"'],
  ["null", '"null"'],
  ["[]", "{}"],
  ["[[],[]]", "[[[]]]"],
  ["[12]", "[1,2]"],
  ['["a","b"]', '["a\\",\\"b"]'],
  ['["ab",""]', '["a","b"]'],
  ['{"a":"b"}', '["a","b"]'],
  ['{"a":null}', "{}"],
  ['"\\ud800"', '"\\ud801"'],
  ['"\\ud800"', '"\\ufffd"'],
  ['"\\ud800"', '"\\"\\\\ud800\\""'],
  ["1e400", "null"],
  ["true", '"true"'],
];

Deno.test("values that are spelled differently have one hash", () => {
  for (const [one, other] of equal) assert.equal(hash(one), hash(other), `${one} and ${other}`);
});

Deno.test("different values have different hashes", () => {
  for (const [one, other] of different) {
    assert.notEqual(hash(one), hash(other), `${one} and ${other}`);
  }
});

Deno.test("a long text is hashed in steps, wherever its surrogate pairs stand", () => {
  const long = (end: string) => "x" + "😀".repeat(300_000) + end;
  const steps = hashJson([long("a")]);
  let count = 0;
  while (!steps.next().done) count++;
  assert.ok(count >= 2, `${count} steps`);
  assert.equal(finish(hashJson([long("a")])), finish(hashJson([long("a")])));
  assert.notEqual(finish(hashJson([long("a")])), finish(hashJson([long("b")])));
  const other = "x" + "😀".repeat(131_071) + "😁" + "😀".repeat(168_928) + "a";
  assert.notEqual(finish(hashJson([long("a")])), finish(hashJson([other])));
});

Deno.test("numbers that doubles don't tell apart are found, outside of strings only", () => {
  const seed = (digits: string) => `{"seed":${digits},"text":"12345678901234567890"}`;
  assert.equal(hash(seed("12345678901234567890")), hash(seed("12345678901234567891")));
  assert.deepEqual(numbers(seed("12345678901234567891")), ["12345678901234567891"]);
  assert.deepEqual(numbers(seed("1234567890")), []);
  assert.deepEqual(numbers('["\\"1234567890123456789", 0.12345678901234567e-3]'), [
    "0.12345678901234567e-3",
  ]);
  assert.deepEqual(numbers('"\\\\",1234567890123456789'), ["1234567890123456789"]);
});

Deno.test("a long list of numbers is read in steps and none is cut", () => {
  const number = "12345678901234567890";
  const text = `[${Array.from({ length: 100_000 }, () => number).join(",")}]`;
  const found = numbers(text);
  assert.equal(found.length, 100_000);
  assert.deepEqual(new Set(found), new Set([number]));
});
