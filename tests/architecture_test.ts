/**
 * The rules of style and layout that a program can check, on the tree as it is. Each check is
 * shown to be able to fail in tests/architecture/*_test.ts.
 */
import assert from "@std/assert";
import { banned } from "./architecture/banned.ts";
import { type Check, runChecks } from "./architecture/checks.ts";
import { checkDependencies } from "./architecture/dependencies.ts";
import { checkDialectTemplate } from "./architecture/dialect_template.ts";
import { doors } from "./architecture/doors.ts";
import { glossary } from "./architecture/glossary.ts";
import { checkLayout } from "./architecture/layout.ts";
import { patterns } from "./architecture/patterns.ts";
import { checkReachable } from "./architecture/reachable.ts";
import { ports } from "./architecture/ports.ts";
import { limits, medianLines, sizes } from "./architecture/sizes.ts";
import { tableOwners } from "./architecture/tables.ts";
import { tenured } from "./architecture/tenured.ts";
import { uniqueExports } from "./architecture/unique_exports.ts";
import { wireWords } from "./architecture/wire_words.ts";
import { codeFiles, type Finding, listed, readTree, type Tree } from "./architecture/tree.ts";

const tree = readTree(decodeURIComponent(new URL("..", import.meta.url).pathname));

const checks: readonly (readonly [rule: string, check: Check])[] = [
  ["files and functions are short", sizes],
  ["each outside thing has one door", doors],
  ["SQL names only tables of its own subject", tableOwners],
  ["only the port to interactions has their database", ports],
  ["only a dialect's own folder knows its field names", wireWords],
  ["names are words of the glossary", glossary()],
  ["a name is exported by one file", uniqueExports()],
  ["no silenced checks, switched-off tests, loose ends, hidden state", banned],
  ["patterns take time in proportion to their text", patterns()],
  ["a call leaves nothing in the old generation by how it is written", tenured],
];

const found = runChecks(tree, checks.map(([, check]) => check));
for (const [rule, check] of checks) holds(rule, () => found.get(check)!);
holds("a folder imports only what the table of the layout allows", checkLayout);
holds("the text dialects have the same files and exports", checkDialectTemplate);
holds("no file is there that nobody imports", checkReachable);
holds("dependencies are pinned, used and named in deno.json", checkDependencies);

Deno.test("the checks see the whole tree", () => {
  for (
    const path of ["deno.json", "contracts/kernel/errors.ts", "src/main/config.ts", "tests/run.ts"]
  ) {
    assert.ok(tree.has(path), path);
  }
});

Deno.test("the median file is short", () => {
  const median = medianLines(tree);
  console.log(`median file: ${median} lines over ${codeFiles(tree).length} files`);
  assert.ok(median > 0 && median <= limits.median, `${median} lines, at most ${limits.median}`);
});

function holds(rule: string, check: (tree: Tree) => Finding[]): void {
  Deno.test(rule, () => {
    const findings = check(tree);
    assert.ok(findings.length === 0, `${findings.length} finding(s)\n${listed(findings)}`);
  });
}
