import assert from "@std/assert";
import v8 from "node:v8";
import vm from "node:vm";
import { parseExactly } from "./exact_json.ts";
import { JsonCount } from "./json_count.ts";
import { parseInSteps } from "./parse_in_steps.ts";
import { finish } from "./steps.ts";

const limits = { values: 1e9, depth: 1024, members: 1e9, names: 1e6 };

/** Names as callers may write them, and such that V8 takes for them once it has seen them. */
const names = [
  ["n", "\\u006e", "\\\\"],
  ["model", "mode\\u006c", "mode\\\\"],
  ["max_tokens", "max\\u005ftokens", "max\\\\u005ft"],
  ["größe", "gr\\u00f6\\u00dfe", "gr\\\\u0"],
  ['x"y', 'x\\"y', 'x\\\\\\"'],
  ["^\\d+$", "^\\\\d+$", "^\\\\\\\\d+"],
  ["\n", "\\n", "\\\\"],
  ["\ud800", "\\ud800", "\\\\"],
];

for (const [at, [name, escaped, expected]] of names.entries()) {
  Deno.test(`the name ${escaped} is ${name}, whatever was parsed before`, () => {
    const body = (last: string) => `{"first${at}":{"a":"\\"\\\\"},"second":[], "${last}" : 5}`;
    const retained = Array.from({ length: 5 }, () => parseExactly(body(expected!)));
    assert.equal(Object.keys(retained[0] as object).length, 3);
    const right = { [`first${at}`]: { a: '"\\' }, second: [], [name!]: 5 };
    assert.deepEqual(parseExactly(body(escaped!)), right);
    const count = new JsonCount(limits, 8);
    count.add(body(escaped!));
    const inSteps = finish(parseInSteps(body(escaped!), count, { stepUnits: 4 }));
    assert.deepEqual(inSteps, right);
  });
}

Deno.test("other texts are what the runtime's parser makes of them, errors too", () => {
  for (
    const text of [
      '{"a\\"b\\\\":"x\\ny","c":["\\u0041:",":"],"\\n":1,"__proto__":{"\\u0061":2}}',
      '"\\u0061"',
      '["{\\"a\\\\u0062\\": 1}"]',
    ]
  ) assert.deepEqual(parseExactly(text), JSON.parse(text));
  for (const text of ['{"\\u0061":1,}', '{"\\u00":1}', '{"a\\', '"\\u0061":']) {
    const messageOf = (parse: (text: string) => unknown) => {
      try {
        return parse(text);
      } catch (thrown) {
        return (thrown as Error).message;
      }
    };
    assert.equal(messageOf(parseExactly), messageOf(JSON.parse), text);
  }
});

Deno.test("names with escapes keep their order, and of those that come twice the last counts", () => {
  const text = String
    .raw`{"\"":1,"b":{"\"":[{"\\\"":2}],"\t":{}},"\u0022":3,"\u0062\n":4,"\"":"\""}`;
  assert.equal(JSON.stringify(parseExactly(text)), JSON.stringify(JSON.parse(text)));
  const proto = String.raw`{"__proto__":{"\"":1},"\\":2}`;
  assert.deepEqual(
    Object.entries(parseExactly(proto) as object),
    Object.entries(JSON.parse(proto)),
  );
});

Deno.test("a name with escapes is read at every depth", () => {
  const depth = 100_000;
  let value = parseExactly('{"\\t":['.repeat(depth) + "]}".repeat(depth));
  let levels = 0;
  for (; value !== undefined; levels++) [value] = (value as Record<string, unknown[]>)["\t"]!;
  assert.equal(levels, depth);
});

Deno.test("a name with escapes makes a long list beside it take little more memory", () => {
  const numbers = 1_000_000;
  const text = `{"list":[${"1,".repeat(numbers)}1],"\\t":[{"\\n":2}]}`;
  // What earlier tests left would hide what this takes.
  v8.setFlagsFromString("--expose-gc");
  vm.runInNewContext("gc")();
  const before = Deno.memoryUsage().heapTotal;
  const value = parseExactly(text) as Record<string, unknown[]>;
  const bytes = (Deno.memoryUsage().heapTotal - before) / numbers;
  assert.deepEqual([value.list!.length, value["\t"]], [numbers + 1, [{ "\n": 2 }]]);
  assert.ok(bytes < 60, `${bytes} bytes a number`);
});
