import assert from "@std/assert";
import { checkDependencies } from "./dependencies.ts";

function findings(imports: Record<string, string>, code: string, path = "src/a.ts"): string[] {
  const settings = { imports, compilerOptions: { jsxImportSource: "hono/jsx" } };
  const tree = new Map([["deno.json", JSON.stringify(settings)], [path, code]]);
  return checkDependencies(tree).map((each) => each.message);
}

Deno.test("pinned and used dependencies are fine", () => {
  const imports = {
    hono: "npm:hono@4.13.19",
    "hono/": "npm:/hono@4.13.19/",
    "@a/b": "npm:@a/b@1.0.0-rc.1",
    "@std/assert": "node:assert/strict",
  };
  const code = 'import "hono/jsx"; import "@a/b"; import "@std/assert"; import "node:fs";';
  assert.deepEqual(findings(imports, code), []);
});

Deno.test("a version that is not exact is found", () => {
  for (const target of ["npm:zod", "npm:zod@^4.0.0", "npm:zod@4", "npm:zod@latest", "jsr:@a/b@1"]) {
    assert.match(findings({ zod: target }, 'import "zod";')[0] ?? "", /no exact version/, target);
  }
});

Deno.test("a dependency that nobody imports is found", () => {
  assert.deepEqual(findings({ zod: "npm:zod@4.6.7" }, 'import "zodiac";'), [
    "import 'zod': nobody imports it",
  ]);
  const hono = { "hono/": "npm:/hono@4.13.19/" };
  assert.deepEqual(findings(hono, "export default <p />;", "src/a.tsx"), []);
  assert.equal(findings(hono, "f();").length, 1);
});

Deno.test("a package that is imported around the import map is found", () => {
  for (const specifier of ["npm:zod@4.6.7", "jsr:@std/assert@1.0.0", "https://a.example/b.ts"]) {
    assert.match(findings({}, `import "${specifier}";`)[0] ?? "", /name it in deno.json/);
  }
});

Deno.test("two versions of one package are found", () => {
  const imports = { hono: "npm:hono@4.13.19", "hono/": "npm:/hono@4.13.18/" };
  assert.match(findings(imports, 'import "hono";')[0] ?? "", /4\.13\.19 and 4\.13\.18/);
});
