import assert from "@std/assert";
import { findingsOf } from "./checks.ts";
import { glossary } from "./glossary.ts";
import { uniqueExports } from "./unique_exports.ts";

function verdict(text: string, path = "src/relay/a.ts"): string | null {
  return findingsOf(new Map([[path, text]]), glossary({}))[0]?.message ?? null;
}

Deno.test("a refused word is found in every kind of name, as a whole word", () => {
  const refused = [
    "const toldCost = 1;",
    "let [a, kept] = pair;",
    "function layLane() {}",
    "function read(escrow: number) {}",
    "const read = ({ rows: said }: Row) => 1;",
    "class Purse {}",
    "class A { #kept = 1; }",
    "class A { giveBack() {} }",
    "interface KeptMemory {}",
    "interface A { told: boolean }",
    "interface A { undo(): void }",
    "interface A { read(given: string): void }",
    "type Halt = 1;",
    "const mostBytes = 1;",
    "class A { #leastMs = 1; }",
    "class A { goOn() {} }",
    "function build(parts: RelayDeps) {}",
  ];
  for (const text of refused) assert.match(verdict(text) ?? "", /^'.*' says '.*'; write /, text);
  assert.match(verdict("", "src/relay/escrow.ts") ?? "", /reservations/);
});

Deno.test("what only looks alike, what is used and what is on the wire are left alone", () => {
  const fine = [
    "// what the vendor told",
    'const text = "told";',
    "const saidText = 1;".replace("saidText", "salient"),
    "const placeholder = 1;",
    "const most = 1;",
    "const almostFull = 1;",
    "const knownPriceDiscrepancies = 1;",
    "const body = { kept: 1 };",
    "const { kept } = row;",
    "const parts: string[] = name.split('/');",
    "row.told;",
  ];
  for (const text of fine) assert.equal(verdict(text), null, text);
  assert.equal(verdict("const kept = 1;", "src/relay/a_test.ts"), null);
});

Deno.test("a folder's allowance is a ceiling, and falls with what was there", () => {
  const tree = new Map([["src/relay/a.ts", "const kept = 1, told = 2;"]]);
  assert.deepEqual(findingsOf(tree, glossary({ "src/relay": 2 })), []);
  assert.equal(findingsOf(tree, glossary({ "src/relay": 1 })).length, 2);
  assert.match(
    findingsOf(tree, glossary({ "src/relay": 3 }))[0]!.message,
    /lower its allowance of 3/,
  );
});

Deno.test("a name is exported by one file, except by dialects", () => {
  const twice = (path: string) =>
    findingsOf(
      new Map([["src/keys/a.ts", "export const one = 1;"], [path, "export function one() {}"]]),
      uniqueExports({}),
    ).length;
  assert.equal(twice("src/people/b.ts"), 1);
  assert.equal(twice("src/dialects/text/chat/b.ts"), 0);
  assert.equal(twice("src/people/b_test.ts"), 0);
  const tree = new Map([["src/keys/a.ts", "export type One = 1;"]]);
  assert.match(findingsOf(tree, uniqueExports({ One: 2 }))[0]!.message, /lower its 2/);
});
