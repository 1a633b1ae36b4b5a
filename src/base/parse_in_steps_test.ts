import assert from "@std/assert";
import { JsonCount, type JsonLimits } from "./json_count.ts";
import { JsonTextError, parseInSteps, type Preview } from "./parse_in_steps.ts";
import { finish } from "./steps.ts";

const limits: JsonLimits = { values: 1000, depth: 8, members: 100, names: 100 };

function counted(pieces: readonly string[], largeUnits = 8, of: JsonLimits = limits): JsonCount {
  const count = new JsonCount(of, largeUnits);
  for (const piece of pieces) count.add(piece);
  return count;
}

/** Values of a JSON value. */
function valuesOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + valuesOf(one), 1);
}

function parsed(text: string, stepUnits: number): { value: unknown; steps: number } {
  const steps = parseInSteps(text, counted([text], stepUnits), { stepUnits });
  for (let number = 0;; number++) {
    const step = steps.next();
    if (step.done) return { value: step.value, steps: number };
  }
}

const texts = [
  "3",
  ' "a" ',
  "[]",
  "{ }",
  "[1,[2,3,[4,5,6,7,8]],{},[],[[]]]",
  '{"a":{"b":[1,2,3,4,5,6,7,8,9]},"c":"}],[{","d":"\\"\\\\","e":{}}',
  '{ "long name \\" of one" : [ { "x" : [ "a,b", "c]" , null ] } , true ] , "b" : 1.50 }',
  '{"a":[1,2,3,4,5,6],"b":2,"a":[7,8,9,10,11,12,13]}',
  '{"__proto__":{"a":[1,2,3,4,5,6,7,8]},"b":[1,2,3,4,5,6,7,8,9]}',
  '  \n"a long \\u00e9\\ud83d\\ude00 string \\\\\\" of \\\\ many \\n escapes" \t ',
  '{"a":"\\\\\\\\\\\\\\\\\\\\","a long name, longer than it":"\\u0000\\u0001\\u0002"}',
  '["", "\\"\\"\\"\\"\\"\\"\\"\\"\\"", "plain and long, but without any" , [ "😀😀😀😀😀😀" ] ]',
  '{"a":"a plain string that is most of its text","b":[1,2]}',
  '{"a":"a string that is plain up to here, \\t and here"}',
  `[${Array.from({ length: 90 }, (_, index) => `{"n":${index}}`).join(" , ")}]`,
];

Deno.test("a text is parsed in steps as the runtime parses it at once", () => {
  for (const text of texts) {
    for (const stepUnits of [1, 4, 8, 20, 1000]) {
      const { value } = parsed(text, stepUnits);
      assert.deepStrictEqual(value, JSON.parse(text), `${text} by ${stepUnits}`);
      assert.equal(JSON.stringify(value), JSON.stringify(JSON.parse(text)));
    }
  }
  assert.ok(parsed(texts.at(-1)!, 100).steps > 5);
});

Deno.test("JSON that is invalid is also invalid when parsed in steps", () => {
  for (const text of texts) {
    for (let at = 0; at < text.length; at++) {
      for (const put of ["", ",", "]", "{", '"', ":"]) {
        const odd = text.slice(0, at) + put + text.slice(at + 1);
        const isJson = tries(() => JSON.parse(odd));
        const count = counted([odd], 8);
        if (count.isBroken) {
          assert.ok(!isJson, odd);
          continue;
        }
        assert.equal(tries(() => parsed(odd, 8)), isJson, odd);
      }
    }
  }
});

function tries(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch (thrown) {
    if (thrown instanceof SyntaxError || thrown instanceof JsonTextError) return false;
    throw thrown;
  }
}

Deno.test("values are counted however the text is cut", () => {
  for (const text of texts) {
    const expected = valuesOf(JSON.parse(text.replace(/"a":\[1,2,3,4,5,6\],(?="b":2)/, "")));
    for (let cut = 0; cut <= text.length; cut++) {
      const count = counted([text.slice(0, cut), text.slice(cut)]);
      assert.equal(
        count.values - expected,
        text.includes('2,"a"') || text.includes('"b":2') ? 7 : 0,
        text,
      );
      assert.deepEqual([count.excess, count.isBroken], [undefined, false], text);
      assert.deepEqual([...count.large], [...counted([text]).large]);
    }
  }
});

Deno.test("one too many of anything is known at once, and its limit named", () => {
  const list = (length: number) => `[${Array(length).fill("[]").join()}]`;
  const object = (length: number) =>
    `{${Array.from({ length }, (_, index) => `"${index % 90}":1`).join()}}`;
  assert.equal(counted([list(999)]).excess, undefined);
  assert.equal(counted([list(1000)]).excess, "values");
  assert.equal(counted(["[".repeat(8) + "]".repeat(8)]).excess, undefined);
  assert.equal(counted(["[".repeat(9)]).excess, "depth");
  assert.equal(counted([object(100)]).excess, undefined);
  assert.equal(counted([object(101)]).excess, "members");
  const named = (length: number) =>
    `[${Array.from({ length }, (_, index) => `{"name ${index}":"name"}`).join()}]`;
  assert.equal(counted([named(90)]).excess, undefined);
  assert.equal(counted([named(120)]).excess, "names");
  // Brackets and commas within strings are text.
  assert.equal(counted([JSON.stringify("[,{".repeat(5000) + '\\"')]).excess, undefined);
});

Deno.test("a large string is parsed in steps too, and white space around a text isn't looked at again", () => {
  const long = 'word \\" \\\\ \\u00e9'.repeat(500);
  for (const text of [`"${long}"`, `{"a":"${long}"}`, `["a","${long}","b"]`]) {
    const { value, steps } = parsed(text, 100);
    assert.deepEqual(value, JSON.parse(text));
    assert.ok(steps > 50, `${steps} steps`);
  }
  assert.deepEqual(counted([" ", " \n[1, ", '"x"', " ] \t", "  "]).solid, { start: 3, end: 12 });
  assert.ok(counted(["\u0001{}"]).isBroken);
});

const roomy: JsonLimits = { values: 10_000, depth: 8, members: 100, names: 100 };

Deno.test("the first elements of a large list can be looked at before the rest is parsed", () => {
  const list = JSON.stringify(Array.from({ length: 900 }, (_, index) => ({ index })));
  const told = (text: string, glance: Preview) =>
    finish(parseInSteps(text, counted([text], 40, roomy), { stepUnits: 40, glance }));
  const seen: [string, number][] = [];
  told(`{"a":1,"long":${list},"inner":{"deep":${list}},"b":[1]}`, (name, elements) => {
    seen.push([name, elements.length]);
  });
  assert.deepEqual(seen, [["long", 4]]);
  told(list, () => assert.fail("this is a member of nothing"));
  const steps = parseInSteps(`{"long":${list}}`, counted([`{"long":${list}}`], 40, roomy), {
    stepUnits: 40,
    glance: () => {
      throw new RangeError("wrong");
    },
  });
  assert.ok(!steps.next().done);
  assert.throws(() => steps.next(), RangeError);
});
