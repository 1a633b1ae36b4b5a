import assert from "@std/assert";
import { findingsOf } from "./checks.ts";
import { asksAgain, patterns } from "./patterns.ts";

function verdict(text: string, path = "src/a.ts"): string | null {
  return findingsOf(new Map([[path, text]]), patterns())[0]?.message ?? null;
}

Deno.test("patterns that try a run from each of its places are found", () => {
  const found = [
    "text.replace(/=+$/, '');",
    'const slashes = /\\\\*"$/.exec(text);',
    "/^\\s*```(?:\\w+)?\\s*\\n([^]*?)\\n?```\\s*$/.test(text);",
    // Two thirds of this file's time.
    ...asksAgain ? ["/\\beyJ[0-9A-Za-z_-]{8,}(?:\\.[0-9A-Za-z_-]+){1,4}/g.test(text);"] : [],
    "/^bytes\\s*=\\s*(\\d*)\\s*-\\s*(\\d*)\\s*$/i.test(text);",
    "/(a+)+$/.test(text);",
    'new RegExp("=+$");',
    'RegExp("=+$");',
  ];
  for (const text of found) assert.notEqual(verdict(text), null, text);
  assert.notEqual(verdict(found[0]!, "contracts/a.ts"), null);
  assert.notEqual(verdict(found[0]!, "openapi/client/a.ts"), null);
});

Deno.test("patterns that can't be judged are found", () => {
  assert.match(verdict("/(?<=a+)b+$/.test(text);") ?? "", /by hand/);
});

Deno.test("linear patterns, other text and tests are left alone", () => {
  const fine = [
    "/^[A-Za-z0-9+/]*={0,2}$/.test(text);",
    "/\\s{0,8}x/.test(text);",
    'const text = "/=+$/";',
    "const a = b / c / d;",
  ];
  for (const text of fine) assert.equal(verdict(text), null, text);
  assert.equal(verdict("/=+$/.test(text);", "src/a_test.ts"), null);
});
