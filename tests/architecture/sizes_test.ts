import assert from "@std/assert";
import { findingsOf } from "./checks.ts";
import { limits, medianLines, sizes } from "./sizes.ts";

const lines = (count: number) => "f();\n".repeat(count);

Deno.test("a file at the limit is fine, one line more is found", () => {
  assert.deepEqual(findingsOf(new Map([["src/a.ts", lines(limits.file)]]), sizes), []);
  const [found] = findingsOf(new Map([["src/a.ts", lines(limits.file + 1)]]), sizes);
  assert.match(found?.message ?? "", /601 lines/);
});

Deno.test("a function at the limit is fine, one line more is found at its line", () => {
  const shapes: [before: string, after: string][] = [
    ["function g() {\n", "}\n"],
    ["class K { m() {\n", "} }\n"],
    ["const g = async () => {\n", "};\n"],
    ["export default function () {\n", "}\n"],
  ];
  for (const [before, after] of shapes) {
    // Letters outside ASCII before it must not move the count.
    const text = (count: number) => `// „–“ 🙂\n${before}${lines(count)}${after}`;
    assert.deepEqual(
      findingsOf(new Map([["src/a.ts", text(limits.function - 2)]]), sizes),
      [],
      before,
    );
    const found = findingsOf(new Map([["src/a.ts", text(limits.function - 1)]]), sizes);
    assert.deepEqual(found.map((each) => each.line), [2], before);
    assert.match(found[0]?.message ?? "", /71 lines/);
  }
});

Deno.test("braces in strings, templates, patterns and JSX don't count", () => {
  const text =
    'const a = "}"; const b = `{${1}`; const c = /[{]/;\nfunction g() { return <p>don\'t {"}"}</p>; }\n';
  assert.deepEqual(findingsOf(new Map([["src/a.tsx", text + lines(200)]]), sizes), []);
});

Deno.test("a file that can't be parsed is found", () => {
  const [found] = findingsOf(new Map([["src/a.ts", "function {"]]), sizes);
  assert.match(found?.message ?? "", /can't be parsed/);
});

Deno.test("the median is of the file in the middle", () => {
  const tree = new Map([1, 50, 300].map((count) => [`src/${count}.ts`, lines(count)]));
  assert.equal(medianLines(tree), 50);
  assert.equal(medianLines(new Map()), 0);
});
