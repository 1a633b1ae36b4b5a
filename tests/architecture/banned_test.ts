import assert from "@std/assert";
import { banned } from "./banned.ts";
import { findingsOf } from "./checks.ts";

function verdict(path: string, text: string): string | null {
  return findingsOf(new Map([[path, text]]), banned)[0]?.message ?? null;
}

Deno.test("silenced checks and loose ends are found in tests too", () => {
  const found = [
    "const a: any = 1;",
    "const a = b as any;",
    "const a = f<any>(1);",
    "// @ts-ignore why not\nf();",
    "/* @ts-expect-error */ f();",
    "// @ts-nocheck",
    "// deno-lint-ignore no-console\nf();",
    "// deno-lint-ignore-file",
    "// TODO later",
    "/** FIXME: wrong */ f();",
    "f(); // XXX",
  ];
  for (const text of found) {
    assert.notEqual(verdict("src/a.ts", text), null, text);
    assert.notEqual(verdict("tests/a_test.ts", text), null, text);
  }
});

Deno.test("one file says what must not compile, and silences nothing else", () => {
  const path = "tests/contracts/client_types_test.ts";
  assert.equal(verdict(path, "// @ts-expect-error: a string\nf();"), null);
  assert.notEqual(verdict(path, "// @ts-ignore why not\nf();"), null);
});

Deno.test("tests that are switched off are found", () => {
  const found = [
    'Deno.test.ignore("x", () => {});',
    'Deno.test.only("x", () => {});',
    'Deno.test({ name: "x", ignore: true, fn() {} });',
    'Deno.test("x", { only: true }, () => {});',
    'await t.step({ name: "x", ignore: true, fn() {} });',
    'table.only("x");',
  ];
  for (const text of found) assert.notEqual(verdict("tests/a_test.ts", text), null, text);
  assert.equal(
    verdict("tests/a_test.ts", 'Deno.test({ name: "x", ignore: !there, fn() {} });'),
    null,
  );
});

Deno.test("lists spread into the arguments of a call are found in the product", () => {
  const found = [
    "a.push(...b);",
    "this.#a.b.unshift(1, ...b);",
    "const a = Math.max(0, ...b);",
    "const a = String.fromCharCode(...b);",
    "const a = [].concat(...b);",
  ];
  for (const text of found) assert.notEqual(verdict("src/a.ts", text), null, text);
  for (const text of ["a.push({ ...b });", "f(...b);", "const a = [...b];", "pushAll(a, b);"]) {
    assert.equal(verdict("src/a.ts", text), null, text);
  }
  assert.equal(verdict("tests/a_test.ts", "a.push(...b);"), null);
});

Deno.test("state at module level is found in the product", () => {
  const found = [
    "let a = 1;",
    "export let a = 1;",
    "var a = 1;",
    "const cache = new Map<string, string>();",
    "export const seen = new Set();",
    "const list: string[] = [];",
    "const byId: Record<string, number> = {};",
    "class K { static count = 0; }",
  ];
  for (const text of found) {
    assert.notEqual(verdict("src/a.ts", text), null, text);
    assert.equal(verdict("src/a_test.ts", text), null, text);
  }
  const fine = [
    "const names = new Set(['a']);",
    "const list = ['a'];",
    "function f() { let a = 1; const m = new Map(); return [a, m]; }",
    "class K { static readonly limit = 1; count = 0; }",
  ];
  for (const text of fine) assert.equal(verdict("src/a.ts", text), null, text);
});

Deno.test("vendor names compared outside the registry are found", () => {
  const found = [
    'if (vendor === "vendor-c") f();',
    'if ("openai" !== name) f();',
    "if (vendor == `gemini`) f();",
    'switch (vendor) { case "anthropic": f(); }',
  ];
  for (const text of found) {
    assert.match(verdict("src/relay/a.ts", text) ?? "", /vendor's row/, text);
    assert.equal(verdict("src/vendors/registry.ts", text), null, text);
    assert.equal(verdict("src/relay/a_test.ts", text), null, text);
  }
  assert.equal(verdict("src/a.ts", 'const label = "vendor-c"; if (kind === "chat") f();'), null);
});

Deno.test("words inside strings are not comments", () => {
  assert.equal(verdict("src/a.ts", 'const text = "TODO: any, // @ts-ignore";'), null);
});
