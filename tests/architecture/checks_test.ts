import assert from "@std/assert";
import { type Check, runChecks } from "./checks.ts";
import { importsOf } from "./imports.ts";

const about = (isAbout: Check["isAbout"], name: string): Check => ({
  isAbout,
  looks: () => [(report) => ({
    Identifier: (node) => node.name === name && report(node, name),
  })],
});

Deno.test("a file is parsed once for all checks, each of which has its own findings", () => {
  const tree = new Map([["a.ts", 'import "./b.ts";\none;\ntwo;'], ["b.ts", "one;"]]);
  const [everywhere, inOne] = [about(() => true, "one"), about((path) => path === "a.ts", "two")];
  const parser = Deno.lint.runPlugin;
  const parsed: string[] = [];
  Deno.lint.runPlugin = (plugin, path, text) => {
    parsed.push(path);
    return parser(plugin, path, text);
  };
  try {
    const found = runChecks(tree, [everywhere, inOne]);
    assert.deepEqual(found.get(everywhere), [
      { path: "a.ts", line: 2, message: "one" },
      { path: "b.ts", line: 1, message: "one" },
    ]);
    assert.deepEqual(found.get(inOne), [{ path: "a.ts", line: 3, message: "two" }]);
    assert.deepEqual(importsOf("a.ts", tree.get("a.ts")!).map(({ path }) => path), ["b.ts"]);
  } finally {
    Deno.lint.runPlugin = parser;
  }
  assert.deepEqual(parsed, ["a.ts", "b.ts"]);
});

Deno.test("a file that can't be parsed is a finding of each check that is about it", () => {
  const [one, other] = [about(() => true, "one"), about(() => false, "one")];
  const found = runChecks(new Map([["a.ts", "function {"]]), [one, other]);
  assert.match(found.get(one)!.map(({ message }) => message).join(), /^can't be parsed/);
  assert.deepEqual(found.get(other), []);
});
