/**
 * The rules of style and layout that a program can check, on the tree as it is. Each check is
 * shown to be able to fail in tests/architecture/*_test.ts.
 */
import assert from "@std/assert";
import { checkBanned } from "./architecture/banned.ts";
import { checkDependencies } from "./architecture/dependencies.ts";
import { checkDialectTemplate } from "./architecture/dialect_template.ts";
import { checkDoors } from "./architecture/doors.ts";
import { checkGlossary } from "./architecture/glossary.ts";
import { checkLayout } from "./architecture/layout.ts";
import { checkPatterns } from "./architecture/patterns.ts";
import { checkReachable } from "./architecture/reachable.ts";
import { checkSizes, limits, medianLines } from "./architecture/sizes.ts";
import { checkTables } from "./architecture/tables.ts";
import { checkTenured } from "./architecture/tenured.ts";
import { checkUniqueExports } from "./architecture/unique_exports.ts";
import { checkWireWords } from "./architecture/wire_words.ts";
import { codeFiles, type Finding, listed, readTree, type Tree } from "./architecture/tree.ts";

const tree = readTree(decodeURIComponent(new URL("..", import.meta.url).pathname));

holds("a folder imports only what the table of the layout allows", checkLayout);
holds("the text dialects have the same files and exports", checkDialectTemplate);
holds("files and functions are short", checkSizes);
holds("each outside thing has one door", checkDoors);
holds("SQL names only tables of its own subject", checkTables);
holds("only a dialect's own folder knows its field names", checkWireWords);
holds("names are words of the glossary", checkGlossary);
holds("a name is exported by one file", checkUniqueExports);
holds("no silenced checks, switched-off tests, loose ends, hidden state", checkBanned);
holds("no file is there that nobody imports", checkReachable);
holds("patterns take time in proportion to their text", checkPatterns);
holds("a call leaves nothing in the old generation by how it is written", checkTenured);
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
