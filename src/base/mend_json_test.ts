import assert from "@std/assert";
import {
  lastObject,
  mendJson,
  triedCompletions,
  wholeMembers,
  wholeMembersSteps,
} from "./mend_json.ts";
import { finish } from "./steps.ts";

Deno.test("a whole text is its one value", () => {
  assert.deepEqual([...mendJson('{"a":[1,2]}')], [{ a: [1, 2] }]);
});

Deno.test("a text that breaks off gives what is there, then less", () => {
  const [fullest, ...less] = [...mendJson('{"m":[{"r":"u","c":"Hello"},{"r":"a","c":"Wor')];
  assert.deepEqual(fullest, { m: [{ r: "u", c: "Hello" }, { r: "a", c: "Wor" }] });
  assert.deepEqual(less, [{ m: [{ r: "u", c: "Hello" }] }]);
});

Deno.test("half an escape, a member without a value and a comma are left out", () => {
  const first = (text: string) => mendJson(text).next().value;
  assert.deepEqual(first('{"a":"x\\'), { a: "x" });
  assert.deepEqual(first('{"a":"x\\\\'), { a: "x\\" });
  assert.deepEqual(first('{"a":"x\\u00f'), { a: "x" });
  assert.deepEqual(first('{"a":1,"b":'), { a: 1 });
  assert.deepEqual(first('{"a":1,"b'), { a: 1 });
  assert.deepEqual(first('{"a":[1,2,'), { a: [1, 2] });
  assert.deepEqual(first('{"a":[1,{"b":tr'), { a: [1, {}] });
  assert.deepEqual(first('{"a":"b"'), { a: "b" });
});

Deno.test("every beginning of a text gives something or nothing, and never fails", () => {
  const text = JSON.stringify({
    model: "m",
    messages: [{ role: "user", content: [{ type: "text", text: 'q"\\\n漢😀' }] }, { n: -1.5e3 }],
    stream: true,
  });
  for (let end = 1; end < text.length; end++) {
    const values = [...mendJson(text.slice(0, end))];
    assert.ok(values.length > 0, text.slice(0, end));
    assert.equal(typeof values[0], "object");
  }
});

Deno.test("invalid JSON yields nothing", () => {
  for (const text of ["", "--boundary\r\nx", "nothing", "[".repeat(100_000)]) {
    assert.deepEqual([...mendJson(text)], []);
  }
});

Deno.test("of an object that breaks off the members that came whole are there", () => {
  const text = '{"a":[{"b":"x"}],"c":{"d":1,"e":25},"f":130} ';
  const c = { d: 1, e: 25 };
  const a = [{ b: "x" }];
  for (let end = 0; end <= text.length; end++) {
    const begin = text.slice(0, end);
    const expected = end === 0
      ? undefined
      : end < text.indexOf(',"c"')
      ? {}
      : end < text.indexOf(',"f"')
      ? { a }
      : end < text.indexOf("} ") + 1
      ? { a, c }
      : { a, c, f: 130 };
    assert.deepEqual(wholeMembers(begin), expected, begin);
  }
  for (const none of ["[1,2", '"a', "nothing", "{]"]) assert.ok(!wholeMembers(none), none);
});

Deno.test("the last object of a name is found in a long text, if it is whole and no longer than a usage", () => {
  const last = (usage: string) =>
    finish(lastObject(`{"usage":{"a":1},"x":[1,{"usage" : ${usage}`, "usage"));
  assert.deepEqual(last('{"a":2,"b":{"c":"}"}},"y'), { a: 2, b: { c: "}" } });
  assert.equal(last('{"a":2,"b":{"c":3'), undefined);
  for (const broken of ['{"a":2,}', '{"\\a":2}']) assert.equal(last(broken), undefined);
  assert.equal(last('3,"d":{"a":2}}'), undefined);
  assert.equal(finish(lastObject('{"text":"\\"usage\\":{}"}', "usage")), undefined);
  const long = (length: number) => `{"a":"${"x".repeat(length - 8)}"}}`;
  assert.notEqual(last(long(65_536)), undefined);
  assert.equal(last(long(65_537)), undefined);
});

Deno.test("completions are tried one by one, and of a name that is searched for each piece is a step", () => {
  const tries = [...triedCompletions('{"a":[1,[2,tr')];
  assert.deepEqual(tries, [undefined, undefined, { value: { a: [1, [2]] } }, {
    value: { a: [1, [2]] },
  }, { value: { a: [1] } }]);
  const piece = 512 * 1024;
  for (const shift of [0, 1, 4, 6, 7]) {
    const text = `${" ".repeat(piece)}"usage":{"a":1}`.padEnd(2 * piece - shift + 7);
    const steps = lastObject(text, "usage");
    assert.equal(steps.next().done, shift >= 7);
    assert.deepEqual(shift >= 7 ? { a: 1 } : finish(steps), { a: 1 });
  }
});

Deno.test("a long text is completed in short steps", () => {
  const members = '{"a":1},'.repeat(100_000);
  const cut = `{"whole":2,"list":[${members}{"a":tr`;
  const tries = [...triedCompletions(cut)];
  const completed = tries.filter((one) => one !== undefined) as { value: { list: unknown[] } }[];
  assert.deepEqual(completed.map(({ value }) => value.list.length), [100_001, 100_000]);
  // Four are parsed, each in at least six pieces.
  assert.ok(tries.length > 24, `${tries.length} steps`);
  const steps = wholeMembersSteps(cut);
  for (let some = 0; some < 6; some++) assert.equal(steps.next().done, false);
  assert.deepEqual(finish(steps), { whole: 2 });
});
