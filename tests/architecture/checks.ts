import { rememberImports } from "./imports.ts";
import { type Build, inspect } from "./syntax.ts";
import { codeFiles, type Finding, type Tree } from "./tree.ts";

/** A rule about the syntax of files. */
export interface Check {
  readonly isAbout: (path: string) => boolean;
  /** What it looks at in such a file. */
  readonly looks: (path: string, text: string) => readonly Build[];
  /** What follows from what was seen in all of them; that itself by default. */
  readonly concludes?: (seen: Finding[], tree: Tree) => Finding[];
}

/** What each check finds. A file is parsed once for all, and its imports are remembered. */
export function runChecks(tree: Tree, checks: readonly Check[]): Map<Check, Finding[]> {
  const seen = new Map(checks.map((check): [Check, Finding[]] => [check, []]));
  for (const path of codeFiles(tree)) {
    const text = tree.get(path) ?? "";
    const looks = [...seen].flatMap(([check, findings]) =>
      check.isAbout(path) ? check.looks(path, text).map((build) => ({ build, findings })) : []
    );
    inspect(path, text, [...looks, { build: rememberImports(path, text), findings: [] }]);
  }
  return new Map(
    checks.map((check) => {
      const findings = seen.get(check)!;
      return [check, check.concludes?.(findings, tree) ?? findings];
    }),
  );
}

/** What one check finds by itself. */
export function findingsOf(tree: Tree, check: Check): Finding[] {
  return runChecks(tree, [check]).get(check)!;
}
