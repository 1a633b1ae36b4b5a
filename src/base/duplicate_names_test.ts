import assert from "@std/assert";
import { countValues, countValuesInSteps, findDuplicateName } from "./duplicate_names.ts";
import { parseExactly } from "./exact_json.ts";
import { JsonCount } from "./json_count.ts";
import { finish } from "./steps.ts";
import { Random } from "../../tests/support/random.ts";

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
      [`{"a":{"${"n".repeat(500)}":1,"${"n".repeat(500)}":1}}`, `a.${"n".repeat(100)}`],
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

/**
 * Random JSON whose strings have many quotes and backslashes. Its names have none: the runtime's
 * parser mixes such names up (`exact_json.ts`).
 */
function randomJson(random: Random, depth: number): string {
  const space = () => random.pick(["", "", " ", "\n\t"]);
  const string = () =>
    JSON.stringify(
      Array.from({ length: random.below(6) }, () => random.pick(['"', "\\", "\n", "é", "{", "[,:"]))
        .join(""),
    );
  const kind = depth === 0 ? 0 : random.below(4);
  if (kind < 2) return random.pick([string(), string(), "0", "-1.5e+7", "true", "null"]);
  const items = Array.from({ length: random.below(5) }, () => {
    const named = () => `"${random.pick(["a", "\\u0061", "b:", "é", ""])}"`;
    const name = kind === 2 ? `${named()}${space()}:${space()}` : "";
    return `${space()}${name}${randomJson(random, depth - 1)}${space()}`;
  }).join(",");
  return kind === 2 ? `{${items}${space()}}` : `[${items}${space()}]`;
}

Deno.test("a random text has as many values as were counted, or a name twice", () => {
  let duplicates = 0;
  for (let seed = 1; seed <= 3_000; seed++) {
    const random = new Random(seed);
    const text = randomJson(random, 5);
    const count = new JsonCount(limits);
    for (let at = 0; at < text.length;) {
      const end = at + 1 + random.below(9);
      count.add(text.slice(at, end));
      at = end;
    }
    assert.equal(count.isBroken, false, text);
    const isEqual = count.values === countValues(parseExactly(text));
    assert.equal(finish(findDuplicateName(text)) === undefined, isEqual, text);
    if (!isEqual) duplicates++;
  }
  assert.ok(duplicates > 100, `${duplicates} with a name twice`);
});
