import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import {
  changeMembers,
  cutStringPrefix,
  type Edit,
  insertMember,
  locate,
  membersAt,
  removeMember,
  splice,
  topLevelMembers,
  topLevelMembersSteps,
} from "./json_text.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const units = ["a", "\\", '"', "\n", "é", "😀", "{", "}", "[", "]", ",", ":", "\u2028", "/", " "];

/** JSON text with random white space, escapes, repeated keys and number forms. */
class Writer {
  constructor(readonly random: Random) {}
  space(): string {
    return ["", "", " ", "\n\t", "\r\n  "][this.random.below(5)] as string;
  }
  string(): string {
    let text = '"';
    for (let count = this.random.below(6); count > 0; count--) {
      for (const unit of (units[this.random.below(units.length)] as string).split("")) {
        const escaped = `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
        const surrogate = unit >= "\ud800" && unit <= "\udfff";
        text += this.random.below(4) === 0 || surrogate
          ? escaped
          : JSON.stringify(unit).slice(1, -1);
      }
    }
    return text + '"';
  }
  value(depth: number): string {
    const kind = this.random.below(depth > 4 ? 5 : 9);
    if (kind < 2) return this.string();
    if (kind < 5) {
      return ["1.0", "-0", "12345678901234567890", "1e5", "true", "null"][
        this.random.below(6)
      ] as string;
    }
    const parts: string[] = [];
    for (let count = this.random.below(5); count > 0; count--) {
      const key = this.random.below(3) === 0 ? '"a"' : this.string();
      const head = kind < 7 ? `${this.space()}${key}${this.space()}:` : "";
      parts.push(`${head}${this.space()}${this.value(depth + 1)}${this.space()}`);
    }
    return kind < 7 ? `{${parts.join(",") || this.space()}}` : `[${parts.join(",") || " "}]`;
  }
}

function paths(value: Json, path: (string | number)[] = []): [(string | number)[], Json][] {
  const children: [string | number, Json][] = Array.isArray(value)
    ? [...value.entries()]
    : value !== null && typeof value === "object"
    ? Object.entries(value)
    : [];
  return [[path, value], ...children.flatMap(([key, child]) => paths(child, [...path, key]))];
}

function found(text: string, path: (string | number)[]): string | undefined {
  const range = locate(text, path);
  return range && text.slice(range.start, range.end);
}

Deno.test("every path of random JSON is located, and replacing it changes nothing else", () => {
  const writer = new Writer(new Random(7));
  for (let round = 0; round < 1500; round++) {
    const text = writer.space() + writer.value(0) + writer.space();
    for (const [path, value] of paths(JSON.parse(text) as Json)) {
      const range = locate(text, path);
      if (range === undefined) throw new Error(`${JSON.stringify(path)} not found in ${text}`);
      assert.deepEqual(JSON.parse(text.slice(range.start, range.end)), value, text);
      const changed = splice(text, [{ ...range, text: '"changed"' }]);
      assert.equal(changed, text.slice(0, range.start) + '"changed"' + text.slice(range.end));
      assert.equal(JSON.parse(found(changed, path) ?? ""), "changed");
      assert.equal(locate(text, [...path, "no such key"]), undefined);
      assert.equal(locate(text, [...path, 99]), undefined);
    }
  }
});

Deno.test("members of random objects can be added and removed in one go", () => {
  const random = new Random(11);
  const writer = new Writer(random);
  for (let round = 0; round < 3000; round++) {
    const text = writer.value(0);
    const object = topLevelMembers(text);
    if (object === undefined) continue;
    const expected = JSON.parse(text) as { [key: string]: Json };
    const remove = [...object.members.keys()].filter(() => random.below(2) === 0);
    for (const key of remove) delete expected[key];
    expected['new "1"'] = 1;
    expected["new 2"] = [];
    const edits = changeMembers(text, object.range, {
      remove,
      insert: [['new "1"', "1"], ["new 2", "[]"]],
    });
    assert.deepEqual(JSON.parse(splice(text, edits)), expected, text);
    const none = changeMembers(text, object.range, { remove: [...object.members.keys()] });
    assert.deepEqual(JSON.parse(splice(text, none)), {}, text);
  }
});

Deno.test("of a repeated key the last counts, on the way down too", () => {
  const text = '{"a":{"b":1},"mod\\u0065l":"x","a":{"c":2},"model" : "y"}';
  assert.equal(found(text, ["model"]), '"y"');
  assert.equal(found(text, ["a"]), '{"c":2}');
  assert.equal(found(text, ["a", "b"]), undefined);
  const top = topLevelMembers(text);
  assert.deepEqual(top?.duplicates, ["a", "model"]);
  assert.equal(top?.members.get("model")?.count, 2);
  assert.equal(
    splice(text, removeMember(text, top?.range ?? { start: 0, end: 0 }, "model")),
    '{"a":{"b":1},"a":{"c":2}}',
  );
});

Deno.test("escaped keys, __proto__ and numeric keys are found by their decoded name", () => {
  assert.equal(found('{"mod\\u0065l":1}', ["model"]), "1");
  assert.equal(found('{"a\\"b":[true]}', ['a"b', 0]), "true");
  assert.equal(found('{"__proto__":2}', ["__proto__"]), "2");
  assert.equal(found('{"0":3}', ["0"]), "3");
  assert.equal(found('{"0":3}', [0]), undefined);
  assert.equal(found("[3]", ["0"]), undefined);
  assert.equal(found('{"constructor":1}', ["toString"]), undefined);
});

Deno.test("a text that is not an object has no members", () => {
  assert.equal(topLevelMembers(" [1]"), undefined);
  assert.equal(topLevelMembers('"x"'), undefined);
  assert.equal(membersAt('{"a":{"b":1}}', 5)?.members.get("b")?.valueStart, 10);
});

Deno.test("white space around the members of an object stays where it is", () => {
  const insert = (text: string) =>
    splice(text, [insertMember(text, locate(text, []) ?? { start: 0, end: 0 }, "n", "0")]);
  assert.equal(insert("{ }"), '{"n":0 }');
  assert.equal(insert('{\n  "a": 1\n}\n'), '{\n  "a": 1,"n":0\n}\n');
  const text = '{ "a": 1, "b": 2, "c": 3 }';
  const remove = (key: string) => splice(text, removeMember(text, { start: 0, end: 26 }, key));
  assert.equal(remove("a"), '{ "b": 2, "c": 3 }');
  assert.equal(remove("b"), '{ "a": 1, "c": 3 }');
  assert.equal(remove("c"), '{ "a": 1, "b": 2 }');
  assert.equal(remove("d"), text);
});

Deno.test("cutting a prefix of a string counts decoded units and keeps the rest as written", () => {
  const cut = (token: string, count: number) =>
    splice(token, [cutStringPrefix(token, { start: 0, end: token.length }, count)]);
  const token = '"/// APP \\u00e9\\n\\ud83d\\ude00 r\\u0065st\\/"';
  const decoded = JSON.parse(token) as string;
  for (let count = 0; count <= decoded.length + 2; count++) {
    assert.equal(JSON.parse(cut(token, count)), decoded.slice(count), `${count} units`);
  }
  assert.equal(cut(token, "/// APP é\n".length), '"\\ud83d\\ude00 r\\u0065st\\/"');
  const random = new Random(3);
  const writer = new Writer(random);
  for (let round = 0; round < 2000; round++) {
    const text = writer.string();
    const value = JSON.parse(text) as string;
    const count = random.below(value.length + 2);
    const rest = cut(text, count);
    assert.equal(JSON.parse(rest), value.slice(count));
    assert.ok(text.endsWith(rest.slice(1)));
  }
  // The search for escapes stays inside the string.
  const outside = '{"a":"xy","b":"\\n\\n"}';
  assert.deepEqual(cutStringPrefix(outside, { start: 5, end: 9 }, 9), {
    start: 6,
    end: 8,
    text: "",
  });
});

Deno.test("edits are taken in any order, and overlapping ones are refused", () => {
  const edits: Edit[] = [
    { start: 4, end: 5, text: "X" },
    { start: 0, end: 0, text: "(" },
    { start: 1, end: 4, text: "" },
    { start: 5, end: 5, text: ")" },
  ];
  assert.equal(splice("abcde", edits), "(aX)");
  assert.throws(() =>
    splice("abcde", [{ start: 0, end: 2, text: "" }, { start: 1, end: 3, text: "" }])
  );
  assert.throws(() => splice("abc", [{ start: 2, end: 4, text: "" }]));
});

Deno.test("deep nesting does not exhaust the stack", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  assert.equal(found(`{"a":${deep},"b":1}`, ["b"]), "1");
  assert.equal(found(`{"a":${deep},"b":1}`, ["a"])?.length, 200_000);
});

Deno.test("the members of a large object are gathered in steps", () => {
  const names = Array.from({ length: 10_000 }, (_, at) => `"${at}":1`);
  const reading = topLevelMembersSteps(`{${names.join()}}`);
  let steps = 1;
  let step = reading.next();
  for (; !step.done; step = reading.next()) steps++;
  assert.deepEqual([steps, step.value?.members.size], [10, 10_000]);
});
